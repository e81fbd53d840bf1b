import { Page, Route } from '@playwright/test';
import { acceptAll, returnToTab, expect, popup, sendGpc, settle, Shop, state, stored, switchGpcOn, test, watchRequests } from '../support/fixtures';
import { checkConsent, readLog } from '../support/integrator';
import { dropResponses, sentChoices } from '../support/requests';

/** Global Privacy Control in a browser with an acceptance: it is withdrawn once, and nothing is sent after that. */

const RECORD = '**/v1/consent/record';
const CORS = { 'Access-Control-Allow-Origin': '*' };

const states = async (shop: Shop): Promise<string[]> =>
  (await readLog(shop.base, shop.pixel)).map(({ consent_state }) => consent_state);

/** Accepts on a new page, and waits for identification. */
const accept = async (page: Page, shop: Shop): Promise<void> => {
  await page.goto(await shop.put('/'));
  await acceptAll(page);
  await expect.poll(() => shop.tagLoads()).toBe(1);
};

const expectForgotten = async (page: Page): Promise<void> => {
  await expect.poll(async () => Object.keys(await stored(page)).filter((key) => key.startsWith('assent:'))).toEqual([]);
  await expect.poll(async () => (await state(page)).visitor).toBeNull();
};

const expectNoRequests = async (page: Page, shop: Shop): Promise<void> => {
  const requests = watchRequests(page);
  await page.goto(await shop.put('/silence'));
  await page.waitForFunction(() => (window as any).assent?.get);
  await page.waitForTimeout(700);
  expect(requests).toEqual(['GET /silence', `GET /px/${shop.pixel.id}.js`]);
};

