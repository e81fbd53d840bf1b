import { Page, Route } from '@playwright/test';
import { acceptAll, returnToTab, expect, popup, settle, Shop, state, stored, test, watchRequests } from '../support/fixtures';
import { readLog } from '../support/integrator';

/** The link to the visitor's own page, and the effects of a withdrawal there. */

const CHECK = '**/v1/consent/check?*';
const CORS = { 'Access-Control-Allow-Origin': '*' };

const link = (page: Page) => page.getByRole('link', { name: 'Your data' });

const accept = async (page: Page, shop: Shop): Promise<void> => {
  await page.goto(await shop.put('/'));
  await acceptAll(page);
  await expect.poll(() => shop.tagLoads()).toBe(1);
};

const DAY_MS = 86_400_000;

/** Stores the entry of a visitor who opened the page of their data, by default two days ago. */
const setOpened = (page: Page, shop: Shop, agoMs = 2 * DAY_MS): Promise<void> =>
  page.evaluate(([key, time]) => localStorage.setItem(key, time), [`assent:${shop.pixel.id}?`, `${Date.now() - agoMs}`]);

const hasOpenedEntry = async (page: Page, shop: Shop): Promise<boolean> => `assent:${shop.pixel.id}?` in (await stored(page));

const storedChoice = async (page: Page, shop: Shop): Promise<any> =>
  JSON.parse((await stored(page))[`assent:${shop.pixel.id}`] || 'null');

/** Records a choice of this visitor without the site's page. */
const recordElsewhere = async (shop: Shop, visitor: string, consent: string): Promise<void> => {
  const body = { pixel_id: shop.pixel.id, visitor_id: visitor, url: shop.origin, consent };
  const { status } = await fetch(`${shop.base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(body) });
  expect(status).toBe(202);
};

test.describe('"Your data" in the reopened popup', () => {
  test('opens the visitor’s page in a new tab without a referrer, and stores that it was opened', async ({ page, shop, context }) => {
    await accept(page, shop);
    const { visitor } = await state(page);
    await popup(page).wayBack.click();
    const address = `${shop.base}/your-data?lang=en#pixel=${shop.pixel.id}&visitor=${visitor}`;
    await expect(link(page)).toHaveAttribute('href', address);
    expect(await hasOpenedEntry(page, shop)).toBe(false);
    let referrer: string | undefined = 'none was asked for';
    await context.route('**/your-data?*', (route) => {
      referrer = route.request().headers().referer;
      return route.fulfill({ contentType: 'text/html', body: '<title>Data</title>' });
    });
    const opened = context.waitForEvent('page');
    await link(page).click();
    const data = await opened;
    await expect(data).toHaveURL(address);
    expect(referrer).toBeUndefined();
    expect(await data.evaluate(() => [window.opener, document.referrer])).toEqual([null, '']);
    expect(await hasOpenedEntry(page, shop)).toBe(true);
  });

  test('also stores that it was opened with the middle button', async ({ page, shop, context }) => {
    await accept(page, shop);
    await popup(page).wayBack.click();
    const opened = context.waitForEvent('page');
    await link(page).click({ button: 'middle' });
    await opened;
    expect(await hasOpenedEntry(page, shop)).toBe(true);
  });

  test('is shown after a refusal, and not before a choice', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).choose.click();
    await expect(popup(page).preferences).toBeVisible();
    await expect(link(page)).toHaveCount(0);
    await popup(page).declineAll.click();
    await popup(page).wayBack.click();
    await expect(link(page)).toBeVisible();
  });
});

test('a withdrawal on that page is applied on the open page of the site and on the next', async ({ page, shop, context }) => {
  await accept(page, shop);
  await popup(page).wayBack.click();
  const opened = context.waitForEvent('page');
  await link(page).click();
  const data = await opened;
  await data.getByRole('button', { name: 'Withdraw my consent' }).click();
  await expect(data.locator('#state')).toContainText('You have withdrawn your consent.');
  await data.close();
  await returnToTab(page);
  await expect.poll(async () => (await state(page)).state).toBe('withdrawn');
  await page.reload();
  await expect(popup(page).wayBack).toBeVisible();
  await settle(page);
  expect((await state(page)).state).toBe('withdrawn');
  expect(await shop.tagLoads()).toBe(1);
  expect((await readLog(shop.base, shop.pixel)).map(({ consent_state }) => consent_state)).toEqual(['withdrawn', 'accepted']);
});

