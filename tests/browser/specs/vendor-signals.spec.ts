import { Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { acceptAll, expect, failOnErrors, popup, putVideo, returnToTab, sendGpc, settle, Shop, state, switchGpcOff, switchGpcOn, test } from '../support/fixtures';
import { PLAIN_POLICY } from '../support/integrator';
import { clarityLibrary, commands, SNIPPETS, Signal, lastSignal } from '../support/vendors';

/** Consent signals for the vendors that a page names in `data-assent-signals`. */

const VENDORS = Object.keys(SNIPPETS);

/** The vendors whose signal has a member of its own for statistics. */
const HAS_STATISTICS = new Set(['google', 'clarity', 'shopify', 'wordpress']);

/** A page with the vendors' own snippets before the tag. */
const putPage = (shop: Shop, vendors: string | string[], path = '/', content: { host?: string; body?: string; attributes?: string } = {}): Promise<string> => {
  const names = [vendors].flat();
  const { attributes = '', ...more } = content;
  return shop.put(path, {
    ...more,
    head: names.map((name) => `<script>${SNIPPETS[name]}</script>`).join(''),
    snippet: shop.policy.snippet.replace('<script ', `<script data-assent-signals="${names.join(' ')}" ${attributes} `),
  });
};

const call = (page: Page, name: string, ...args: unknown[]): Promise<unknown> =>
  page.evaluate(([name, args]) => (window as any).assent[name](...args), [name, args] as [string, unknown[]]);

/** Withdraws as the visitor's own page of the service does, of which the tag only knows that it was opened. */
const withdrawOnOwnPage = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    const { pixel, visitor } = (window as any).assent.get();
    const { origin } = new URL(document.querySelector<HTMLScriptElement>('script[src*="/px/"]')!.src);
    const body = { pixel_id: pixel, visitor_id: visitor, url: location.href, consent: 'withdrawn', affirmative: false, purposes: [] };
    await fetch(`${origin}/v1/consent/record`, { method: 'POST', body: JSON.stringify(body) });
    localStorage.setItem(`assent:${pixel}?`, String(Date.now()));
  });

/** Makes a choice in another tab of the same browser. */
const callInAnotherTab = async (page: Page, name: string): Promise<void> => {
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForFunction(() => (window as any).assent?.get);
  await call(other, name);
  await other.close();
};

/** Switches Global Privacy Control on until the withdrawal is recorded, and off again. */
const switchGpcOnAndOff = async (page: Page): Promise<void> => {
  await switchGpcOn(page);
  await returnToTab(page);
  await expect.poll(async () => (await state(page)).visitor).toBeNull();
  await switchGpcOff(page);
  await returnToTab(page);
};

const expire = (page: Page): Promise<void> => page.clock.setFixedTime(Date.now() + 183 * 864e5);

const NOTHING: Signal = { ads: false, statistics: false };
const ALL: Signal = { ads: true, statistics: true };