test.describe('after an acceptance', () => {
  test('nothing loads, one withdrawal is recorded, and the visitor is forgotten', async ({ page, shop }) => {
    await accept(page, shop);
    const { visitor } = await state(page);
    await sendGpc(page);
    await page.goto(await shop.put('/next', { body: '<h1>x</h1><script type="text/plain" data-assent="analytics">window.ran = 1</script>' }));
    await expect.poll(() => states(shop)).toEqual(['withdrawn', 'accepted']);
    await expectForgotten(page);
    const [accepted, ...others] = await sentChoices(shop);
    expect(accepted.consent).toBe('accepted');
    expect(others).toHaveLength(1);
    expect(others[0]).toMatchObject({ consent: 'withdrawn', visitor_id: visitor, gpc: false, purposes: [] });
    expect(await state(page)).toMatchObject({ state: 'declined', gpc: true, purposes: [] });
    expect(await checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({ permitted: false, reason: 'declined_or_withdrawn' });
    await expectNoRequests(page, shop);
    expect(await shop.tagLoads()).toBe(1);
    expect(await page.evaluate(() => (window as any).ran)).toBeUndefined();
    expect(await states(shop)).toEqual(['withdrawn', 'accepted']);
  });

  test('entries of the identification tag are removed too', async ({ page, shop }) => {
    await accept(page, shop);
    await expect.poll(async () => (await stored(page)).cookie).toContain('tag_id');
    await sendGpc(page);
    await page.reload();
    await expect.poll(() => stored(page)).toEqual({});
  });

  const answerWith = (page: Page, answer: (route: Route) => Promise<void>): Promise<void> => page.route(RECORD, answer);
  const failures: [string, (page: Page, shop: Shop) => Promise<(() => Promise<void>) | void>][] = [
    ['the network is down', (page) => answerWith(page, (route) => route.abort('connectionrefused'))],
    ['the service fails', (page) => answerWith(page, (route) => route.fulfill({ status: 500, headers: CORS }))],
    ['the service has reached a limit', (page) => answerWith(page, (route) => route.fulfill({ status: 429, headers: CORS }))],
    ['the answer is lost', (_page, shop) => dropResponses(shop, 'withdrawn')],
  ];
  for (const [what, fail] of failures) {
    test(`when ${what}, the next page sends the same withdrawal again`, async ({ page, shop }) => {
      await accept(page, shop);
      const { visitor } = await state(page);
      await sendGpc(page);
      const restore = await fail(page, shop);
      await page.reload();
      await settle(page);
      expect(await state(page)).toMatchObject({ state: 'withdrawn', purposes: [], visitor });
      expect(await stored(page)).toEqual({ [`assent:${shop.pixel.id}`]: expect.stringContaining('"state":"withdrawn"') });
      await page.unroute(RECORD);
      await restore?.();
      await page.goto(await shop.put('/next'));
      await expect.poll(() => states(shop)).toEqual(['withdrawn', 'accepted']);
      await expectForgotten(page);
      await expectNoRequests(page, shop);
      expect(await states(shop)).toEqual(['withdrawn', 'accepted']);
      expect(await shop.tagLoads()).toBe(1);
    });
  }

  const finalAnswers: [number, string][] = [
    [204, ''],
    [403, '{"recorded":false,"reason":"site_mismatch","domain":"other.example"}'],
  ];
  for (const [status, body] of finalAnswers) {
    test(`the visitor is also forgotten when the service answers ${status}`, async ({ page, shop }) => {
      await accept(page, shop);
      await sendGpc(page);
      await page.route(RECORD, (route) => route.fulfill({ status, headers: CORS, body }));
      await page.reload();
      await expectForgotten(page);
      await expectNoRequests(page, shop);
    });
  }

  test('an acceptance of an earlier policy is withdrawn too', async ({ page, shop }) => {
    await accept(page, shop);
    await shop.configure({ controller_name: 'Example Shop Ltd', purposes: ['analytics'] });
    await sendGpc(page);
    await page.reload();
    await expect.poll(() => states(shop)).toEqual(['withdrawn', 'accepted']);
    await expectForgotten(page);
  });

  test('a later refusal that the service has not recorded is still sent', async ({ page, shop }) => {
    await accept(page, shop);
    await page.route(RECORD, (route) => route.abort());
    let failedRequests = 0;
    page.on('requestfailed', () => failedRequests++);
    await page.evaluate(() => (window as any).assent.decline());
    // One request with `keepalive`, and one without.
    await expect.poll(() => failedRequests).toBe(2);
    await page.unroute(RECORD);
    await sendGpc(page);
    await page.goto(await shop.put('/next'));
    await expect.poll(() => states(shop)).toEqual(['withdrawn', 'accepted']);
    await expectForgotten(page);
  });

  test('two tabs create one withdrawal', async ({ context, shop }) => {
    const url = await shop.put('/');
    const [one, other] = [await context.newPage(), await context.newPage()];
    for (const tab of [one, other]) await tab.goto(url);
    await acceptAll(one);
    await expect.poll(async () => (await state(other)).state).toBe('accepted');
    const routes: Route[] = [];
    for (const tab of [one, other]) {
      await tab.route(RECORD, (route) => void routes.push(route));
      await switchGpcOn(tab);
    }
    await Promise.all([one, other].map(returnToTab));
    await expect.poll(() => routes.length).toBe(2);
    for (const route of routes) await route.continue();
    for (const tab of [one, other]) {
      await tab.unroute(RECORD);
      await expectForgotten(tab);
      await returnToTab(tab);
    }
    await settle(one);
    expect(await states(shop)).toEqual(['withdrawn', 'accepted']);
  });

  test('switched on while a page is open, it blocks later frames at once, and is applied when the visitor returns', async ({ page, shop }) => {
    await accept(page, shop);
    await switchGpcOn(page);
    await page.evaluate(() => {
      document.body.insertAdjacentHTML('beforeend', '<iframe data-assent="analytics" data-src="about:blank#loaded"></iframe>');
    });
    await settle(page);
    expect(await page.evaluate(() => document.querySelector('iframe')!.src)).toBe('');
    await returnToTab(page);
    await expect.poll(() => states(shop)).toEqual(['withdrawn', 'accepted']);
    await expectForgotten(page);
  });

  test('switched on while a page is open, it hides a frame that was wanted once before', async ({ page, shop }) => {
    const body = '<h1>x</h1><iframe data-assent="resolution" data-src="about:blank#loaded" title="Video"></iframe>';
    await page.goto(await shop.put('/', { body }));
    await page.evaluate(() => (window as any).assent.accept(['analytics']));
    const once = page.frameLocator('iframe').getByRole('button', { name: 'Show once' });
    await once.click();
    await expect(page.locator('iframe')).toHaveAttribute('src', 'about:blank#loaded');
    await switchGpcOn(page);
    await returnToTab(page);
    await expect(page.locator('iframe')).not.toHaveAttribute('src', 'about:blank#loaded');
    // Under the signal a frame can still be shown once.
    await once.click();
    await expect(page.locator('iframe')).toHaveAttribute('src', 'about:blank#loaded');
  });

  test('switched off again, the visitor is asked as a new visitor', async ({ page, shop, context }) => {
    await accept(page, shop);
    const { visitor } = await state(page);
    await switchGpcOn(page);
    await returnToTab(page);
    await expectForgotten(page);
    const next = await context.newPage();
    await next.goto(await shop.put('/'));
    await acceptAll(next);
    expect((await state(next)).visitor).not.toBe(visitor);
  });
});

test.describe('without an acceptance', () => {
  test('an earlier refusal is not sent', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await page.route(RECORD, (route) => route.abort());
    let failedRequests = 0;
    page.on('requestfailed', () => failedRequests++);
    await popup(page).decline.click();
    // One request with `keepalive`, and one without.
    await expect.poll(() => failedRequests).toBe(2);
    await page.unroute(RECORD);
    await sendGpc(page);
    await expectNoRequests(page, shop);
    expect(await states(shop)).toEqual([]);
  });

  test('withdraw() sends and stores nothing, with the signal or without', async ({ page, shop }) => {
    const requests = watchRequests(page);
    const url = await shop.put('/');
    for (const prepare of [async () => {}, () => sendGpc(page)]) {
      await prepare();
      await page.goto(url);
      await page.waitForFunction(() => (window as any).assent?.get);
      await page.evaluate(() => (window as any).assent.withdraw());
      await settle(page);
      expect(await stored(page)).toEqual({});
    }
    expect(requests.filter((request) => request.includes('/consent/'))).toEqual([]);
  });

  test('the small button stays, and its dialog shows that the signal is honoured', async ({ page, shop }) => {
    await sendGpc(page);
    await page.goto(await shop.put('/'));
    await popup(page).wayBack.click();
    await expect(popup(page).banner).toContainText('It is honoured here');
    await expect(page.getByRole('link', { name: 'Your data' })).toHaveCount(0);
    await page.keyboard.press('Escape');
    await expect(popup(page).banner).toBeHidden();
    await expect(popup(page).wayBack).toBeFocused();
    expect(await stored(page)).toEqual({});
  });
});
