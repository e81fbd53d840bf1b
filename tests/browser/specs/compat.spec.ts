import { Page } from '@playwright/test';
import { acceptAll, expect, popup, sendGpc, settle, Shop, state, test } from '../support/fixtures';
import { cookiebot, klaro, KLARO, oneTrust, vanilla, VANILLA, vanilla2 } from '../support/consent-tools';
import { readLog } from '../support/integrator';

/** Pages that are marked up for another consent tool, with `data-assent-compat` on the tag. */

const snippetOf = (shop: Shop, compat = ''): string => shop.policy.snippet.replace('<script ', `<script data-assent-compat="${compat}" `);

const note = (name: string): string => `(window.ran = window.ran || []).push('${name}')`;
const ran = (page: Page): Promise<string[]> => page.evaluate(() => (window as any).ran || []);

/** A statistics script, a marketing script, one from a file, and a frame, in the markup of each tool. */
const MARKUP: Record<string, { compat?: string; body(video: string): string }> = {
  Cookiebot: {
    body: (video) => `<script type="text/plain" data-cookieconsent="statistics">${note('statistics')}</script>
      <script type="text/plain" data-cookieconsent="marketing">${note('marketing')}</script>
      <script type="text/plain" data-cookieconsent="statistics, marketing">${note('both')}</script>
      <script type="text/plain" data-cookieconsent="statistics" src="/file.js"></script>
      <iframe data-cookieconsent="marketing" data-cookieblock-src="${video}" title="Video"></iframe>`,
  },
  'vanilla-cookieconsent': {
    body: (video) => `<script type="text/plain" data-category="analytics">${note('statistics')}</script>
      <script type="text/plain" data-category="marketing" data-service="Ads">${note('marketing')}</script>
      <script type="text/plain" data-category="analytics,marketing">${note('both')}</script>
      <script type="text/plain" data-category="analytics" data-src="/file.js"></script>
      <iframe data-category="marketing" data-src="${video}" title="Video"></iframe>`,
  },
  Klaro: {
    compat: 'matomo=analytics youtube=resolution everything=analytics,resolution',
    body: (video) => `<script type="text/plain" data-type="application/javascript" data-name="matomo">${note('statistics')}</script>
      <script type="text/plain" data-type="application/javascript" data-name="youtube">${note('marketing')}</script>
      <script type="text/plain" data-type="application/javascript" data-name="everything">${note('both')}</script>
      <script type="text/plain" data-type="application/javascript" data-name="matomo" data-src="/file.js"></script>
      <iframe data-name="youtube" data-src="${video}" title="Video"></iframe>`,
  },
  OneTrust: {
    body: (video) => `<script type="text/plain" class="optanon-category-C0002">${note('statistics')}</script>
      <script type="text/plain" class="ads optanon-category-C0004">${note('marketing')}</script>
      <script type="text/plain" class="optanon-category-C0002-C0004">${note('both')}</script>
      <script type="text/plain" class="optanon-category-C0002" src="/file.js"></script>
      <iframe class="optanon-category-C0004" data-src="${video}" title="Video"></iframe>`,
  },
};

for (const [tool, { compat, body }] of Object.entries(MARKUP)) {
  test.describe(`the markup of ${tool}`, () => {
    const open = async (page: Page, shop: Shop): Promise<void> => {
      await shop.putScript('/file.js', note('file'));
      const video = await shop.put('/video', { body: '<h2>A video</h2>', snippet: '<!---->' });
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${body(video)}`, snippet: snippetOf(shop, compat) }));
      await expect(popup(page).banner).toBeVisible();
    };

    test('waits for the purposes of its categories', async ({ page, shop }) => {
      await open(page, shop);
      const frame = page.frameLocator('iframe');
      await expect(frame.getByRole('button', { name: 'Show once' })).toBeVisible();
      await settle(page);
      expect(await ran(page)).toEqual([]);
      await page.evaluate(() => (window as any).assent.accept(['analytics']));
      await expect.poll(() => ran(page)).toEqual(['statistics', 'file']);
      await expect(frame.locator('h2')).toHaveCount(0);
      await page.evaluate(() => (window as any).assent.accept());
      await expect.poll(() => ran(page)).toEqual(['statistics', 'file', 'marketing', 'both']);
      await expect(frame.locator('h2')).toHaveText('A video');
      await page.evaluate(() => (window as any).assent.withdraw());
      await expect(frame.getByRole('button', { name: 'Show once' })).toBeVisible();
    });

    test('also in scripts that are added later', async ({ page, shop }) => {
      await open(page, shop);
      await expect(page.frameLocator('iframe').getByRole('button', { name: 'Show once' })).toBeVisible();
      await page.evaluate(() => (window as any).assent.accept());
      await expect.poll(() => ran(page)).toHaveLength(4);
      await page.evaluate((html) => {
        const view = document.createElement('section');
        view.innerHTML = html;
        document.body.append(view);
      }, body('').replace(/<iframe.*<\/iframe>/, '').replace(/push\('(\w+)'\)/g, "push('later $1')"));
      await expect.poll(() => ran(page)).toEqual(expect.arrayContaining(['later statistics', 'later marketing', 'later both']));
    });

    test('is ignored without the attribute', async ({ page, shop }) => {
      const video = await shop.put('/video', { body: '<h2>A video</h2>', snippet: '<!---->' });
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${body(video)}` }));
      await acceptAll(page);
      await settle(page);
      expect(await ran(page)).toEqual([]);
    });
  });
}

