import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, LaunchOptions, Page, test as plain } from '@playwright/test';
import { isFirefox } from './browsers';
import { ENVIRONMENT } from './global-setup';
import { configureConsent, createPixel, Pixel, PLAIN_POLICY, Policy } from './integrator';

export { expect };

const env = (name: string): string => process.env[name]!;

/** A shop with a pixel, on a host of its own; its pages hold the returned snippet and what a test adds. */
export interface Shop {
  base: string;
  origin: string;
  pixel: Pixel;
  policy: Policy;
  /** Publishes a policy; the pages keep their snippet. */
  configure(policy: object): Promise<Policy>;
  /** Puts a page there (or on another host) and returns its address. `snippet` is in the head, as the integrator was told. */
  put(path: string, page?: PageContent): Promise<string>;
  /** Puts a script there and returns its address. */
  putScript(path: string, code: string): Promise<string>;
  /** Holds back what is served at this path from now on; the returned function lets it go. */
  delay(path: string): Promise<() => Promise<void>>;
  /** How often the delivery network has served the identification tag of this pixel. */
  tagLoads(): Promise<number>;
}

interface PageContent {
  host?: string;
  head?: string;
  body?: string;
  headers?: Record<string, string>;
  snippet?: string;
  /** The whole document, in place of all of these. */
  html?: string;
}

interface Options {
  /** What the shop's consent configuration says; null leaves consent off. */
  consent: object | null;
}

interface Fixtures {
  shop: Shop;
  /** Fails the test when a page throws, whatever else the test looks at. */
  noErrors: void;
}

const BODY = `<main>
  <h1>Example shop</h1>
  <p><a id="first" href="#one">First link</a> <button id="page-button" type="button">Buy</button></p>
  <p>${'Fresh bread every morning, cakes to order, coffee all day. '.repeat(12)}</p>
  </main><footer><a id="last" href="#end">Last link</a></footer>`;

/**
 * Messages that Firefox reports as errors of the page although its scripts cannot observe them: requests blocked by a
 * content security policy, scripts whose loading a navigation interrupted, and invalid paths or domains of `__Host-` cookies.
 */
const REPORTS = /Content-Security-Policy:|^The resource from |^Cross-Origin Request Blocked: |Cookie “__Host-/;

/** Every host under `.example` is the sites' server. */
const chromium = (sitesPort: string): LaunchOptions => ({
  // One test is about pages that come back from this cache.
  ignoreDefaultArgs: ['--disable-back-forward-cache'],
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    `--host-resolver-rules=MAP *.example 127.0.0.1:${sitesPort}`,
  ],
});

/** The same by a proxy, since Firefox has no such switch. */
const firefox = (sitesPort: string): LaunchOptions => ({
  executablePath: process.env.FIREFOX || '/usr/bin/firefox-esr',
  // The list of downloads would take the focus away from the page.
  firefoxUserPrefs: { 'browser.download.alwaysOpenPanel': false },
  proxy: { server: `http://127.0.0.1:${sitesPort}`, bypass: 'localhost, 127.0.0.1' },
});

export const test = plain.extend<Options & Fixtures>({
  consent: [PLAIN_POLICY, { option: true }],

  launchOptions: async ({ browserName }, use) => {
    const sitesPort = env(ENVIRONMENT.sitesPort);
    await use(browserName === 'chromium' ? chromium(sitesPort) : firefox(sitesPort));
  },

  shop: async ({ consent }, use) => {
    const base = env(ENVIRONMENT.base);
    const sites = `http://127.0.0.1:${env(ENVIRONMENT.sitesPort)}`;
    const ownHost = `shop-${randomBytes(5).toString('hex')}.example`;
    const pixel = await createPixel(base, ownHost);
    const configure = (policy: object): Promise<Policy> => configureConsent(base, pixel, policy);
    const policy = consent ? await configure(consent) : ({} as Policy);
    const putPage = async (host: string, path: string, page: object): Promise<string> => {
      await fetch(`${sites}/__put`, { method: 'POST', body: JSON.stringify({ key: host + path, page }) });
      return `http://${host}${path}`;
    };
    const shop: Shop = {
      base,
      origin: `http://${ownHost}`,
      pixel,
      policy,
      configure,
      put: async (path, content = {}) => {
        const { host = ownHost, head = '', body = BODY, headers, snippet = policy.snippet || pixel.immediate } = content;
        const html = content.html || `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">
${head}${snippet}</head><body>${body}</body></html>`;
        return putPage(host, path, { body: html, headers });
      },
      putScript: (path, code) =>
        putPage(ownHost, path, {
          body: code,
          headers: { 'Content-Type': 'application/javascript', 'Access-Control-Allow-Origin': '*' },
        }),
      delay: async (path) => {
        await fetch(`${sites}/__delay`, { method: 'POST', body: path });
        return async () => {
          await fetch(`${sites}/__release`, { method: 'POST', body: path });
        };
      },
      tagLoads: async () => Number(await (await fetch(`${sites}/__loads/${pixel.id}`)).text()),
    };
    await use(shop);
  },

  noErrors: [
    async ({ page }, use) => {
      const errors: string[] = [];
      page.on('pageerror', (error) => {
        if (!REPORTS.test(String(error))) errors.push(String(error));
      });
      await use();
      expect(errors, 'the page saw no error').toEqual([]);
    },
    { auto: true },
  ],
});

