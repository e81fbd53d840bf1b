import { Page } from '@playwright/test';
import { acceptAll, expect, popup, settle, Shop, state, test } from '../support/fixtures';
import { isFirefox } from '../support/browsers';
import { PLAIN_POLICY } from '../support/integrator';
import { inline, library, recorded } from '../support/hostile';

/** Pages that replace functions of the browser or exhaust its quotas. */

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const addHeader = (name: string, value: string): string => `const f = fetch; window.fetch = (u, o = {}) => {
  const h = new Headers(o.headers); h.set('${name}', '${value}'); return f(u, { ...o, headers: h }) }`;

const WRAPPERS: [string, string][] = [
  ['a traceparent header to every request', addHeader('traceparent', TRACE)],
  ['X-Requested-With', addHeader('X-Requested-With', 'XMLHttpRequest')],
  ['sentry-trace and baggage', `${addHeader('sentry-trace', '1')}; { ${addHeader('baggage', 'a=b')} }`],
  ['cookies to every request', `const f = fetch; window.fetch = (u, o = {}) => f(u, { ...o, credentials: 'include' })`],
  ['cookies by a proxy', `window.fetch = new Proxy(fetch, { apply: (f, self, [u, o]) => f(u, { ...o, credentials: 'include' }) })`],
  ['cookies by a Request', `const f = fetch; window.fetch = (u, o) => f(new Request(u, { ...o, credentials: 'include' }))`],
  ['a Content-Type', `const f = fetch; window.fetch = (u, o = {}) => f(u, { ...o, headers: { 'Content-Type': 'application/json' } })`],
  ['a promise that never settles', `window.fetch = () => new Promise(() => {})`],
  ['an exception', `window.fetch = () => { throw new Error('the page’s own') }`],
  ['an answer without a body', `const f = fetch; window.fetch = async (u, o) => { await (await f(u, o)).text(); return new Response() }`],
  ['no keepalive and no signal', `const f = fetch; window.fetch = (u, { keepalive, signal, ...o } = {}) => f(u, o)`],
  ['its own Request, Headers and Response', `window.Request = window.Headers = window.Response = function () { throw new Error('none') }`],
];

/**
 * Playwright 1.58 looks up every new frame of Firefox, and fails the test if the frame has already been removed. There the
 * tag's empty frame is kept a little longer.
 */
const keepFrames = (page: Page): string =>
  isFirefox(page)
    ? `{ const now = Element.prototype.remove; Element.prototype.remove = function () {
        if (this.localName === 'iframe') setTimeout(() => now.call(this), 1500); else now.call(this) } }`
    : '';

/** Performs every action of a visitor and checks what the service received. */
const completeJourney = async (page: Page, shop: Shop): Promise<void> => {
  await acceptAll(page);
  await expect.poll(() => shop.tagLoads()).toBe(1);
  await page.reload();
  await expect(popup(page).wayBack).toBeVisible();
  await expect.poll(() => page.evaluate(() => (window as any).tagLoads), 'identification after an earlier acceptance').toBe(1);
  await popup(page).wayBack.click();
  await popup(page).withdraw.click();
  await expect(popup(page).preferences).toBeHidden();
  await expect.poll(() => recorded(shop)).toEqual(['withdrawn', 'accepted']);
};

for (const [what, code] of WRAPPERS) {
  test(`a page whose fetch adds ${what} works as usual`, async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: inline(`{ ${code} } ${keepFrames(page)}`) }));
    await completeJourney(page, shop);
  });
}

test('the service allows any header that a page’s own wrapper adds', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  const statuses = await page.evaluate(
    async ([base, pixel]) => {
      const headers = { traceparent: '00-1-1-01', 'x-datadog-trace-id': '1', 'X-Requested-With': 'x' };
      const statusOf = async (path: string, init: object) => (await fetch(base + path, { headers, ...init })).status;
      return [
        await statusOf('/v1/consent/record', { method: 'POST', body: '{}' }),
        await statusOf('/v1/consent/shown', { method: 'POST', body: '{}' }),
        await statusOf(`/v1/consent/check?pixel_id=${pixel}&visitor_id=v`, {}),
        await statusOf(`/external_api/install-pixel/tag-pixel?pid=${pixel}&host=x`, {}),
        await statusOf(`/px/${pixel}.js`, {}),
      ];
    },
    [shop.base, shop.pixel.id],
  );
  expect(statuses).toEqual([204, 204, 200, 200, 200]);
});

test.describe('a page with', () => {
  test('Zone.js works as usual', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: inline(library('zone.js/bundles/zone.umd.min.js')) }));
    await completeJourney(page, shop);
  });

  test('properties on the prototypes of all objects and arrays works as usual', async ({ page, shop }) => {
    const head = inline(`Object.prototype.extend = function () {}; Array.prototype.first = function () { return this[0] };
      Array.prototype.toJSON = function () { return '[' + this.map(JSON.stringify) + ']' }; String.prototype.toJSON = function () { return 'x' }`);
    await page.goto(await shop.put('/', { head }));
    await completeJourney(page, shop);
  });

  test('frozen prototypes works as usual', async ({ page, shop }) => {
    const head = inline('for (const it of [Object, Array, Function, Promise, String, RegExp, Map]) Object.freeze(it.prototype)');
    await page.goto(await shop.put('/', { head }));
    await completeJourney(page, shop);
  });
});