/** An action of a visitor, and the signal that every vendor must have received afterwards. */
const TRANSITIONS: [string, (page: Page, next: () => Promise<unknown>) => Promise<unknown>, Signal][] = [
  ['no choice', (page) => expect(popup(page).banner).toBeVisible(), NOTHING],
  ['an acceptance of everything', (page) => acceptAll(page), ALL],
  ['an acceptance of statistics', (page) => call(page, 'accept', ['analytics']), { ads: false, statistics: true }],
  ['an acceptance of recognition', (page) => call(page, 'accept', ['resolution']), { ads: true, statistics: false }],
  [
    'statistics were saved in the preferences',
    async (page) => {
      await popup(page).choose.click();
      await popup(page).purpose('Statistics').check();
      await popup(page).save.click();
    },
    { ads: false, statistics: true },
  ],
  ['the popup was closed with Esc', async (page) => (await popup(page).accept.press('Escape'), expect(popup(page).banner).toBeHidden()), NOTHING],
  [
    'an acceptance that cannot be recorded',
    async (page) => {
      await page.route('**/v1/consent/record', (route) => route.abort());
      expect(await call(page, 'accept')).toBe(false);
    },
    NOTHING,
  ],
  ['a decline', (page) => popup(page).decline.click(), NOTHING],
  ['a withdrawal', async (page) => (await acceptAll(page), call(page, 'withdraw')), NOTHING],
  ['a decline after an acceptance', async (page) => (await acceptAll(page), call(page, 'decline')), NOTHING],
  ['a narrower acceptance', async (page) => (await acceptAll(page), call(page, 'accept', ['analytics'])), { ads: false, statistics: true }],
  ['a wider acceptance', async (page) => (await call(page, 'accept', ['analytics']), call(page, 'accept')), ALL],
  [
    'a withdrawal in the preferences',
    async (page) => (await acceptAll(page), await popup(page).wayBack.click(), popup(page).withdraw.click()),
    NOTHING,
  ],
  ['an acceptance after a decline', async (page) => (await call(page, 'decline'), call(page, 'accept')), ALL],
  ['an acceptance on an earlier page', async (page, next) => (await acceptAll(page), next()), ALL],
  ['a withdrawal on an earlier page', async (page, next) => (await acceptAll(page), await call(page, 'withdraw'), next()), NOTHING],
  ['a withdrawal on the visitor’s own page', async (page) => (await acceptAll(page), await withdrawOnOwnPage(page), returnToTab(page)), NOTHING],
  ['Global Privacy Control on a later page', async (page, next) => (await acceptAll(page), await sendGpc(page), next()), NOTHING],
  [
    'Global Privacy Control switched on',
    async (page) => (await acceptAll(page), await switchGpcOn(page), returnToTab(page)),
    NOTHING,
  ],
  ['Global Privacy Control switched on on a page that is not left', async (page) => (await acceptAll(page), switchGpcOn(page)), NOTHING],
  ['Global Privacy Control switched on and off again', async (page) => (await acceptAll(page), switchGpcOnAndOff(page)), NOTHING],
  [
    'an acceptance after Global Privacy Control was switched off again',
    async (page) => (await acceptAll(page), await switchGpcOnAndOff(page), call(page, 'accept')),
    ALL,
  ],
  ['the end of the permission while the page is open', async (page) => (await acceptAll(page), await expire(page), returnToTab(page)), NOTHING],
  ['the end of the permission on a page that is not left', async (page) => (await acceptAll(page), expire(page)), NOTHING],
  ['the end of the permission before a later page', async (page, next) => (await acceptAll(page), await expire(page), next()), NOTHING],
  ['an acceptance in another tab', (page) => callInAnotherTab(page, 'accept'), ALL],
  ['a withdrawal in another tab', async (page) => (await acceptAll(page), callInAnotherTab(page, 'withdraw')), NOTHING],
  ['a decline in another tab', async (page) => (await acceptAll(page), callInAnotherTab(page, 'decline')), NOTHING],
];

const expectEverywhere = async (page: Page, signal: Signal): Promise<void> => {
  for (const vendor of VENDORS) {
    const expected = HAS_STATISTICS.has(vendor) ? signal : { ads: signal.ads };
    await expect.poll(() => lastSignal(page, vendor), vendor).toEqual(expected);
  }
};

for (const [what, act, signal] of TRANSITIONS) {
  test(`every vendor knows the state after ${what}`, async ({ page, shop }) => {
    await page.goto(await putPage(shop, VENDORS));
    const next = async (): Promise<unknown> => page.goto(await putPage(shop, VENDORS, '/next'));
    await expect(popup(page).banner).toBeVisible();
    for (const vendor of VENDORS) {
      await expect.poll(() => lastSignal(page, vendor), `${vendor} is denied by default`).toMatchObject({ ads: false });
    }
    await act(page, next);
    await expectEverywhere(page, signal);
  });
}

/** Every vendor is denied, and was never granted anything. */
const expectNeverGranted = async (page: Page): Promise<void> => {
  await expectEverywhere(page, NOTHING);
  for (const vendor of VENDORS) {
    expect(JSON.stringify(await commands(page, vendor)), vendor).not.toMatch(/"granted"|"grant"|"(analytics|marketing|preferences)":true/);
  }
};

test('no vendor is granted anything under Global Privacy Control on the first page', async ({ page, shop }) => {
  await sendGpc(page);
  await page.goto(await putPage(shop, VENDORS));
  await settle(page);
  await expectNeverGranted(page);
});

