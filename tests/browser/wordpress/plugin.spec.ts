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
  ignoreHTTPSErrors: true,
  requests: async ({ page }, use) => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await use(requests);
  },
});

const SECURE_SITE = 'https://wordpress.example';

const signIn = async (page: Page, site = SITE, name = 'admin'): Promise<void> => {
  await page.goto(`${site}/wp-login.php`);
  await page.getByLabel('Username or Email Address').fill(name);
  await page.getByLabel('Password', { exact: true }).fill('password');
  await page.getByRole('button', { name: 'Log In' }).click();
  await expect(page.locator('#wpadminbar')).toBeVisible();
};

const openSettings = (page: Page, site = SITE) => page.goto(`${site}/wp-admin/options-general.php?page=assent-consent`);

const connect = async (page: Page, key: string, service = env('base')): Promise<void> => {
  await openSettings(page);
  await page.getByLabel('Address of the service').fill(service);
  await page.getByText('Connect with an API key').click();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Connect with this key' }).click();
};

/** Begins to connect by signing in, up to the page of the service. */
const beginSignIn = async (page: Page): Promise<void> => {
  await openSettings(page, SECURE_SITE);
  await page.getByLabel('Address of the service').fill(env('base'));
  await page.getByRole('button', { name: 'Connect by signing in' }).click();
};

const allow = (page: Page) => page.getByRole('button', { name: 'Allow' });

const openPrivacyPage = (page: Page) => page.goto(`${SITE}/?pagename=privacy`);

/** The options and user data in WordPress that contain a text. */
const storedWith = (text: string): string[] => JSON.parse(execFileSync('php', [join(__dirname, 'stored.php'), env('folder'), text]).toString());

const storedPixel = (): string => JSON.parse(execFileSync('php', [join(__dirname, 'stored.php'), env('folder'), 'assent_consent', 'pixel']).toString());

/** PHP's messages about the plugin. */
const messages = (): string => {
  const file = join(env('folder'), 'debug.log');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter((line) => line.includes('assent-consent')).join('\n') : '';
};

test('a fresh site is connected, asks, gates content, and is left clean', async ({ browser, page, requests }) => {
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

  await test.step('connect by signing in', async () => {
    await openSettings(page);
    await expect(page.getByRole('button', { name: 'Connect by signing in' }), 'without https').toBeDisabled();
    await signIn(page, SECURE_SITE);
    await beginSignIn(page);
    await page.getByRole('link', { name: 'Sign up' }).click();
    await page.getByLabel('Your name').fill('Ann Lee');
    await page.getByLabel('Email address').fill('ann@wordpress.example');
    await page.getByRole('button', { name: 'Sign up' }).click();
    await expect(page.getByText('WordPress: Shop').first()).toBeVisible();
    expect(storedWith('assent_consent_sign_in'), 'what the return is compared with').toHaveLength(1);
    const asked = new URL(page.url()).searchParams;
    expect([asked.get('code_challenge_method'), asked.get('scope'), asked.get('resource')]).toEqual(['S256', 'operate', `${env('base')}/mcp`]);

    // Answers that do not belong to what was begun here.
    const back = asked.get('redirect_uri')!;
    for (const forged of ['', '&code=oac_1&state=guessed', `&code=oac_1&state=${asked.get('state')}&iss=http://another.example`]) {
      await page.goto(`${back}${forged}`);
      await expect(page.getByText('The site could not be connected: this sign-in was not begun here, or has expired')).toBeVisible();
    }
    await page.goto(`${back}&code=oac_1&state=${asked.get('state')}&iss=${encodeURIComponent(env('base'))}`);
    await expect(page.getByText(/The site could not be connected: .*code/)).toBeVisible();
    await expect(page.getByText('This site is not connected.')).toBeVisible();
    expect(storedWith('assent_consent_sign_in'), 'an answer is used once').toEqual([]);

    await beginSignIn(page);
    await page.getByRole('button', { name: 'Deny' }).click();
    await expect(page.getByText('The site could not be connected: the person did not allow it')).toBeVisible();
    await beginSignIn(page);
    await page.getByRole('radio', { name: /^Read-only/ }).check();
    await allow(page).click();
    await expect(page.getByText(/The site could not be connected: .*scope/)).toBeVisible();

    await beginSignIn(page);
    await expect(page.getByRole('radio', { name: /^Editor/ })).toBeChecked();
    await allow(page).click();
    await expect(page.getByText('The site is connected.')).toBeVisible();
    expect(page.url()).not.toContain('code=');
    expect(storedWith('assent_consent'), 'only the settings').toEqual(['assent_consent']);
    expect(storedWith('oat_'), 'no token').toEqual([]);
    await page.goto(`${env('base')}/console/account`);
    await expect(page.getByText('WordPress: Shop'), 'the permission has ended').toHaveCount(0);
  });

  const key = await test.step('issue a key in the console', async () => {
    await page.getByLabel('Permissions').selectOption('operate');
    await page.getByRole('button', { name: 'Create key' }).click();
    return page.getByLabel('API key').inputValue();
  });

  await test.step('connect with a key', async () => {
    await connect(page, 'px_wrong');
    await expect(page.getByText('The site could not be connected: invalid api key')).toBeVisible();
    await connect(page, env('key'));
    await expect(page.getByText('The site could not be connected: domain already registered'), 'the pixel of another account').toBeVisible();
    await connect(page, key, env('base').replace('http://localhost', 'http://service.example'));
    await expect(page.getByText('The site could not be connected: the address of the service must begin with https://')).toBeVisible();
    const before = storedPixel();
    await connect(page, key);
    await expect(page.getByText('The site is connected.')).toBeVisible();
    expect(storedPixel(), 'the same pixel is found again').toBe(before);
    await page.getByLabel('Scripts that wait').fill('shop-statistics: analytics\n"><script>alert(1)</script>: analytics');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('The settings are saved.')).toBeVisible();
    expect(storedWith(key), 'the key is not stored').toEqual([]);
  });

  await test.step('refuse forged forms', async () => {
    for (const action of ['assent_consent_save', 'assent_consent_connect']) {
      const status = await page.evaluate(async (action) => {
        const body = new URLSearchParams({ action, service: 'https://hostile.example', embeds: '', scripts: '' });
        return (await fetch('/wp-admin/admin-post.php', { method: 'POST', body })).status;
      }, action);
      expect(status, action).toBe(403);
    }
  });

  await test.step('refuse whoever may not change settings', async () => {
    const reader = await browser.newPage({ ignoreHTTPSErrors: true });
    await signIn(reader, SITE, 'reader');
    for (const action of ['assent_consent_signed_in&state=1&code=1', 'assent_consent_save', 'assent_consent_connect']) {
      expect((await reader.goto(`${SITE}/wp-admin/admin-post.php?action=${action}`))!.status(), action).toBe(403);
    }
    await reader.close();
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
      await connect(page, 'key', `https://hostile.example${path}`);
      await expect(page.getByText(/^The site could not be connected:/)).toBeVisible();
      expect(await page.evaluate(() => (window as any).injected)).toBeUndefined();
    }
    await expect(page.getByText('the answer is not that of a consent service')).toBeVisible();
    for (const path of ['', '/id', '/mixed']) {
      await openSettings(page, SECURE_SITE);
      await page.getByLabel('Address of the service').fill(`https://hostile.example${path}`);
      await page.getByRole('button', { name: 'Connect by signing in' }).click();
      await expect(page.getByText(/^The site could not be connected:/), 'no browser is sent elsewhere').toBeVisible();
      expect(await page.evaluate(() => (window as any).injected)).toBeUndefined();
    }
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
