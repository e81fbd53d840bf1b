import { Page } from '@playwright/test';
import { acceptAll, expect, popup, settle, Shop, stored, test } from '../support/fixtures';

/** Scripts that are still loading when the visitor refuses must not run when they arrive. */

const callApi = (page: Page, name: 'accept' | 'decline' | 'withdraw'): Promise<boolean> =>
  page.evaluate((method) => (window as any).assent[method](), name);

/** Returns how often the identification tag has run on this page. */
const tagRuns = (page: Page): Promise<number> => page.evaluate(() => (window as any).tagLoads || 0);

const delayTag = (shop: Shop): Promise<() => Promise<void>> => shop.delay(`/pixels/${shop.pixel.id}/p.js`);

const refusals: [string, (page: Page) => Promise<unknown>][] = [
  ['withdraws', (page) => callApi(page, 'withdraw')],
  [
    'declines in another tab',
    async (page) => {
      const other = await page.context().newPage();
      await other.goto(page.url());
      await callApi(other, 'decline');
      await expect.poll(() => page.evaluate(() => (window as any).assent.get().state)).toBe('declined');
      await other.close();
    },
  ],
];
for (const [how, refuse] of refusals) {
  test(`identification that is still loading does not run when the visitor ${how}, and runs once after a later acceptance`, async ({ page, shop }) => {
    const release = await delayTag(shop);
    await page.goto(await shop.put('/'));
    await page.evaluate(() => (window as any).assent('track', 'viewed_product', {}));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await refuse(page);
    await release();
    await settle(page);
    expect(await tagRuns(page)).toBe(0);
    expect((await stored(page)).tag_state).toBeUndefined();

    expect(await callApi(page, 'accept')).toBe(true);
    await expect.poll(() => tagRuns(page)).toBe(1);
    await page.evaluate(() => (window as any).assent('track', 'add_to_cart', {}));
    await callApi(page, 'withdraw');
    await callApi(page, 'accept');
    await settle(page);
    expect(await tagRuns(page)).toBe(1);
    expect(await page.evaluate(() => (window as any).tagHeard)).toEqual([
      ['track', 'add_to_cart', {}],
      ['change', 'withdrawn'],
      ['change', 'accepted'],
    ]);
  });
}

test('third-party scripts that are still loading do not run, and each runs once after a later acceptance', async ({ page, shop }) => {
  const names = ['plain', 'async', 'module', 'deep', 'after'];
  const note = (name: string): string => `(window.ran = window.ran || []).push('${name}')`;
  for (const name of names) await shop.putScript(`/${shop.pixel.id}/${name}.js`, note(name));
  const src = (name: string): string => `src="/${shop.pixel.id}/${name}.js"`;
  const gated = 'type="text/plain" data-assent="analytics"';
  const body = `<h1>x</h1>
    <script ${gated} async ${src('async')}></script>
    <script ${gated} data-assent-type="module">import '/${shop.pixel.id}/deep.js'; ${note('inline module')}</script>
    <script ${gated} ${src('plain')} onload="(window.ran = window.ran || []).push('its load event')"></script>
    <script ${gated} ${src('module')} data-assent-type="module"></script>
    <script ${gated}>${note('inline')}</script>
    <script ${gated} ${src('after')}></script>`;
  const releases = await Promise.all(names.map((name) => shop.delay(`/${shop.pixel.id}/${name}.js`)));
  const requested: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname.split('/').pop()!));
  await page.goto(await shop.put('/', { body }));
  await acceptAll(page);
  await expect.poll(() => requested).toEqual(expect.arrayContaining(['async.js', 'deep.js', 'plain.js']));
  await callApi(page, 'withdraw');
  for (const release of releases) await release();
  await settle(page);
  expect(await page.evaluate(() => (window as any).ran)).toBeUndefined();

  await callApi(page, 'accept');
  const ran = (): Promise<string[]> => page.evaluate(() => [...((window as any).ran || [])]);
  await expect.poll(ran).toContain('after');
  await expect.poll(ran).toContain('async');
  await settle(page);
  const order = (await ran()).filter((name) => name !== 'async');
  expect(order, 'the order of the document').toEqual(['plain', 'its load event', 'module', 'inline', 'after']);
  expect((await ran()).length, 'each once').toBe(6);
});

test('a script that the page has removed does not delay the others', async ({ page, shop }) => {
  const path = `/${shop.pixel.id}/slow.js`;
  await shop.putScript(path, 'window.slow = 1');
  const release = await shop.delay(path);
  const gated = 'type="text/plain" data-assent="analytics"';
  await page.goto(
    await shop.put('/', {
      body: `<h1>x</h1><script ${gated} src="${path}"></script><script ${gated} id="dropped" src="/never.js"></script>
        <script ${gated}>window.last = 1</script>`,
    }),
  );
  await acceptAll(page);
  await page.evaluate(() => document.getElementById('dropped')!.remove());
  await release();
  await expect.poll(() => page.evaluate(() => (window as any).last)).toBe(1);
});

test.describe('identification by the immediate snippet that is still loading does not run', () => {
  test.use({ consent: null });

  const notice = (shop: Shop): string => `<script async src="${shop.base}/pixel_popup.js"></script>`;

  test('when the visitor opts out, here or in another tab', async ({ page, shop, context }) => {
    const release = await delayTag(shop);
    const url = await shop.put('/', { head: notice(shop) });
    // A tag that is requested during loading delays the page's load event.
    await page.goto(url, { waitUntil: 'commit' });
    const other = await context.newPage();
    await other.goto(url, { waitUntil: 'commit' });
    // The browser sends one request for both tabs.
    await expect.poll(() => shop.tagLoads()).toBe(1);
    for (const tab of [page, other]) await expect(tab.locator('script[src$="/p.js"]')).toHaveCount(1);
    await page.getByRole('button', { name: 'Opt out' }).click();
    await expect(other.locator('script[src$="/p.js"]')).toHaveCount(0);
    await release();
    await settle(page);
    for (const tab of [page, other]) expect(await tagRuns(tab)).toBe(0);
  });

  test('when a consent tag loads, from whatever address', async ({ page, shop }) => {
    const release = await delayTag(shop);
    const { snippet } = await shop.configure({ controller_name: 'Example Shop Ltd', purposes: ['resolution'] });
    const script = snippet.match(/src="([^"]+)"/)![1];
    await page.goto(await shop.put('/', { snippet: shop.pixel.immediate }));
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.evaluate(async (src) => {
      const inline = document.createElement('script');
      inline.text = await (await fetch(src)).text();
      document.head.append(inline);
    }, script);
    await expect(popup(page).banner).toBeVisible();
    await release();
    await settle(page);
    expect(await tagRuns(page)).toBe(0);
  });
});