test('no vendor is granted anything by a frame that is shown once', async ({ page, shop }) => {
  const video = await putVideo(shop);
  await page.goto(await putPage(shop, VENDORS, '/', { body: `<h1>x</h1><iframe data-assent="analytics" data-src="${video}"></iframe>` }));
  const frame = page.frameLocator('iframe');
  await frame.getByRole('button', { name: 'Show once' }).click();
  await expect(frame.locator('h2')).toHaveText('A video');
  await settle(page);
  await expectNeverGranted(page);
});

test('no vendor is granted anything by an acceptance that a refusal overrules', async ({ page, shop }) => {
  let answer = (): void => {};
  const refused = new Promise<void>((resolve) => (answer = resolve));
  await page.route('**/v1/consent/record', async (route) => {
    if (route.request().postDataJSON()?.consent === 'accepted') await refused;
    await route.continue();
  });
  await page.goto(await putPage(shop, VENDORS));
  await expect(popup(page).banner).toBeVisible();
  const accepted = call(page, 'accept');
  await call(page, 'decline');
  answer();
  expect(await accepted).toBe(false);
  await settle(page);
  await expectNeverGranted(page);
});

test('every vendor knows the state after a refusal that another tool has stored', async ({ page, shop }) => {
  await page.context().addCookies([{ name: 'CookieConsent', value: '0', url: shop.origin }]);
  await page.goto(await putPage(shop, VENDORS, '/', { attributes: 'data-assent-compat' }));
  await expect(popup(page).wayBack).toBeVisible();
  expect(await state(page)).toMatchObject({ state: 'declined' });
  await expectEverywhere(page, NOTHING);
  const toGoogle = (await commands(page, 'google')).filter(([name]) => name === 'consent');
  expect(toGoogle.map(([, command]) => command)).toEqual(['default', 'update']);
});

test('every vendor knows the state after “Always allow” in a placeholder', async ({ page, shop }) => {
  const video = await shop.put('/video', { html: '<h2>A video</h2>' });
  const body = `<h1>x</h1><iframe data-assent="analytics" data-src="${video}" width="560" height="315" title="Video"></iframe>`;
  await page.goto(await putPage(shop, VENDORS, '/', { body }));
  await page.frameLocator('iframe').getByRole('button', { name: 'Always allow' }).click();
  await expectEverywhere(page, { ads: false, statistics: true });
});

test.describe('on a site with one choice for all subdomains', () => {
  test.use({ zone: 'localhost', consent: { ...PLAIN_POLICY, share_subdomains: true } });

  test('every vendor on another subdomain knows of an acceptance and of a withdrawal', async ({ page, context, shop }) => {
    await page.goto(await putPage(shop, VENDORS, '/', { host: `a.${shop.pixel.host}` }));
    const other = await context.newPage();
    failOnErrors(other);
    await other.goto(await putPage(shop, VENDORS, '/', { host: `b.${shop.pixel.host}` }));
    await expect(popup(other).banner).toBeVisible();
    await expectEverywhere(other, NOTHING);
    await acceptAll(page);
    await expectEverywhere(other, ALL);
    await call(page, 'withdraw');
    await expectEverywhere(other, NOTHING);
  });
});

test('every vendor is denied when the notice has changed', async ({ page, shop }) => {
  await page.goto(await putPage(shop, VENDORS));
  await acceptAll(page);
  await expectEverywhere(page, ALL);
  await shop.configure({ controller_name: 'Example Shop Ltd', purposes: ['analytics', 'resolution'], retention: '13 months' });
  await page.reload();
  await expect(popup(page).banner).toBeVisible();
  await expectEverywhere(page, NOTHING);
});

test('every vendor is denied on a page from the back/forward cache after a withdrawal', chromiumOnly(LACKS.historyBack), async ({ page, shop }) => {
  await page.goto(await putPage(shop, VENDORS));
  await page.evaluate(() => addEventListener('pageshow', (event) => ((window as any).cached = event.persisted)));
  await acceptAll(page);
  await expectEverywhere(page, ALL);
  await expect.poll(() => page.evaluate(() => (window as any).tagLoads)).toBe(1);
  await page.goto(await putPage(shop, VENDORS, '/second'));
  await expect(popup(page).wayBack).toBeVisible();
  await call(page, 'withdraw');
  await page.evaluate(() => history.back());
  // The step back may end an evaluation.
  const cached = () => page.evaluate(() => (window as any).cached).catch(() => null);
  await expect.poll(cached, 'the page came from the cache').toBe(true);
  await expectEverywhere(page, NOTHING);
});

