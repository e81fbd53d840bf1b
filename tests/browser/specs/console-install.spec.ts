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
  await expect(list.getByRole('listitem')).toHaveText([/Action needed\s+The name of the site leads to no public address.\s+Check the spelling/]);
  await expectAccessible(page, 'install-unreadable');
  const long = 'https://consent-service.example-of-a-long-name.example';
  await setFindings(host, [
    { kind: 'no_tag', severity: 'error', found: 'The snippet was not found on the page.', cure: 'Paste the snippet before </head>, save and publish.' },
    { kind: 'policy_forbids_script', severity: 'error', found: 'The policy blocks the tag.', cure: `Add ${long} to script-src of the policy.` },
    { kind: 'tag_manager', severity: 'hint', found: 'Google Tag Manager is on the page and may load the tag.', cure: 'Visit the page: the popup is the proof.' },
    { kind: 'of_a_newer_version', severity: 'error', found: 'Nobody knows this one.', cure: 'Nothing.' },
  ]);
  await page.reload();
  await expect(list.getByRole('listitem')).toHaveText([/Action needed\s+The snippet was not found/, /Action needed\s+The policy/, /Hint\s+Google Tag Manager/]);
  await expectAccessible(page, 'install-findings');
});

test('the tab Test has the test snippet, and its hosts are saved or refused beside their field', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const host = await openInstall(page);
  await page.getByRole('link', { name: 'Test', exact: true }).last().click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Test');
  const tabs = page.getByRole('navigation', { name: host });
  await expect(tabs.getByRole('link', { name: 'Test', exact: true })).toHaveAttribute('aria-current', 'page');
  await expect(page.getByText('No test choices yet.')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Test snippet' })).toHaveValue(/<script async src=".*\/px\/test_/);
  await page.getByRole('button', { name: 'Copy test snippet' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'Copied' })).toHaveCount(1);
  await expectAccessible(page, 'test');
  const hosts = page.getByRole('textbox', { name: /^Hosts/ });
  await hosts.fill('not a host');
  await page.getByRole('button', { name: 'Save test hosts' }).click();
  await expect(hosts).toHaveAccessibleDescription(/Must be a host, such as staging\.shop\.example/);
  await expect(page).toHaveTitle(/^Error: /);
  await expectAccessible(page, 'test-wrong');
  await hosts.fill(`staging.${host}`);
  await page.getByRole('button', { name: 'Save test hosts' }).click();
  await expect(page.getByText('The test hosts have been saved.')).toBeVisible();
  await expect(hosts).toHaveValue(`staging.${host}`);
});

test('the steps with the package of an ecosystem come before the snippet', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  await openInstall(page);
  await page.getByRole('link', { name: 'Popup', exact: true }).click();
  await page.getByRole('button', { name: 'Review and publish' }).click();
  await page.getByRole('checkbox', { name: 'Publish without these details' }).check();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  const ecosystems = page.getByRole('navigation', { name: /made with/ });
  await expect(ecosystems.getByRole('link')).toHaveText(['WordPress', 'React', 'Next', 'Vue', 'Nuxt', 'Svelte', 'Astro', 'Python', 'PHP', 'Anything else']);
  const snippet = page.getByRole('textbox', { name: 'Snippet', exact: true });
  await expect(snippet).toBeVisible();
  const tag = (await snippet.inputValue()).match(/src="(.*)\/px\/(.*)\.js"/)!;
  await ecosystems.getByRole('link', { name: 'Next' }).click();
  await expect(ecosystems.getByRole('link', { name: 'Next' })).toHaveAttribute('aria-current', 'true');
  await expect(page.getByText(`<ConsentTag service="${tag[1]}" pixel="${tag[2]}" />`)).toBeVisible();
  await expect(page.getByRole('button', { name: /copy/i }).first()).toBeVisible();
  await expect(snippet, 'it is not needed').toBeHidden();
  await page.getByText('Snippet to paste instead').click();
  await expect(snippet).toBeVisible();
  await expectAccessible(page, 'install-next');
  await ecosystems.getByRole('link', { name: 'WordPress' }).click();
  await expect(page.getByText(`enter ${tag[1]} and press`)).toBeVisible();
  await expectAccessible(page, 'install-wordpress');
  await ecosystems.getByRole('link', { name: 'Anything else' }).click();
  await expect(snippet).toBeVisible();
});
