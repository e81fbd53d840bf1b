import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, Page, test as plain } from '@playwright/test';
import { popup, settle } from '../support/fixtures';
import { ENVIRONMENT } from './setup';

const SITE = 'http://wordpress.example';
const env = (name: keyof typeof ENVIRONMENT): string => process.env[ENVIRONMENT[name]]!;

const test = plain.extend<{ requests: string[] }>({
  launchOptions: async ({}, use) =>
    use({
      executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run', `--host-resolver-rules=${env('rules')}`],
    }),
  requests: async ({ page }, use) => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await use(requests);
  },
});

const signIn = async (page: Page): Promise<void> => {
  await page.goto(`${SITE}/wp-login.php`);
  await page.getByLabel('Username or Email Address').fill('admin');
  await page.getByLabel('Password', { exact: true }).fill('password');
  await page.getByRole('button', { name: 'Log In' }).click();
  await expect(page.locator('#wpadminbar')).toBeVisible();
};

const connect = async (page: Page, key: string): Promise<void> => {
  await page.goto(`${SITE}/wp-admin/options-general.php?page=assent-consent`);
  await page.getByLabel('Address of the service').fill(env('base'));
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Connect' }).click();
};

const openPrivacyPage = (page: Page) => page.goto(`${SITE}/?pagename=privacy`);

/** The options and user data in WordPress that contain a text. */
const storedWith = (text: string): string[] => JSON.parse(execFileSync('php', [join(__dirname, 'stored.php'), env('folder'), text]).toString());

/** PHP's messages about the plugin. */
const messages = (): string => {
  const file = join(env('folder'), 'debug.log');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter((line) => line.includes('assent-consent')).join('\n') : '';
};