/** The parts of the popup, found as a visitor finds them: by role and name. */
export const popup = (page: Page) => ({
  banner: page.getByRole('dialog', { name: 'Your privacy choice' }),
  preferences: page.getByRole('dialog', { name: 'Choose for yourself' }),
  accept: page.getByRole('button', { name: 'Accept', exact: true }),
  decline: page.getByRole('button', { name: 'Decline', exact: true }),
  choose: page.getByRole('button', { name: 'Choose', exact: true }),
  save: page.getByRole('button', { name: 'Save my choice' }),
  acceptAll: page.getByRole('button', { name: 'Accept all' }),
  declineAll: page.getByRole('button', { name: 'Decline all' }),
  withdraw: page.getByRole('button', { name: 'Withdraw my consent' }),
  wayBack: page.getByRole('button', { name: 'Privacy choice' }),
  saved: page.getByText('Your choice has been saved.'),
  failed: page.getByText('Your choice could not be saved.'),
  purpose: (title: string) => page.getByRole('switch', { name: title }),
});

/** What `assent.get()` says on the page. */
export const state = (page: Page): Promise<any> => page.evaluate(() => (window as any).assent.get());

/** Everything that the page's own storage holds, cookies included. */
export const stored = (page: Page): Promise<Record<string, string>> =>
  page.evaluate(() => Object.fromEntries([...Object.entries(localStorage), ...(document.cookie ? [['cookie', document.cookie]] : [])]));

/** Presses a control from the page itself, with the choice that leads to a recorded acceptance. */
export const acceptAll = async (page: Page): Promise<void> => {
  await popup(page).accept.click();
  await expect(popup(page).saved).toBeVisible();
};

/** What axe finds on the page as it is now. It opens no second page for frames, which saves one for each look. */
export const accessibilityProblems = async (page: Page): Promise<string[]> => {
  const analyze = () =>
    new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'], frameWaitTime: 10_000 }).analyze();
  // A frame or a page that is drawn anew just then has lost its axe, and is looked at once more.
  const { violations } = await analyze().catch((error: Error) => {
    if (/timed out|context was destroyed|reading 'run'/.test(error.message)) return analyze();
    throw error;
  });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`);
};

/** Long enough for what must not happen to have happened. */
export const settle = (page: Page): Promise<void> => page.waitForTimeout(400);

/** Global Privacy Control, as a browser sends it: in the page and in every request. */
export const sendGpc = async (page: Page): Promise<void> => {
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true, configurable: true }));
  await page.setExtraHTTPHeaders({ 'Sec-GPC': '1' });
};

/** A browser that does not say that a program drives it: a visitor's. */
export const hideAutomation = (page: Page): Promise<void> =>
  page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false }));

/** What happens when the visitor comes back to this tab. */
export const returnToTab = (page: Page): Promise<unknown> =>
  page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));

/** Global Privacy Control, switched on while the page is open. */
export const switchGpcOn = (page: Page): Promise<unknown> =>
  page.evaluate(() => Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true, configurable: true }));

/** What the page asks of the service, in order: the method and path of each request. */
export const watchRequests = (page: Page): string[] => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
  return requests;
};

/** Takes a screenshot for documentation. In Firefox it would add a style that the page's policy blocks and reports. */
export const screenshot = async (page: Page, name: string, fullPage = false): Promise<void> => {
  if (isFirefox(page)) return;
  const path = resolve(__dirname, '../../../target/screenshots', `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', fullPage });
};
