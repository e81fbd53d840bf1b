import { Page } from '@playwright/test';
import { acceptAll, expect, popup, settle, Shop, state, test } from '../support/fixtures';
import { inline } from '../support/hostile';

/** Cookies, data layers and footers of third-party pages. */

const GATED = 'type="text/plain" data-assent="analytics"';

/**
 * Opens a page of the shop with the service below its origin. For the browser it is an HTTPS page, which these cookies
 * require.
 */
const openSecurely = async (page: Page, shop: Shop, path: string, body: string): Promise<void> => {
  const origin = `https://${shop.pixel.host}`;
  const service = `${origin}/service`;
  const snippet = shop.policy.snippet.replace(shop.base, service);
  const html = `<!doctype html><html lang="en"><head><title>Shop</title><link rel="icon" href="data:,">${snippet}</head><body>${body}</body></html>`;
  await page.route(`${origin}/**`, async (route) => {
    const url = route.request().url();
    // Firefox does not show request bodies, so they cannot be forwarded here.
    if (url.endsWith('/record')) {
      const { policy_hash, purposes } = shop.policy;
      return route.fulfill({ status: 202, json: { recorded: true, receipt_id: 'r', policy_version_hash: policy_hash, purposes } });
    }
    if (!url.startsWith(service)) return route.fulfill({ contentType: 'text/html', body: html });
    const response = await route.fetch({ url: url.replace(service, shop.base) });
    // The body was decompressed. Firefox would decompress it again because of the header.
    const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = response.headers();
    return route.fulfill({ status: response.status(), headers, body: (await response.text()).replaceAll(shop.base, service) });
  });
  await page.goto(origin + path);
};

test.describe('a withdrawal removes cookies that', () => {
  const cookies: [string, string, string][] = [
    ['have the prefix __Secure-', '__Secure-a', '__Secure-a=1;Secure;path=/'],
    ['have the prefix __Host-', '__Host-b', '__Host-b=1;Secure;path=/'],
    ['are partitioned', 'part', 'part=1;Secure;SameSite=None;Partitioned;path=/'],
    ['are partitioned and have a prefix', '__Host-part', '__Host-part=1;Secure;SameSite=None;Partitioned;path=/'],
    ['are secure, for the whole domain and below a path', '__Secure-c', '__Secure-c=1;Secure;path=/shop;domain=$HOST'],
    ['are partitioned, of the whole domain and below a path', 'deep', 'deep=1;Secure;SameSite=None;Partitioned;path=/shop/bread;domain=$HOST'],
    ['are for a folder with a slash', 'folder', 'folder=1;path=/shop/'],
    ['are strict', 'strict', 'strict=1;Secure;SameSite=Strict;path=/'],
  ];
  test('have any combination of attributes', async ({ page, shop }) => {
    const scripts = cookies.map(
      ([, name, cookie]) =>
        `<script ${GATED} data-assent-cookies="${name}">document.cookie = '${cookie.replace('$HOST', shop.pixel.host)}'</script>`,
    );
    await openSecurely(page, shop, '/shop/bread', `<h1>x</h1>${scripts.join('')}<script>document.cookie = 'basket=7;Secure;path=/'</script>`);
    await acceptAll(page);
    const names = async (): Promise<string[]> => (await page.evaluate(() => document.cookie)).split('; ').map((cookie) => cookie.split('=')[0]);
    for (const [what, name] of cookies) await expect.poll(names, { message: what }).toContain(name);
    await page.evaluate(() => (window as any).assent.withdraw());
    for (const [what, name] of cookies) expect(await names(), what).not.toContain(name);
    expect(await names()).toContain('basket');
  });
});

test.describe('data-assent-layer', () => {
  const consent = (page: Page, layer: string): Promise<string[]> =>
    page.evaluate((name) => ((window as any)[name] || []).filter((entry: any) => entry[0] === 'consent').map((entry: any) => entry[1]), layer);

  for (const [what, layer, head] of [
    ['that does not exist yet', 'shopLayer', ''],
    ['that the page has filled', 'otherLayer', inline('window.otherLayer = [{ event: "before" }]')],
  ] as const) {
    test(`names a layer ${what}: it receives every choice, and no other layer is created`, async ({ page, shop }) => {
      const snippet = shop.policy.snippet.replace('<script ', `<script data-assent-layer="${layer}" `);
      await page.goto(await shop.put('/', { head, snippet }));
      await acceptAll(page);
      expect(await consent(page, layer)).toEqual(['default', 'update']);
      expect(await page.evaluate(() => (window as any).dataLayer)).toBeUndefined();
      await page.evaluate(() => (window as any).assent.withdraw());
      expect(await consent(page, layer)).toEqual(['default', 'update', 'update']);
    });
  }

  test('an invalid layer name does not affect the page', async ({ page, shop }) => {
    const snippet = shop.policy.snippet.replace('<script ', '<script data-assent-layer="location" ');
    await page.goto(await shop.put('/', { snippet }));
    await acceptAll(page);
    expect(page.url()).toBe(`${shop.origin}/`);
  });
});

