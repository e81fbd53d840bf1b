import { randomBytes } from 'node:crypto';
import { Page } from '@playwright/test';
import { Client } from 'pg';
import { base, expectAccessible, TIMEOUT_MS } from '../support/console';
import { expect, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';

/** Signs up, adds a site and opens its screen "Install". Returns the host. */
const openInstall = async (page: Page): Promise<string> => {
  const host = `shop-${randomBytes(5).toString('hex')}.invalid`;
  await page.goto(`${base()}/console/sign-up`);
  await page.getByLabel('Your name').fill('Ann Lee');
  await page.getByLabel('Email address').fill(`ann@${host.replace('.invalid', '.example')}`);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByLabel('Domain').fill(host);
  await page.getByRole('button', { name: 'Add site' }).click();
  await page.getByRole('link', { name: 'Install' }).click();
  await expect(page.getByRole('heading', { name: '2. Verify installation' })).toBeVisible();
  return host;
};

/** Stores the findings of an install check, because the hosts of this test have no pages. */
const setFindings = async (host: string, findings: object[]): Promise<void> => {
  const client = new Client({ connectionString: process.env[ENVIRONMENT.databaseUrl] });
  await client.connect();
  await client.query('UPDATE install_looks SET findings = $2 WHERE host = $1', [host, JSON.stringify(findings)]);
  await client.end();
};

test('an install check lists its findings, with their remedies', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const host = await openInstall(page);
  await expect(page.getByText('Not verified')).toBeVisible();
  await page.getByRole('button', { name: 'Verify now' }).click();
  const list = page.getByRole('list', { name: /Results of/ });
  await expect(list.getByRole('listitem')).toHaveText([/Action needed\s+The name of the site leads to no public address.\s+Is the name spelt/]);
  await expectAccessible(page, 'install-unreadable');
  const long = 'https://consent-service.example-of-a-long-name.example';
  await setFindings(host, [
    { kind: 'no_tag', severity: 'error', found: 'The page was read, and the tag is not on it.', cure: 'Paste the line before </head>, save and publish.' },
    { kind: 'policy_forbids_script', severity: 'error', found: 'The policy does not let the tag load.', cure: `Add ${long} to script-src of the policy.` },
    { kind: 'tag_manager', severity: 'hint', found: 'Google Tag Manager is on the page and may load the tag.', cure: 'Visit the page: the popup is the proof.' },
    { kind: 'of_a_newer_version', severity: 'error', found: 'Nobody knows this one.', cure: 'Nothing.' },
  ]);
  await page.reload();
  await expect(list.getByRole('listitem')).toHaveText([/Action needed\s+The page was read/, /Action needed\s+The policy/, /Hint\s+Google Tag Manager/]);
  await expectAccessible(page, 'install-findings');
});