test('a fresh site is connected, asks, gates content, and is left clean', async ({ page, requests }) => {
  test.setTimeout(300_000);
  const thirdParties = (): string[] => requests.filter((url) => /stats|videos/.test(new URL(url).hostname));

  const acceptAgain = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Privacy & cookies' }).click();
    await popup(page).preferences.getByRole('button', { name: /accept/i }).first().click();
  };

  await test.step('activate', async () => {
    await signIn(page);
    await page.goto(`${SITE}/wp-admin/plugins.php`);
    await page.getByRole('link', { name: 'Activate Assent Consent' }).click();
    await expect(page.getByText('Plugin activated.')).toBeVisible();
    const html = await (await openPrivacyPage(page))!.text();
    expect(html, 'the theme is shown').toContain('Shop');
    expect(html, 'no tag before the site is connected').not.toContain('/px/');
  });

  await test.step('connect', async () => {
    await connect(page, 'px_wrong');
    await expect(page.getByText('The site could not be connected: invalid api key')).toBeVisible();
    await connect(page, env('key'));
    await expect(page.getByText('The site is connected.')).toBeVisible();
    await page.getByLabel('Scripts that wait').fill('shop-statistics: analytics\n"><script>alert(1)</script>: analytics');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('The settings are saved.')).toBeVisible();
    await connect(page, env('key'));
    await expect(page.getByText('The site is connected.'), 'the same pixel is found again').toBeVisible();
    expect(storedWith('assent')).toContain('assent_consent');
    expect(storedWith(env('key')), 'the key is not stored').toEqual([]);
  });

  await test.step('refuse forged forms', async () => {
    const status = await page.evaluate(async () => {
      const body = new URLSearchParams({ action: 'assent_consent_save', embeds: '', scripts: '' });
      return (await fetch('/wp-admin/admin-post.php', { method: 'POST', body })).status;
    });
    expect(status).toBe(403);
  });

  await test.step('ask and gate', async () => {
    requests.length = 0;
    const html = await (await openPrivacyPage(page))!.text();
    const first = html.slice(html.indexOf('<head'), html.indexOf('/px/'));
    expect(first.match(/<script/g), 'the tag is the first script').toHaveLength(1);
    await expect(popup(page).banner).toBeVisible();
    await settle(page);
    expect(thirdParties()).toEqual([]);
    await popup(page).accept.click();
    await expect.poll(() => page.evaluate(() => (window as any).statsRuns)).toBe(1);
    await expect.poll(() => page.locator('iframe[title="Video"]').getAttribute('src')).toBe('http://videos.example/embed');
    await page.getByRole('button', { name: 'Privacy & cookies' }).click();
    await expect(popup(page).preferences).toBeVisible();
    await page.evaluate(() => (window as any).assent.withdraw());
    requests.length = 0;
    await openPrivacyPage(page);
    await settle(page);
    expect(thirdParties(), 'after a withdrawal').toEqual([]);
  });

  await test.step('tell PHP what the visitor permits', async () => {
    const known = async (headers: Record<string, string> = {}): Promise<string> => {
      const [, address] = env('rules').match(/MAP wordpress\.example (\S+),/)!;
      const answer = await page.request.get(`http://${address}/?pagename=privacy`, { headers: { Host: 'wordpress.example', ...headers } });
      return (await answer.text()).match(/analytics=\w+ newsletter=\w+ unknown=\w+/)![0];
    };
    const nothing = 'analytics=false newsletter=false unknown=false';
    await openPrivacyPage(page);
    await acceptAgain();
    await expect.poll(() => page.evaluate(() => (window as any).assent.get().receipt)).not.toBeNull();
    const { pixel, visitor } = await page.evaluate(() => (window as any).assent.get());
    const cookie = (state: string, purposes: string, time: number, id = pixel): string => `assent=1.${id}.${state}.${time}.${purposes}.hash.${visitor}.receipt.choice`;
    expect(await known(), 'without a visitor').toBe(nothing);
    expect(await known({ 'Assent-Visitor': visitor })).toBe('analytics=true newsletter=false unknown=false');
    expect(await known({ 'Assent-Visitor': 'somebody-else' })).toBe(nothing);
    expect(await known({ Cookie: cookie('accepted', 'analytics~resolution', 5) })).toBe('analytics=true newsletter=false unknown=false');
    expect(await known({ Cookie: cookie('accepted', 'newsletter', 5) }), 'the cookie alone permits nothing').toBe(nothing);
    expect(await known({ Cookie: cookie('accepted', 'analytics', 5, 'another') }), 'the cookie of another pixel').toBe(nothing);
    expect(await known({ Cookie: `${cookie('accepted', 'analytics', 5)}; ${cookie('declined', '', 5)}` }), 'a refusal of the same time').toBe(nothing);
    expect(await known({ Cookie: `${cookie('declined', '', 4)}; ${cookie('accepted', 'analytics', 5)}` }), 'a later acceptance').toContain('analytics=true');
    expect(await known({ 'Assent-Visitor': visitor, Cookie: cookie('declined', '', 5) }), 'a refusal in the cookie counts').toBe(nothing);
    await page.evaluate(() => (window as any).assent.withdraw());
    await expect.poll(() => known({ 'Assent-Visitor': visitor }), 'after a withdrawal').toBe(nothing);
  });

  await test.step('pass choices on to the WP Consent API', async () => {
    await page.goto(`${SITE}/?pagename=privacy&consent_api=1`);
    await expect(page.getByText('type optin registered true')).toBeVisible();
    await expect.poll(() => page.evaluate(() => (window as any).wpConsent?.statistics)).toBe('deny');
    await acceptAgain();
    await expect.poll(() => page.evaluate(() => (window as any).wpConsent?.statistics)).toBe('allow');
  });

  await test.step('offer blocks, also in German', async () => {
    await page.goto(`${SITE}/?pagename=blocks`);
    await expect(page.getByRole('button', { name: '<b>Settings</b>' }), 'a label is text').toBeVisible();
    const opened = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'Your data' }).click();
    const yourData = await opened;
    await expect(yourData).toHaveURL(new RegExp(`^${env('base')}/your-data\\?lang=en(-US)?#pixel=.+&visitor=.+`));
    await yourData.close();
    await page.goto(`${SITE}/?pagename=blocks&german=1`);
    await expect(page.getByRole('button', { name: 'Ihre Daten' })).toBeVisible();
  });

  await test.step('offer the blocks in the editor', async () => {
    await page.goto(`${SITE}/wp-admin/post-new.php?post_type=page`);
    await expect.poll(() => page.evaluate(() => (window as any).wp?.blocks?.getBlockTypes().map(({ name }: { name: string }) => name).filter((name: string) => name.startsWith('assent')))).toEqual(['assent-consent/settings', 'assent-consent/your-data']);
  });

  await test.step('show what a service says as text', async () => {
    for (const path of ['', '/id']) {
      await page.goto(`${SITE}/wp-admin/options-general.php?page=assent-consent`);
      await page.getByLabel('Address of the service').fill(`http://hostile.example${path}`);
      await page.getByLabel('API key').fill('key');
      await page.getByRole('button', { name: 'Connect' }).click();
      await expect(page.getByText(/^The site could not be connected:/)).toBeVisible();
      expect(await page.evaluate(() => (window as any).injected)).toBeUndefined();
    }
    await expect(page.getByText('the answer is not that of a consent service')).toBeVisible();
    await expect(page.getByText('This site is connected to the pixel'), 'it is still connected').toBeVisible();
  });

  await test.step('suggest a text for the privacy policy', async () => {
    await page.goto(`${SITE}/wp-admin/options-privacy.php?tab=policyguide`);
    await expect(page.getByText('Assent Consent').first()).toBeAttached();
  });

  await test.step('uninstall', async () => {
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(`${SITE}/wp-admin/plugins.php`);
    await page.getByRole('link', { name: 'Deactivate Assent Consent' }).click();
    await expect(page.getByText('Plugin deactivated.')).toBeVisible();
    await page.getByRole('link', { name: 'Delete Assent Consent' }).click();
    await expect(page.getByText(/was successfully deleted/)).toBeVisible();
    expect(existsSync(join(env('folder'), 'wp-content/plugins/assent-consent'))).toBe(false);
    expect(storedWith('assent')).toEqual([]);
  });

  expect(messages(), 'PHP reports nothing').toBe('');
});