test.describe('at the end of a page the small button does not cover', () => {
  test.use({ viewport: { width: 390, height: 844 } });
  const long = '<p style="height:1500px">Bread</p>';
  const footers: [string, string][] = [
    ['the footer’s left link', `${long}<footer style="padding:16px"><a id="own" href="#imprint">Imprint</a> <a href="#b">Terms</a></footer>`],
    ['a bar of links', `${long}<footer style="display:flex;height:56px;align-items:center"><a id="own" href="#imprint" style="padding:16px">Imprint</a></footer>`],
    ['a button on a short page', `<p>Bread</p><button id="own" style="position:absolute;left:8px;bottom:8px;width:120px;height:50px" onclick="location.hash='imprint'">Imprint</button>`],
    [
      'a link in a page that scrolls an element of its own',
      `<div id="scroller" style="position:absolute;inset:0;overflow:auto">${long}<p style="margin:16px"><a id="own" href="#imprint">Imprint</a></p></div>`,
    ],
  ];
  for (const [what, markup] of footers) {
    test(what, async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: `<style>body{margin:0}</style><h1>x</h1>${markup}` }));
      await acceptAll(page);
      await expect(popup(page).wayBack).toBeVisible();
      await page.evaluate(() => (document.getElementById('scroller') || document.scrollingElement!).scrollTo(0, 1e5));
      const own = (await page.locator('#own').boundingBox())!;
      await expect(async () => {
        for (const fraction of [0.1, 0.5, 0.9]) {
          const upper = await page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.id, [own.x + fraction * own.width, own.y + own.height / 2]);
          expect(upper).toBe('own');
        }
      }).toPass();
      await page.mouse.click(own.x + own.width / 2, own.y + own.height / 2);
      await expect(page).toHaveURL(/#imprint$/);
      await popup(page).wayBack.click();
      await popup(page).withdraw.click();
      await expect(popup(page).preferences).toBeHidden();
      expect((await state(page)).state).toBe('withdrawn');
    });
  }

  test('the button returns to its edge when the page is scrolled up', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: `<style>body{margin:0}</style><h1>x</h1>${footers[0][1]}` }));
    await acceptAll(page);
    await expect(popup(page).wayBack).toBeVisible();
    const topOf = async (): Promise<number> => (await popup(page).wayBack.boundingBox())!.y;
    const first = await topOf();
    await page.evaluate(() => scrollTo(0, 1e5));
    await expect.poll(topOf).toBeLessThan(first);
    await page.evaluate(() => scrollTo(0, 0));
    await expect.poll(topOf).toBe(first);
    await settle(page);
    await expect(page.locator('[style*=transform]')).toHaveCount(0);
  });
});

test.describe('a page with a strict policy', () => {
  const policy = (base: string): string =>
    `default-src 'none'; script-src 'nonce-R4nd0m' 'strict-dynamic'; connect-src ${base}; img-src data:; base-uri 'none'; require-trusted-types-for 'script'; trusted-types assent`;

  test('runs gated scripts, and inserts what they write, without a violation', async ({ page, shop }) => {
    const head = `<script nonce="R4nd0m">window.violations = [];
      document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI))</script>`;
    const body = `<h1>x</h1><div id="ad"><script ${GATED} nonce="R4nd0m">document.write('<p class="w">one</p>')</script></div>
      <script ${GATED} nonce="R4nd0m">window.ran = 1</script>`;
    await page.goto(
      await shop.put('/', {
        head,
        body,
        snippet: shop.policy.snippet.replace('<script ', '<script nonce="R4nd0m" '),
        headers: { 'Content-Security-Policy': policy(shop.base) },
      }),
    );
    await acceptAll(page);
    await expect.poll(() => page.evaluate(() => (window as any).ran)).toBe(1);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    expect(await page.evaluate(() => (window as any).violations)).toEqual([]);
  });
});