test('a category without a purpose is never permitted, and the developer is told how to name one', async ({ page, shop }) => {
  const messages: string[] = [];
  page.on('console', (message) => messages.push(message.text()));
  const body = `<h1>x</h1><script type="text/plain" data-cookieconsent="preferences">${note('preferences')}</script>`;
  await page.goto(await shop.put('/', { body, snippet: snippetOf(shop) }));
  await acceptAll(page);
  await expect.poll(() => messages.join()).toContain('data-assent-compat="preferences=PURPOSE"');
  expect(await ran(page)).toEqual([]);
  await page.goto(await shop.put('/', { body, snippet: snippetOf(shop, 'preferences=analytics') }));
  await expect.poll(() => ran(page)).toEqual(['preferences']);
});

test('a necessary category is no condition beside another one, and alone it is never asked about', async ({ page, shop }) => {
  const messages: string[] = [];
  page.on('console', (message) => messages.push(message.text()));
  const body = `<h1>x</h1><script type="text/plain" data-cookieconsent="necessary, statistics">${note('both')}</script>
    <script type="text/plain" class="optanon-category-C0001">${note('necessary')}</script>`;
  await page.goto(await shop.put('/', { body, snippet: snippetOf(shop) }));
  await acceptAll(page);
  await expect.poll(() => ran(page)).toEqual(['both']);
  await expect.poll(() => messages.join()).toContain('waits for “C0001”, which visitors are not asked about');
  await settle(page);
  expect(await ran(page)).toEqual(['both']);
});

test('the developer is told of marked elements that are not supported or have not waited, and of no others', async ({ page, shop }) => {
  const messages: string[] = [];
  page.on('console', (message) => messages.push(message.text()));
  const video = await shop.put('/video', { body: '<h2>A video</h2>', snippet: '<!---->' });
  const body = `<h1>x</h1><img data-cookieconsent="marketing" data-cookieblock-src="/x.png" alt="">
    <iframe class="optanon-category-C0004" src="${video}" title="Video"></iframe>
    <script data-cookieconsent="statistics">${note('early')}</script>
    <script data-cookieconsent="ignore">1</script><img data-name="Ann" data-src="/ann.png" alt=""><div data-category="ads">Offers</div>
    <script type="text/plain" data-cookieconsent="statistics">${note('statistics')}</script>`;
  await page.goto(await shop.put('/', { body, snippet: snippetOf(shop) }));
  await acceptAll(page);
  await expect.poll(() => ran(page)).toEqual(['early', 'statistics']);
  await settle(page);
  const problems = messages.filter((text) => text.startsWith('Assent: ')).join('\n');
  expect(problems).toContain('a <img> with the markup of another tool is never loaded');
  expect(problems).toContain('a <iframe> with the markup of another tool has not waited');
  expect(problems).toContain('a <script> with the markup of another tool has not waited');
  expect(problems.match(/Assent: /g)).toHaveLength(3);
});

/** Sets a cookie of the shop's host before its first page. */
const setCookies = (page: Page, shop: Shop, cookies: Record<string, string>): Promise<void> =>
  page.context().addCookies(Object.entries(cookies).map(([name, value]) => ({ name, value, url: shop.origin })));

const CLOSED = { OptanonAlertBoxClosed: '2025-11-27T09:00:00.000Z' };

/** Names the services of Klaro. */
const SERVICES = 'matomo=analytics youtube=resolution';