test.describe('a page that has used up the browser’s quota for keepalive requests', () => {
  const fill = (page: Page, shop: Shop): Promise<void> =>
    page.evaluate((url) => {
      for (let i = 0; i < 2; i++) fetch(url, { method: 'POST', keepalive: true, body: 'x'.repeat(32_760) }).catch(() => {});
    }, `${shop.origin}/beacon`);

  test('records the visitor’s choices', async ({ page, shop }) => {
    const release = await shop.delay('/beacon');
    await page.goto(await shop.put('/'));
    await fill(page, shop);
    await completeJourney(page, shop);
    await page.evaluate(() => (window as any).assent.decline());
    await expect.poll(() => recorded(shop)).toEqual(['declined', 'withdrawn', 'accepted']);
    await release();
  });
});

test('a choice arrives even if the visitor leaves the page at once', async ({ page, shop }) => {
  const elsewhere = await shop.put('/elsewhere');
  await page.goto(await shop.put('/'));
  await expect(popup(page).banner).toBeVisible();
  await page.evaluate((url) => {
    (window as any).assent.decline();
    location.href = url;
  }, elsewhere);
  await expect(page).toHaveURL(elsewhere);
  await expect.poll(() => recorded(shop)).toEqual(['declined']);
});

test.describe('a tag with an outdated policy', () => {
  const NEWER = { ...PLAIN_POLICY, controller_name: 'Another Shop Ltd', purposes: ['analytics', 'newsletter', 'resolution'] };

  test('asks again with the current text, and records that choice', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    const { policy_hash } = await shop.configure(NEWER);
    await popup(page).accept.click();
    await expect(popup(page).banner).toContainText('Another Shop Ltd');
    await expect(popup(page).banner).toContainText('Newsletter');
    expect((await state(page)).state).toBeNull();
    expect(await recorded(shop)).toEqual([]);
    await acceptAll(page);
    expect(await state(page)).toMatchObject({ state: 'accepted', hash: policy_hash, version: 2, purposes: NEWER.purposes });
    expect(await recorded(shop)).toEqual(['accepted']);
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
  });

  test('asks again after a choice in the preferences', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).choose.click();
    await shop.configure(NEWER);
    await popup(page).acceptAll.click();
    await expect(popup(page).preferences).toBeHidden();
    await expect(popup(page).banner).toContainText('Another Shop Ltd');
    await popup(page).decline.click();
    await expect.poll(() => recorded(shop)).toEqual(['declined']);
  });

  test('asks visitors who accepted the earlier policy and change their choice', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await shop.configure(NEWER);
    await popup(page).wayBack.click();
    await popup(page).purpose('Recognising you').click();
    await popup(page).save.click();
    await expect(popup(page).banner).toContainText('Another Shop Ltd');
    expect((await state(page)).state).toBeNull();
  });

  test('asks again when a script of the page accepts', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await shop.configure(NEWER);
    expect(await page.evaluate(() => (window as any).assent.accept())).toBe(false);
    await expect(popup(page).banner).toContainText('Another Shop Ltd');
  });

  const caches: [string, string][] = [
    ['returns the old tag for its address', '**/px/*.js'],
    ['returns the old tag for all addresses', '**/px/*.js?*'],
  ];
  for (const [what, pattern] of caches) {
    test(`and a cache that ${what}`, async ({ page, shop }) => {
      const src = shop.policy.snippet.match(/src="([^"]+)"/)![1];
      const old = await (await fetch(src)).text();
      await shop.configure(NEWER);
      const serve = (url: string) => page.route(url, (route) => route.fulfill({ contentType: 'application/javascript', headers: { 'Access-Control-Allow-Origin': '*' }, body: old }));
      await serve('**/px/*.js');
      if (pattern.endsWith('?*')) await serve(pattern);
      await page.goto(await shop.put('/'));
      await popup(page).accept.click();
      if (pattern.endsWith('?*')) {
        await expect(page.getByText('Please reload the page.')).toBeVisible();
        await popup(page).accept.click();
        await expect(page.getByText('Please reload the page.')).toBeVisible();
        await popup(page).decline.click();
        await expect(popup(page).banner).toBeHidden();
      } else {
        await expect(popup(page).banner).toContainText('Another Shop Ltd');
        await acceptAll(page);
      }
      await settle(page);
    });
  }

  test('asks for a reload in the visitor’s language', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { snippet: shop.policy.snippet.replace('.js"', '.js?lang=de"') }));
    await shop.configure(NEWER);
    await page.route('**/px/*.js?*', (route) => route.fulfill({ status: 404, headers: { 'Access-Control-Allow-Origin': '*' }, body: 'not found' }));
    await page.getByRole('button', { name: 'Zustimmen' }).or(page.getByRole('button', { name: 'Akzeptieren' })).click();
    await expect(page.getByText('Bitte laden Sie die Seite neu.')).toBeVisible();
  });
});
