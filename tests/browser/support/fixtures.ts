import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, LaunchOptions, Page, test as plain } from '@playwright/test';
import { isFirefox } from './browsers';
import { ENVIRONMENT } from './global-setup';
import { configureConsent, createPixel, Pixel, PLAIN_POLICY, Policy } from './integrator';

export { expect };

const env = (name: string): string => process.env[name]!;

/** A shop with a pixel, on a host of its own. Its pages contain the snippet and the content that a test adds. */
export interface Shop {
  base: string;
  origin: string;
  pixel: Pixel;
  policy: Policy;
  /** Publishes a policy; the pages keep their snippet. */
  configure(policy: object): Promise<Policy>;
  /** Adds a page to the shop or another host, and returns its address. `snippet` is in the head, as documented. */
  put(path: string, page?: PageContent): Promise<string>;
  /** Adds a script and returns its address. */
  putScript(path: string, code: string): Promise<string>;
  /** Delays responses for this path from now on. The returned function releases them. */
  delay(path: string): Promise<() => Promise<void>>;
  /** The number of times that the delivery network has served the identification tag of this pixel. */
  tagLoads(): Promise<number>;
}

interface PageContent {
  host?: string;
  head?: string;
  body?: string;
  headers?: Record<string, string>;
  snippet?: string;
  /** The whole document, which replaces all of these. */
  html?: string;
}

interface Options {
  /** The shop's consent configuration; null leaves consent off. */
  consent: object | null;
  /** The name below which the shop's host lies. Names below `localhost` have a port, and are secure without a certificate. */
  zone: 'example' | 'localhost';
}

interface Fixtures {
  shop: Shop;
  /** Fails the test if a page throws. */
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

/** Ends the test at the first error of a page that it opened itself. */
export const failOnErrors = (page: Page): void => {
  page.on('pageerror', (error) => {
    if (!REPORTS.test(String(error))) throw error;
  });
};

/** Resolves every host under `.example` to the sites' server. */
const chromium = (sitesPort: string): LaunchOptions => ({
  // One test needs this cache.
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

/** Uses a proxy for the same, because Firefox has no such switch. */
const firefox = (sitesPort: string): LaunchOptions => ({
  executablePath: process.env.FIREFOX || '/usr/bin/firefox-esr',
  // The list of downloads would take the focus away from the page.
  firefoxUserPrefs: { 'browser.download.alwaysOpenPanel': false },
  proxy: { server: `http://127.0.0.1:${sitesPort}`, bypass: 'localhost, 127.0.0.1' },
});

export const test = plain.extend<Options & Fixtures>({
  consent: [PLAIN_POLICY, { option: true }],
  zone: ['example', { option: true }],

  launchOptions: async ({ browserName }, use) => {
    const sitesPort = env(ENVIRONMENT.sitesPort);
    await use(browserName === 'chromium' ? chromium(sitesPort) : firefox(sitesPort));
  },

  shop: async ({ consent, zone }, use) => {
    const base = env(ENVIRONMENT.base);
    const sites = `http://127.0.0.1:${env(ENVIRONMENT.sitesPort)}`;
    const ownHost = `shop-${randomBytes(5).toString('hex')}.${zone}`;
    const pixel = await createPixel(base, ownHost);
    const configure = (policy: object): Promise<Policy> => configureConsent(base, pixel, policy);
    const policy = consent ? await configure(consent) : ({} as Policy);
    const putPage = async (host: string, path: string, page: object): Promise<string> => {
      await fetch(`${sites}/__put`, { method: 'POST', body: JSON.stringify({ key: host + path, page }) });
      const port = host.endsWith('.localhost') ? `:${env(ENVIRONMENT.sitesPort)}` : '';
      return `http://${host}${port}${path}`;
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

/** The elements of the popup, by role and name. */
export const popup = (page: Page) => ({
  banner: page.getByRole('dialog', { name: 'Your privacy choice' }),
  preferences: page.getByRole('dialog', { name: 'Manage your choices' }),
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

/** The result of `assent.get()` on the page. */
export const state = (page: Page): Promise<any> => page.evaluate(() => (window as any).assent.get());

/** All entries of the page's local storage, and its cookies. */
export const stored = (page: Page): Promise<Record<string, string>> =>
  page.evaluate(() => Object.fromEntries([...Object.entries(localStorage), ...(document.cookie ? [['cookie', document.cookie]] : [])]));

/** Accepts in the banner, and waits until the acceptance was recorded. */
export const acceptAll = async (page: Page): Promise<void> => {
  await popup(page).accept.click();
  await expect(popup(page).saved).toBeVisible();
};

/** Returns the problems that axe finds on the page. The legacy mode does not open a second page for frames. */
export const accessibilityProblems = async (page: Page): Promise<string[]> => {
  const analyze = () =>
    new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'], frameWaitTime: 10_000 }).analyze();
  // A frame or page that was replaced during the analysis has lost axe, and is analysed once more.
  const { violations } = await analyze().catch((error: Error) => {
    if (/timed out|context was destroyed|reading 'run'/.test(error.message)) return analyze();
    throw error;
  });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`);
};

/** Waits long enough for an unwanted effect to occur. */
export const settle = (page: Page): Promise<void> => page.waitForTimeout(400);

/** A page of another host with a heading, which stands for a provider's content. */
export const putVideo = (shop: Shop): Promise<string> =>
  shop.put('/embed', { host: `video-${shop.pixel.id.toLowerCase().slice(0, 8)}.example`, body: '<h2>A video</h2>', snippet: '<!---->' });

/** The text of the only frame, also of a page from a cache, into whose frames Playwright does not see. */
export const frameText = (page: Page): Promise<string> =>
  page.locator('iframe').evaluate((frame: HTMLIFrameElement) => frame.contentDocument?.body.innerText ?? '');

/** Switches Global Privacy Control on, in the page and in every request. */
export const sendGpc = async (page: Page): Promise<void> => {
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true, configurable: true }));
  await page.setExtraHTTPHeaders({ 'Sec-GPC': '1' });
};

/** Hides from the page that the browser is controlled by a program. */
export const hideAutomation = (page: Page): Promise<void> =>
  page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false }));

/** Dispatches the event of a visitor who returns to this tab. */
export const returnToTab = (page: Page): Promise<unknown> =>
  page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));

/** Switches Global Privacy Control on or off while the page is open. */
const switchGpc = (page: Page, isOn: boolean): Promise<void> =>
  page.evaluate((isOn) => void Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => isOn, configurable: true }), isOn);

export const switchGpcOn = (page: Page): Promise<void> => switchGpc(page, true);
export const switchGpcOff = (page: Page): Promise<void> => switchGpc(page, false);

/** Collects method and path of each request of the page, in order. */
export const watchRequests = (page: Page): string[] => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
  return requests;
};

/**
 * Takes a screenshot for people to look at, in `target/screenshots`, if `SCREENSHOTS` is set. In Firefox it would add a
 * style that the page's policy blocks and reports.
 */
export const screenshot = async (page: Page, name: string, fullPage = false): Promise<void> => {
  if (isFirefox(page) || !process.env.SCREENSHOTS) return;
  const path = resolve(__dirname, '../../../target/screenshots', `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', fullPage });
};
