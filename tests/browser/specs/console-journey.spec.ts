import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser, Page } from '@playwright/test';
import { chromiumOnly } from '../support/browsers';
import { createDatabase, Database } from '../support/database';
import { hideAutomation, expect, popup, settle, test as plain } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';
import { HttpsSite, startHttpsSite } from '../support/https-site';
import { Mailboxes, startMailboxes } from '../support/mailbox';
import { Service, startService } from '../support/service';

/** Enough for the whole journey on a busy machine. */
const TIMEOUT_MS = 180_000;

/** A separate service that sends mails, a site, and a browser that resolves the names of both. */
interface Setup {
  host: string;
  site: HttpsSite;
  mailboxes: Mailboxes;
  service: Service;
  /** Opens a page in a new browser context. */
  newBrowser(): Promise<Page>;
}

const test = plain.extend<{ setup: Setup }>({
  setup: async ({ playwright, launchOptions }, use) => {
    const host = `bread-${randomBytes(5).toString('hex')}.example`;
    const folder = await mkdtemp(join(tmpdir(), 'assent-story-'));
    const site = await startHttpsSite(host);
    const mailboxes = await startMailboxes();
    const authority = join(folder, 'authority.pem');
    await writeFile(authority, site.certificate);
    let database: Database | undefined;
    let service: Service | undefined;
    let browser: Browser | undefined;
    try {
      database = await createDatabase();
      service = await startService({
        databaseUrl: database.url,
        cdnBase: `http://127.0.0.1:${process.env[ENVIRONMENT.sitesPort]}`,
        more: {
          SMTP_URL: mailboxes.url,
          INSTALL_CHECK_RESOLVE: `${host}=127.0.0.1:${site.port}`,
          INSTALL_CHECK_CA_FILE: authority,
        },
      });
      const rules = `--host-resolver-rules=MAP ${host} 127.0.0.1:${site.port}`;
      const others = (launchOptions.args ?? []).filter((arg) => !arg.startsWith('--host-resolver-rules'));
      browser = await playwright.chromium.launch({ ...launchOptions, args: [...others, rules] });
      const opened = browser;
      const newBrowser = async (): Promise<Page> =>
        (await opened.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB', acceptDownloads: true })).newPage();
      await use({ host, site, mailboxes, service, newBrowser });
    } finally {
      await browser?.close();
      await service?.stop();
      await database?.drop();
      await mailboxes.stop();
      await site.stop();
      await rm(folder, { recursive: true });
    }
  },
});

const heading = (page: Page) => page.getByRole('heading', { level: 1 });

/** Enters the six digits of the newest mail. */
const enterCode = async (page: Page, { mailboxes }: Setup, address: string): Promise<void> => {
  const { text = '' } = await mailboxes.take(address, /\d{6}|code|digits|confirm/i);
  const [digits] = text.match(/\b\d{6}\b/) ?? [];
  await page.getByLabel('6-digit code').fill(digits!);
};

/** Clicks a link, and returns the downloaded text. */
const download = async (page: Page, name: string): Promise<string> => {
  const saving = page.waitForEvent('download');
  await page.getByRole('link', { name }).click();
  return readFile(await (await saving).path(), 'utf8');
};

test('a person with a mailbox and a browser signs up, reads a verified acceptance, and deletes the account', chromiumOnly('its browser finds the site by a rule for host names, which Firefox does not have'), async ({ setup }) => {
  test.setTimeout(TIMEOUT_MS);
  const { host, site, service, newBrowser } = setup;
  const address = `ann@${host}`;
  const owner = await newBrowser();

  await test.step('the owner signs up with name, address and six digits', async () => {
    await owner.goto(service.base);
    await owner.getByRole('link', { name: 'Start free trial' }).first().click();
    await owner.getByLabel('Your name').fill('Ann Lee');
    await owner.getByLabel('Email address').fill(address);
    await owner.getByRole('button', { name: 'Sign up' }).click();
    await expect(heading(owner)).toHaveText('Check your email');
    await enterCode(owner, setup, address);
    await owner.getByRole('button', { name: 'Continue' }).click();
    await expect(heading(owner)).toHaveText('Add site');
  });

  await test.step('the owner adds a site, publishes its notice and pastes the snippet', async () => {
    await owner.getByLabel('Domain').fill(host);
    await owner.getByRole('button', { name: 'Add site' }).click();
    await owner.getByRole('button', { name: 'Review and publish' }).click();
    await owner.getByRole('checkbox', { name: 'Publish without these details' }).check();
    await owner.getByRole('button', { name: 'Publish', exact: true }).click();
    const line = owner.getByRole('textbox', { name: 'Snippet', exact: true });
    await expect(line).toHaveValue(/<script/);
    await owner.getByRole('button', { name: 'Verify now' }).click();
    await expect(owner.getByText('Snippet not found').first()).toBeVisible();
    site.paste(await line.inputValue());
    await owner.getByRole('button', { name: 'Verify now' }).click();
    await expect(owner.getByText(/^Installed/).first()).toBeVisible();
  });

  await test.step('a visitor accepts', async () => {
    const visitor = await newBrowser();
    await hideAutomation(visitor);
    await visitor.goto(`https://${host}/`);
    await popup(visitor).accept.click();
    await expect(popup(visitor).saved).toBeVisible();
    await visitor.context().close();
  });

  await test.step('the owner reads the choice, and downloads the table', async () => {
    await owner.getByRole('link', { name: 'Choices' }).click();
    await owner.getByRole('row').nth(1).getByRole('link').first().click();
    await expect(owner.getByText('Signature valid.')).toBeVisible();
    await expect(owner.getByText(`on a page of https://${host}`)).toBeVisible();
    const receipt = JSON.parse(await download(owner, 'Download the receipt'));
    expect(JSON.stringify(receipt)).toContain('"accepted"');
    await owner.getByRole('link', { name: 'Choices' }).click();
    const table = await download(owner, 'Export all choices as CSV');
    const [names, row, ...others] = table.trim().split('\r\n');
    expect(names).toContain('receipt_id');
    expect(row).toContain('accepted');
    expect(others).toEqual([]);
    await owner.getByRole('link', { name: 'Overview' }).click();
    await expect(owner.getByRole('table').first()).toContainText('1');
  });

  await test.step('the owner creates and revokes an API key', async () => {
    await owner.getByRole('link', { name: 'Account' }).click();
    await owner.getByRole('textbox', { name: /^Name/ }).fill('shop server');
    await owner.getByRole('button', { name: 'Create key' }).click();
    // The previous page has a field "Name", which this label also matches.
    await expect(heading(owner)).toHaveText('Your new API key');
    const key = await owner.getByRole('textbox', { name: 'API key' }).inputValue();
    const whoAmI = (): Promise<number> =>
      fetch(`${service.base}/v1/whoami`, { headers: { Authorization: `Bearer ${key}` } }).then(({ status }) => status);
    expect(await whoAmI()).toBe(200);
    await owner.getByRole('link', { name: 'Account', exact: true }).click();
    await owner.getByRole('link', { name: 'Revoke shop server' }).click();
    await owner.getByRole('button', { name: 'Revoke key' }).click();
    await expect(owner.getByRole('status')).toContainText('The key is revoked');
    expect(await whoAmI()).toBe(401);
  });

  await test.step('the owner exports and deletes the account', async () => {
    await owner.getByRole('link', { name: 'Export & delete' }).click();
    const everything = await download(owner, 'Export all data');
    expect(everything).toContain(host);
    await owner.getByLabel(/^Type/).fill(address);
    await owner.getByRole('button', { name: 'Delete account' }).click();
    await enterCode(owner, setup, address);
    await owner.getByRole('button', { name: 'Delete account permanently' }).click();
    await expect(heading(owner)).toHaveText('Account deleted');
    await owner.goto(`${service.base}/console`);
    await expect(heading(owner)).toHaveText('Sign in');
  });

  await test.step('the tag on the site shows no popup any more', async () => {
    const visitor = await newBrowser();
    await hideAutomation(visitor);
    const tagRequest = visitor.waitForRequest((request) => request.url().startsWith(service.base));
    await visitor.goto(`https://${host}/`);
    expect((await fetch((await tagRequest).url())).status).toBe(404);
    await settle(visitor);
    await expect(popup(visitor).banner).toBeHidden();
  });
});