const STORED: [what: string, cookies: Record<string, string>, isRefusal: boolean, compat?: string][] = [
  ['a refusal of Cookiebot', { CookieConsent: cookiebot(false, false, false) }, true],
  ['the short refusal of Cookiebot', { CookieConsent: '0' }, true],
  ['an implied refusal of Cookiebot, which is none', { CookieConsent: cookiebot(false, false, false, 'implied') }, false],
  ['an acceptance of Cookiebot', { CookieConsent: cookiebot(true, true, true) }, false],
  ['a partial acceptance of Cookiebot', { CookieConsent: cookiebot(false, true, false) }, false],
  ['a refusal of OneTrust', { OptanonConsent: oneTrust({ C0001: 1, C0002: 0, C0003: 0, C0004: 0 }), ...CLOSED }, true],
  ['the defaults of OneTrust before an answer', { OptanonConsent: oneTrust({ C0001: 1, C0002: 0, C0003: 0, C0004: 0 }) }, false],
  ['an acceptance of OneTrust', { OptanonConsent: oneTrust({ C0001: 1, C0002: 1, C0003: 1, C0004: 1 }), ...CLOSED }, false],
  ['a partial acceptance of OneTrust', { OptanonConsent: oneTrust({ C0001: 1, C0002: 1, C0003: 0, C0004: 0 }), ...CLOSED }, false],
  ['a refusal of vanilla-cookieconsent 3', { cc_cookie: vanilla('necessary') }, true],
  ['a partial acceptance of vanilla-cookieconsent 3', { cc_cookie: vanilla('necessary', 'analytics') }, false],
  ['a refusal of vanilla-cookieconsent 2', { cc_cookie: vanilla2('necessary') }, true],
  ['a partial acceptance of vanilla-cookieconsent 2', { cc_cookie: vanilla2('necessary', 'analytics') }, false],
  ['a refusal of Klaro', { klaro: klaro({ youtube: false, matomo: false }) }, true, SERVICES],
  ['a partial acceptance of Klaro', { klaro: klaro({ youtube: true, matomo: false }) }, false, SERVICES],
  // A service without a purpose counts as a required one.
  ['a refusal of Klaro of all services that are named', { klaro: klaro({ youtube: true, matomo: false }) }, true, 'matomo=analytics'],
  [
    'a refusal of Cookiebot beside partial acceptances of others',
    { CookieConsent: '0', cc_cookie: vanilla('necessary', 'analytics'), klaro: klaro({ youtube: true, matomo: false }) },
    true,
    SERVICES,
  ],
  [
    'an acceptance of vanilla-cookieconsent 2 under another name, which Klaro could have too',
    { their_answer: vanilla2('necessary', 'analytics') },
    false,
    `${SERVICES}" data-assent-compat-cookie="their_answer`,
  ],
  ['nonsense', { cc_cookie: '{', klaro: '%7B%22', CookieConsent: '{', OptanonConsent: 'groups=', ...CLOSED }, false],
];

for (const [what, cookies, isRefusal, compat] of STORED) {
  test(`${what}: ${isRefusal ? 'counts as a decline, without a question' : 'the visitor is asked, and nothing is permitted'}`, async ({ page, shop }) => {
    await setCookies(page, shop, cookies);
    const body = `<h1>x</h1><script type="text/plain" data-cookieconsent="statistics">${note('statistics')}</script>
      <script type="text/plain" data-category="analytics">${note('analytics')}</script>
      <script type="text/plain" data-name="matomo">${note('matomo')}</script>`;
    await page.goto(await shop.put('/', { body, snippet: snippetOf(shop, compat) }));
    if (isRefusal) {
      await expect(popup(page).wayBack).toBeVisible();
      await expect(popup(page).banner).toBeHidden();
      expect(await state(page)).toMatchObject({ state: 'declined', purposes: [] });
    } else {
      await expect(popup(page).banner).toBeVisible();
      expect(await state(page)).toMatchObject({ state: null, purposes: [] });
    }
    await settle(page);
    expect(await ran(page)).toEqual([]);
  });
}

/** Lets a tool's own script store an answer, on a page without our tag. */
const answerVanilla = async (page: Page, shop: Shop, accepted: string, name = 'cc_cookie'): Promise<void> => {
  await shop.putScript('/vanilla.js', VANILLA);
  const head = `<script src="/vanilla.js"></script><script>
    CookieConsent.run({ cookie: { name: '${name}', secure: false }, categories: { necessary: { enabled: true, readOnly: true }, analytics: {}, marketing: {} },
      language: { default: 'en', translations: { en: { consentModal: { title: 'x', acceptAllBtn: 'a' }, preferencesModal: { sections: [] } } } } })
      .then(() => { CookieConsent.acceptCategory(${accepted}); window.done = true; });</script>`;
  await page.goto(await shop.put('/old', { head, snippet: '<!---->' }));
  await page.waitForFunction((name) => (window as any).done && document.cookie.includes(`${name}=`), name);
};