test('no vendor is permitted anything on a prerendered page before it is activated', async ({ page, shop }) => {
  await page.goto(await putPage(shop, VENDORS));
  await acceptAll(page);
  await page.addInitScript(() => {
    (window as any).prepared = true;
    Object.defineProperty(document, 'prerendering', { get: () => (window as any).prepared });
  });
  await page.reload();
  await settle(page);
  for (const vendor of VENDORS) expect((await lastSignal(page, vendor))?.ads, vendor).not.toBe(true);
  await page.evaluate(() => {
    (window as any).prepared = false;
    document.dispatchEvent(new Event('prerenderingchange'));
  });
  await expectEverywhere(page, ALL);
});

test('a visitor who has accepted is denied first, except where the interface only has a state', async ({ page, shop }) => {
  await page.goto(await putPage(shop, 'uet'));
  await acceptAll(page);
  await page.goto(await putPage(shop, 'uet', '/uet'));
  await expect.poll(() => commands(page, 'uet')).toEqual([
    ['consent', 'default', { ad_storage: 'denied' }],
    ['consent', 'update', { ad_storage: 'granted' }],
  ]);
  await page.goto(await putPage(shop, 'clarity', '/clarity'));
  // Clarity would delete its cookies after a denial, and see a new visitor on every page.
  await expect.poll(() => commands(page, 'clarity')).toEqual([['consentv2', { ad_Storage: 'granted', analytics_Storage: 'granted' }]]);
  await page.goto(await putPage(shop, 'meta', '/meta'));
  // The denial is processed before the events that the page has queued.
  await expect.poll(() => commands(page, 'meta')).toEqual([['consent', 'revoke'], ['init', '1'], ['track', 'PageView'], ['consent', 'grant']]);
  await page.goto(await putPage(shop, 'shopify', '/shopify'));
  // Shopify and the WP Consent API deny everything themselves until they have received a state.
  await expect.poll(() => commands(page, 'shopify')).toEqual([{ analytics: true, marketing: true, preferences: true, sale_of_data: false }]);
});

/** The service's answers to the question whether an acceptance was withdrawn elsewhere, and the signal after each. */
const ANSWERS: [string, (page: Page) => Promise<unknown>, Signal][] = [
  ['confirms the acceptance', async () => {}, ALL],
  ['reports a withdrawal', withdrawOnOwnPage, NOTHING],
  ['does not answer', (page) => page.route('**/v1/consent/check*', (route) => route.abort()), NOTHING],
];

for (const [answer, prepare, signal] of ANSWERS) {
  test(`Clarity, which would delete its cookies, is not denied before the service ${answer}`, async ({ page, shop }) => {
    await page.goto(await putPage(shop, ['clarity', 'meta']));
    await acceptAll(page);
    await expect.poll(() => lastSignal(page, 'clarity')).toEqual(ALL);
    await page.evaluate(() => localStorage.setItem(`assent:${(window as any).assent.get().pixel}?`, String(Date.now())));
    await prepare(page);
    let release = (): void => {};
    const released = new Promise<void>((done) => (release = done));
    await page.route('**/v1/consent/check*', async (route) => (await released, route.fallback()));
    await page.goto(await putPage(shop, ['clarity', 'meta'], '/next'));
    // Vendors that keep their cookies are denied at once.
    await expect.poll(() => lastSignal(page, 'meta')).toEqual({ ads: false });
    expect(await lastSignal(page, 'clarity')).toBeUndefined();
    release();
    await expect.poll(() => lastSignal(page, 'clarity')).toEqual(signal);
    await expect.poll(() => lastSignal(page, 'meta')).toEqual({ ads: signal.ads });
    const received = (await commands(page, 'clarity')).filter(([name]) => name === 'consentv2');
    expect(received).toHaveLength(1);
  });
}