test.describe('a browser that has opened the page', () => {
  test('asks the service once, before anything loads', async ({ page, shop }) => {
    await accept(page, shop);
    await setOpened(page, shop);
    const requests = watchRequests(page);
    await page.reload();
    await expect.poll(() => shop.tagLoads()).toBe(2);
    const requested = (): string[] => requests.filter((request) => /consent\/check|tag-pixel/.test(request));
    await expect.poll(requested).toEqual(['GET /v1/consent/check', 'GET /external_api/install-pixel/tag-pixel']);
    expect(await hasOpenedEntry(page, shop)).toBe(false);
    expect((await state(page)).state).toBe('accepted');
    requests.length = 0;
    await page.reload();
    await expect.poll(() => shop.tagLoads()).toBe(3);
    expect(requests).not.toContain('GET /v1/consent/check');
  });

  test('asks on every page for a day, because the page may still be open', async ({ page, shop }) => {
    await accept(page, shop);
    const { visitor } = await state(page);
    await setOpened(page, shop, 0);
    for (const loads of [2, 3]) {
      const requested = page.waitForRequest(CHECK);
      await page.reload();
      await requested;
      await expect.poll(() => shop.tagLoads()).toBe(loads);
      expect(await hasOpenedEntry(page, shop)).toBe(true);
    }
    await recordElsewhere(shop, visitor, 'withdrawn');
    await page.reload();
    await expect.poll(async () => (await state(page)).state).toBe('withdrawn');
    expect(await shop.tagLoads()).toBe(3);
  });

  const failures: [string, (route: Route) => unknown][] = [
    ['does not answer', () => {}],
    ['cannot be reached', (route) => route.abort()],
    ['fails', (route) => route.fulfill({ status: 500, headers: CORS })],
    ['has reached a limit', (route) => route.fulfill({ status: 429, headers: CORS })],
    ['answers nonsense', (route) => route.fulfill({ status: 200, headers: CORS, body: '<html>' })],
  ];
  for (const [what, answer] of failures) {
    test(`loads nothing and shows no banner while the service ${what}, and continues after an answer`, async ({ page, shop }) => {
      await accept(page, shop);
      await setOpened(page, shop);
      await page.route(CHECK, answer);
      await page.goto(await shop.put('/next', { body: '<h1>x</h1><script type="text/plain" data-assent="analytics">window.ran = 1</script>' }));
      await expect(popup(page).wayBack).toBeVisible();
      await settle(page);
      await expect(popup(page).banner).toBeHidden();
      expect(await state(page)).toMatchObject({ state: null, purposes: [] });
      expect(await page.evaluate(() => (window as any).ran)).toBeUndefined();
      expect(await shop.tagLoads()).toBe(1);
      expect(await hasOpenedEntry(page, shop)).toBe(true);
      await page.unroute(CHECK);
      await returnToTab(page);
      await expect.poll(() => shop.tagLoads()).toBe(2);
      expect(await page.evaluate(() => (window as any).ran)).toBe(1);
      expect(await hasOpenedEntry(page, shop)).toBe(false);
    });
  }

  test('applies a withdrawal made elsewhere, and does not record it again', async ({ page, shop }) => {
    await accept(page, shop);
    const { visitor } = await state(page);
    await setOpened(page, shop);
    await recordElsewhere(shop, visitor, 'withdrawn');
    const requests = watchRequests(page);
    await page.reload();
    await expect.poll(async () => (await state(page)).state).toBe('withdrawn');
    expect(await storedChoice(page, shop)).toMatchObject({ visitor, state: 'withdrawn', purposes: [] });
    expect(await hasOpenedEntry(page, shop)).toBe(false);
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await settle(page);
    expect((await state(page)).state).toBe('withdrawn');
    await expect(popup(page).banner).toBeHidden();
    expect(requests).not.toContain('POST /v1/consent/record');
    expect(await shop.tagLoads()).toBe(1);
    expect(await readLog(shop.base, shop.pixel)).toHaveLength(2);
  });

  test('stops on an open page as soon as the visitor returns to it', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: '<h1>x</h1><iframe data-assent="analytics" data-src="about:blank#loaded"></iframe>' }));
    await acceptAll(page);
    const source = () => page.evaluate(() => document.querySelector('iframe')!.src);
    await expect.poll(source).toBe('about:blank#loaded');
    const { visitor } = await state(page);
    await setOpened(page, shop);
    await recordElsewhere(shop, visitor, 'withdrawn');
    await returnToTab(page);
    await expect.poll(async () => (await state(page)).state).toBe('withdrawn');
    expect(await source()).toBe('');
  });

  test('is asked as a new visitor if the service does not know it', async ({ page, shop }) => {
    await accept(page, shop);
    const { visitor } = await state(page);
    await setOpened(page, shop);
    const body = JSON.stringify({ permitted: false, reason: 'no_consent_record' });
    await page.route(CHECK, (route) => route.fulfill({ headers: CORS, contentType: 'application/json', body }));
    await page.reload();
    await expect(popup(page).banner).toBeVisible();
    expect(Object.keys(await stored(page)).filter((key) => key.startsWith('assent:'))).toEqual([]);
    await acceptAll(page);
    expect((await state(page)).visitor).not.toBe(visitor);
  });

  test('keeps a refusal that is made during the request', async ({ page, shop }) => {
    await accept(page, shop);
    await setOpened(page, shop);
    let answer: () => void = () => {};
    await page.route(CHECK, async (route) => {
      await new Promise<void>((done) => (answer = done));
      await route.continue();
    });
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await page.evaluate(() => (window as any).assent.withdraw());
    answer();
    await settle(page);
    expect(await state(page)).toMatchObject({ state: 'withdrawn' });
    await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0].consent_state).toBe('withdrawn');
    expect(await shop.tagLoads()).toBe(1);
  });

  test('does not ask after a refusal', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).decline.click();
    await setOpened(page, shop);
    const requests = watchRequests(page);
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await settle(page);
    expect(requests).not.toContain('GET /v1/consent/check');
    expect((await state(page)).state).toBe('declined');
  });
});