/** Accepts or refuses all services, or accepts those that are named. */
const answerKlaro = async (page: Page, shop: Shop, accepted: boolean | string[], storageMethod = 'cookie', name = 'klaro'): Promise<void> => {
  await shop.putScript('/klaro.js', KLARO);
  const head = `<script>window.klaroConfig = { storageName: '${name}', storageMethod: '${storageMethod}', translations: { en: {} }, services: [
      { name: 'session', purposes: ['needed'], required: true }, { name: 'matomo', purposes: ['statistics'] }, { name: 'youtube', purposes: ['media'] }] };</script>
    <script src="/klaro.js"></script>`;
  await page.goto(await shop.put('/old', { head, snippet: '<!---->' }));
  await page.waitForFunction(() => (window as any).klaro?.getManager);
  await page.evaluate((accepted) => {
    const manager = (window as any).klaro.getManager((window as any).klaroConfig);
    manager.changeAll(accepted === true);
    for (const service of Array.isArray(accepted) ? accepted : []) manager.updateConsent(service, true);
    manager.saveAndApplyConsents();
  }, accepted);
  await page.waitForFunction((name) => document.cookie.includes(`${name}=`) || localStorage.getItem(name), name);
};

const RENAMED = 'their_answer';
const TOOLS: [string, (page: Page, shop: Shop, accepts: boolean) => Promise<void>][] = [
  ['vanilla-cookieconsent', (page, shop, accepts) => answerVanilla(page, shop, accepts ? "'all'" : '[]')],
  ['Klaro', answerKlaro],
  ['Klaro, set to local storage,', (page, shop, accepts) => answerKlaro(page, shop, accepts, 'localStorage')],
  ['vanilla-cookieconsent, set to another name,', (page, shop, accepts) => answerVanilla(page, shop, accepts ? "'all'" : '[]', RENAMED)],
  ['Klaro, set to another name,', (page, shop, accepts) => answerKlaro(page, shop, accepts, 'localStorage', RENAMED)],
];

for (const [tool, answer] of TOOLS) {
  const renamed = tool.includes('another name') ? `" data-assent-compat-cookie="${RENAMED}` : '';
  const compat = `${SERVICES}${renamed}`;

  test(`a refusal that ${tool} itself has stored counts as a decline`, async ({ page, shop }) => {
    await answer(page, shop, false);
    await page.goto(await shop.put('/', { snippet: snippetOf(shop, compat) }));
    await expect(popup(page).wayBack).toBeVisible();
    expect(await state(page)).toMatchObject({ state: 'declined' });
    await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0]).toMatchObject({ consent_state: 'declined', shown: { act: 'page' } });
    // The visitor can still change it, and the older refusal does not return.
    await page.evaluate(() => (window as any).assent.accept());
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    expect(await state(page)).toMatchObject({ state: 'accepted' });
  });

  test(`an acceptance that ${tool} itself has stored permits nothing, and the visitor is asked`, async ({ page, shop }) => {
    await answer(page, shop, true);
    const body = `<h1>x</h1><script type="text/plain" data-category="analytics" data-name="matomo">${note('statistics')}</script>`;
    await page.goto(await shop.put('/', { body, snippet: snippetOf(shop, compat) }));
    await expect(popup(page).banner).toBeVisible();
    await settle(page);
    expect(await ran(page)).toEqual([]);
    expect(await state(page)).toMatchObject({ state: null, purposes: [] });
  });
}

/** A visitor who has permitted statistics to a tool, and nothing else. */
const PARTIAL: [string, (page: Page, shop: Shop) => Promise<void>][] = [
  ['vanilla-cookieconsent', (page, shop) => answerVanilla(page, shop, "['analytics']")],
  ['Klaro', (page, shop) => answerKlaro(page, shop, ['matomo'])],
  ['Klaro, set to local storage,', (page, shop) => answerKlaro(page, shop, ['matomo'], 'localStorage')],
];