test('Microsoft’s own library of Clarity receives every signal', async ({ page, shop }) => {
  await shop.putScript('/clarity.js', clarityLibrary());
  const snippet = shop.policy.snippet.replace('<script ', '<script data-assent-signals="clarity" ');
  const head = `<script>window.clarity = window.clarity || function () { (clarity.q = clarity.q || []).push(arguments) };
    clarity('start', { projectId: 'project', upload: function () {}, track: true });</script><script async src="/clarity.js"></script>`;
  await page.goto(await shop.put('/', { head, snippet }));
  const consent = (): Promise<unknown> =>
    page.evaluate(
      () =>
        new Promise((done) => {
          (window as any).clarity('metadata', (_data: unknown, _upgrade: unknown, consent: any) => done(consent && [consent.ad_Storage, consent.analytics_Storage]), false, false, true);
          setTimeout(done, 500);
        }),
    );
  await expect.poll(consent).toEqual(['denied', 'denied']);
  await call(page, 'accept', ['analytics']);
  await expect.poll(consent).toEqual(['denied', 'granted']);
  await call(page, 'accept');
  await expect.poll(consent).toEqual(['granted', 'granted']);
  await call(page, 'withdraw');
  await expect.poll(consent).toEqual(['denied', 'denied']);
});

test('several vendors receive signals, and a vendor that loads later learns the state at that time', async ({ page, shop }) => {
  const snippet = shop.policy.snippet.replace('<script ', '<script data-assent-signals="google uet, meta" ');
  await page.goto(await shop.put('/', { head: `<script>${SNIPPETS.uet}</script>`, snippet }));
  await acceptAll(page);
  await expect.poll(() => lastSignal(page, 'uet')).toEqual({ ads: true });
  await page.evaluate((text) => (0, eval)(text), SNIPPETS.meta);
  await expect.poll(() => lastSignal(page, 'meta')).toEqual({ ads: true });
  expect((await commands(page, 'meta'))[0]).toEqual(['consent', 'revoke']);
});

for (const vendor of ['meta', 'clarity']) {
  test(`${vendor}, which loads after more than 30 seconds, is denied at that time`, async ({ page, shop }) => {
    await page.clock.install();
    const snippet = shop.policy.snippet.replace('<script ', `<script data-assent-signals="${vendor}" `);
    // The module loads in real time, and has to wait for the vendor from the beginning.
    const loaded = page.waitForResponse((response) => new URL(response.url()).pathname === '/signals.js');
    await page.goto(await shop.put('/', { snippet }));
    await (await loaded).finished();
    await expect(popup(page).banner).toBeVisible();
    for (let seconds = 0; seconds < 60; seconds += 5) await page.clock.runFor(5_000);
    await page.evaluate((script) => void (0, eval)(script), SNIPPETS[vendor]);
    await page.clock.runFor(1_000);
    expect(await lastSignal(page, vendor)).toMatchObject({ ads: false });
  });
}

test('without the attribute no vendor but Google receives a signal, and no module is loaded', async ({ page, shop }) => {
  const requested: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname));
  await page.goto(await shop.put('/', { head: `<script>${SNIPPETS.uet}${SNIPPETS.meta}</script>` }));
  await acceptAll(page);
  await settle(page);
  expect(await commands(page, 'uet')).toEqual([]);
  expect((await commands(page, 'meta')).map(([name]) => name)).toEqual(['init', 'track']);
  expect(requested).not.toContain('/signals.js');
});

test('an unknown vendor is named in the console', async ({ page, shop }) => {
  const messages: string[] = [];
  page.on('console', (message) => messages.push(message.text()));
  const snippet = shop.policy.snippet.replace('<script ', '<script data-assent-signals="uet tiktok" ');
  await page.goto(await shop.put('/', { snippet }));
  await expect.poll(() => messages.join()).toContain('“tiktok” in data-assent-signals is unknown');
  expect(messages.join()).toContain(`${shop.base}/guide/tag#signals`);
});

test('a data layer with another name receives the commands of Google', async ({ page, shop }) => {
  const snippet = shop.policy.snippet.replace('<script ', '<script data-assent-layer="shopLayer" ');
  await page.goto(await shop.put('/', { snippet }));
  await acceptAll(page);
  expect(await page.evaluate(() => (window as any).shopLayer.map((entry: any) => [entry[0], entry[1]]))).toEqual([
    ['consent', 'default'],
    ['consent', 'update'],
  ]);
  expect(await page.evaluate(() => (window as any).dataLayer)).toBeUndefined();
});