for (const [tool, answer] of PARTIAL) {
  test(`a partial acceptance that ${tool} itself has stored permits nothing, and only the visitor’s answer here counts`, async ({ page, shop }) => {
    await answer(page, shop);
    const body = `<h1>x</h1><script type="text/plain" data-category="analytics">${note('analytics')}</script>
      <script type="text/plain" data-name="matomo">${note('matomo')}</script>
      <script type="text/plain" data-category="marketing">${note('marketing')}</script>
      <script type="text/plain" data-name="youtube">${note('youtube')}</script>`;
    await page.goto(await shop.put('/', { body, snippet: snippetOf(shop, SERVICES) }));
    await expect(popup(page).banner).toBeVisible();
    await settle(page);
    expect(await ran(page)).toEqual([]);
    expect(await state(page)).toMatchObject({ state: null, purposes: [] });
    expect(await readLog(shop.base, shop.pixel)).toEqual([]);
    // The answer that the tool has stored is still there, and does not add to that of the visitor.
    await page.evaluate(() => (window as any).assent.accept(['resolution']));
    await expect.poll(() => ran(page)).toEqual(['marketing', 'youtube']);
    await page.reload();
    await expect.poll(() => ran(page)).toEqual(['marketing', 'youtube']);
    expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['resolution'] });
    await page.evaluate(() => (window as any).assent.decline());
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await settle(page);
    expect(await ran(page)).toEqual([]);
    expect(await state(page)).toMatchObject({ state: 'declined', purposes: [] });
  });
}

for (const change of ['data-src', 'data-cookieblock-src']) {
  test(`a frame that a framework gives another category and ${change} waits for that one`, async ({ page, shop }) => {
    const [first, second] = await Promise.all(['first', 'second'].map((name) => shop.put(`/${name}`, { body: `<h2>${name}</h2>`, snippet: '<!---->' })));
    const body = `<h1>x</h1><iframe data-name="stats" ${change}="${first}" title="Video"></iframe>`;
    await page.goto(await shop.put('/', { body, snippet: snippetOf(shop, 'stats=analytics youtube=resolution') }));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate(() => (window as any).assent.accept(['analytics']));
    const frame = page.frameLocator('iframe');
    await expect(frame.locator('h2')).toHaveText('first');
    await page.evaluate(
      ([name, address]) => {
        const element = document.querySelector('iframe')!;
        element.setAttribute('data-name', 'youtube');
        element.setAttribute(name, address);
      },
      [change, second],
    );
    await expect(frame.getByRole('button', { name: 'Show once' })).toBeVisible();
    await settle(page);
    await expect(frame.locator('h2')).toHaveCount(0);
    await page.evaluate(() => (window as any).assent.accept());
    await expect(frame.locator('h2')).toHaveText('second');
  });
}

test('a refusal elsewhere sends nothing under Global Privacy Control', async ({ page, shop }) => {
  await setCookies(page, shop, { CookieConsent: cookiebot(false, false, false) });
  await sendGpc(page);
  const sent: string[] = [];
  page.on('request', (request) => sent.push(new URL(request.url()).pathname));
  await page.goto(await shop.put('/', { snippet: snippetOf(shop) }));
  await expect.poll(() => sent).toContain('/compat.js');
  await settle(page);
  expect(sent).not.toContain('/v1/consent/record');
  // The page has done nothing wrong.
  expect(sent).not.toContain('/hints.js');
});

test('on a page that allows no Trusted Types policy, a refusal elsewhere counts and later elements wait', async ({ page, shop }) => {
  await setCookies(page, shop, { CookieConsent: cookiebot(false, false, false) });
  const messages: string[] = [];
  page.on('console', (message) => messages.push(message.text()));
  const body = `<h1>x</h1><script type="text/plain" data-category="analytics" data-src="/file.js"></script>
    <script type="text/plain" data-category="analytics">${note('inline')}</script>`;
  const headers = { 'Content-Security-Policy': "require-trusted-types-for 'script'; trusted-types 'none'" };
  await page.goto(await shop.put('/', { body, headers, snippet: snippetOf(shop) }));
  await expect(popup(page).wayBack).toBeVisible();
  await expect(popup(page).banner).toBeHidden();
  expect(await state(page)).toMatchObject({ state: 'declined' });
  expect(await page.locator('[data-category]').evaluateAll((found) => found.map((one) => (one as HTMLElement).dataset.assent))).toEqual(['analytics', 'analytics']);
  expect(messages.join('\n')).toContain('the page’s Trusted Types forbid “/file.js”');
});

test('visitors are asked although the module cannot be loaded', async ({ page, shop }) => {
  await page.route('**/compat.js*', (route) => route.abort());
  await page.goto(await shop.put('/', { snippet: snippetOf(shop) }));
  await expect(popup(page).banner).toBeVisible();
});
