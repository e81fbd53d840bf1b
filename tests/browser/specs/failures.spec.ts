import { Page, Route } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { acceptAll, expect, popup, settle, Shop, state, stored, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';
import { configureConsent, PLAIN_POLICY, readLog } from '../support/integrator';
import { delayChoice, dropResponses, sentChoices } from '../support/requests';
import { startService } from '../support/service';

const CORS = { 'Access-Control-Allow-Origin': '*' };
const json = (status: number, body: unknown) => (route: Route) =>
  route.fulfill({ status, headers: CORS, contentType: 'application/json', body: JSON.stringify(body) });
const text = (status: number, body: string) => (route: Route) => route.fulfill({ status, headers: CORS, body });

/** The entry that an acceptance without an answer leaves: the time it was sent, so that a refusal soon after it is sent twice. */
const pendingOnly = (shop: Shop) => ({ [`assent:${shop.pixel.id}+`]: expect.stringMatching(/^\d{13}$/) });

/** The page still works: its own script handles clicks, and identification was not loaded. */
const expectUnharmed = async (page: Page, shop: Shop): Promise<void> => {
  await page.evaluate(() => {
    document.getElementById('page-button')!.onclick = () => (document.title = 'bought');
  });
  await page.locator('#page-button').click();
  expect(await page.title()).toBe('bought');
  await settle(page);
  expect(await shop.tagLoads()).toBe(0);
};

test.describe('without a recorded acceptance there is no identification', () => {
  const responses: [string, (route: Route, shop: Shop) => unknown][] = [
    ['is not found', text(404, 'not found')],
    ['fails', text(500, 'internal error')],
    ['has reached a limit', text(429, '')],
    ['ignores the choice', (route) => route.fulfill({ status: 204, headers: CORS })],
    ['knows another site', json(403, { recorded: false, reason: 'site_mismatch', domain: 'other.example' })],
    ['answers nonsense', text(202, '<html>')],
    ['answers with an empty body', text(202, '')],
    ['answers null', json(202, null)],
    ['has not recorded', json(202, { recorded: false })],
    ['has recorded without a receipt', (route, shop) => json(202, { recorded: true, policy_version_hash: shop.policy.policy_hash, purposes: ['resolution'] })(route)],
    ['has recorded another policy', json(202, { recorded: true, receipt_id: 'r', policy_version_hash: 'f'.repeat(64), purposes: ['resolution'] })],
    ['answers 200 where 202 is due', (route, shop) => json(200, { recorded: true, receipt_id: 'r', policy_version_hash: shop.policy.policy_hash, purposes: ['resolution'] })(route)],
  ];
  const failures: [string, (route: Route) => unknown][] = [
    ['cannot be reached', (route) => route.abort('connectionrefused')],
    ['is blocked by an ad-blocker', (route) => route.abort('blockedbyclient')],
  ];
  test('whatever else the service answers', async ({ page, shop }) => {
    let answer = responses[0][1];
    await page.route('**/v1/consent/record', (route) => answer(route, shop));
    await page.goto(await shop.put('/'));
    await popup(page).accept.click();
    await expect(popup(page).failed).toBeVisible();
    for (const [what, next] of [...responses, ...failures]) {
      answer = next;
      expect(await page.evaluate(() => (window as any).assent.accept()), `the service ${what}`).toBe(false);
      expect((await state(page)).state, `the service ${what}`).toBeNull();
      const answered = responses.some(([other]) => other === what);
      expect(await stored(page), `the service ${what}`).toEqual(answered ? {} : pendingOnly(shop));
      await expect(popup(page).banner).toBeVisible();
    }
    await expectUnharmed(page, shop);
  });

  test('and the visitor can try again without creating a second receipt', async ({ page, shop }) => {
    const stopDropping = await dropResponses(shop, 'accepted');
    await page.goto(await shop.put('/'));
    await popup(page).accept.click();
    await expect(popup(page).failed).toBeVisible();
    await stopDropping();
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    const ids = (await sentChoices(shop)).map(({ choice_id }) => choice_id);
    expect(ids.length).toBeGreaterThan(1);
    expect(new Set(ids).size).toBe(1);
    expect(await readLog(shop.base, shop.pixel)).toHaveLength(1);
  });

  test('and an acceptance by another user action is a new one', async ({ page, shop }) => {
    // With the id of the first acceptance, the visitor's press would count as that of a script.
    const stopDropping = await dropResponses(shop, 'accepted');
    await page.goto(await shop.put('/'));
    expect(await page.evaluate(() => (window as any).assent.accept())).toBe(false);
    await stopDropping();
    await acceptAll(page);
    const log = await readLog(shop.base, shop.pixel);
    expect(log.map((event) => (event as any).shown.act)).toEqual(['pointer', 'page']);
  });

  test('and an acceptance after a refusal in between is a new one', async ({ page, shop }) => {
    // With the id of the first acceptance, the service would return the first receipt, and the refusal would stay the latest.
    const stopDropping = await dropResponses(shop, 'accepted');
    await page.goto(await shop.put('/'));
    await popup(page).accept.click();
    await expect(popup(page).failed).toBeVisible();
    await stopDropping();
    await popup(page).decline.click();
    await expect(popup(page).banner).toBeHidden();
    expect(await page.evaluate(() => (window as any).assent.accept())).toBe(true);
    const log = await readLog(shop.base, shop.pixel);
    expect(log.map((event) => event.consent_state)).toEqual(['accepted', 'declined', 'accepted']);
  });

  test('when only some purposes were recorded, only those are granted', async ({ page, shop }) => {
    await page.route('**/v1/consent/record', (route) =>
      json(202, { recorded: true, receipt_id: 'r', policy_version_hash: shop.policy.policy_hash, purposes: ['analytics', 'newsletter'] })(route),
    );
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    expect((await state(page)).purposes).toEqual(['analytics']);
    await expectUnharmed(page, shop);
  });
});

test.describe('identification needs a confirmation for this host', () => {
  const responses: [string, (route: Route) => unknown][] = [
    ['names no pixel', json(200, { pixel_id: null })],
    ['names another pixel', json(200, { pixel_id: 'another' })],
    ['fails', text(500, '')],
    ['is not found', text(404, '')],
    ['answers nonsense', text(200, 'yes')],
    ['cannot be reached', (route) => route.abort()],
  ];
  test('it does not load whatever else the service answers', async ({ page, shop }) => {
    let requests = 0;
    let answer = responses[0][1];
    await page.route('**/tag-pixel?*', (route) => {
      requests++;
      return answer(route);
    });
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    for (const [i, [what, next]] of responses.entries()) {
      await expect.poll(() => requests, { message: `the service ${what}` }).toBe(i + 1);
      await page.waitForTimeout(100);
      expect(await shop.tagLoads(), `the service ${what}`).toBe(0);
      answer = (responses[i + 1] || [what, next])[1];
      await page.reload();
      await expect(popup(page).wayBack).toBeVisible();
      expect((await state(page)).state, 'the choice itself is recorded').toBe('accepted');
    }
    await expectUnharmed(page, shop);
  });
});

test.describe('a slow service', () => {
  test('does not delay the page, and a refusal overrules a pending acceptance', async ({ page, shop }) => {
    const { release } = await delayChoice(shop, 'accepted');
    await page.goto(await shop.put('/'));
    const elements = popup(page);
    await elements.accept.click();
    await expectUnharmed(page, shop);
    await elements.decline.click();
    await expect(elements.banner).toBeHidden();
    await release();
    await expect.poll(async () => (await readLog(shop.base, shop.pixel)).map((event) => event.consent_state)).toEqual(['declined', 'accepted']);
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
    expect((await state(page)).state).toBe('declined');
  });

  test('counts as failed after the timeout', async ({ page, shop }) => {
    await page.clock.install();
    await page.route('**/v1/consent/record', () => {});
    await page.goto(await shop.put('/'));
    await popup(page).accept.click();
    await page.clock.fastForward(9_000);
    await expect(popup(page).failed).toBeVisible();
    expect(await stored(page)).toEqual(pendingOnly(shop));
    expect(await shop.tagLoads()).toBe(0);
  });

  test('loads no identification when the answer about the host arrives after a withdrawal', async ({ page, shop }) => {
    let answer: () => void = () => {};
    await page.route('**/tag-pixel?*', async (route) => {
      await new Promise<void>((done) => (answer = done));
      await route.continue();
    });
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await page.evaluate(() => (window as any).assent.withdraw());
    answer();
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
  });
});

test('a service that stops after the page has loaded does not affect the page', async ({ page, shop }) => {
  const second = await startService({
    databaseUrl: process.env[ENVIRONMENT.databaseUrl]!,
    cdnBase: `http://127.0.0.1:${process.env[ENVIRONMENT.sitesPort]}`,
  });
  try {
    const { snippet } = await configureConsent(second.base, shop.pixel, PLAIN_POLICY);
    await page.goto(await shop.put('/', { snippet }));
    await expect(popup(page).banner).toBeVisible();
  } finally {
    await second.stop();
  }
  await popup(page).accept.click();
  await expect(popup(page).failed).toBeVisible();
  await expectUnharmed(page, shop);
  await popup(page).decline.click();
  await expect(popup(page).banner).toBeHidden();
  expect((await state(page)).state).toBe('declined');
});

test.describe('a refusal is in force whatever the network does', () => {
  test('offline, it is stored, and recorded once later', chromiumOnly(LACKS.offline), async ({ page, shop, context }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await context.setOffline(true);
    await popup(page).decline.click();
    await expect(popup(page).banner).toBeHidden();
    expect((await state(page)).state).toBe('declined');
    await context.setOffline(false);
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await expect(popup(page).banner).toBeHidden();
    await expect.poll(async () => (await readLog(shop.base, shop.pixel)).length).toBe(1);
    await page.reload();
    await settle(page);
    expect(await readLog(shop.base, shop.pixel)).toHaveLength(1);
    expect(await shop.tagLoads()).toBe(0);
  });

  test('a withdrawal takes effect although it cannot be recorded', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.route('**/v1/consent/record', (route) => route.abort());
    await popup(page).wayBack.click();
    await popup(page).withdraw.click();
    expect((await state(page)).state).toBe('withdrawn');
    await page.unroute('**/v1/consent/record');
    await page.reload();
    await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0].consent_state).toBe('withdrawn');
    expect(await shop.tagLoads()).toBe(1);
  });

  test('a purpose that was switched off stays off when the rest cannot be recorded', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await page.route('**/v1/consent/record', (route) => route.abort());
    await popup(page).wayBack.click();
    await popup(page).purpose('Recognising you').uncheck();
    await popup(page).save.click();
    await expect(popup(page).failed).toBeVisible();
    expect((await state(page)).purposes).toEqual(['analytics']);
    await page.reload();
    await expect.poll(async () => (await state(page)).purposes).toEqual(['analytics']);
  });
});

test.describe('storage', () => {
  test('that is blocked limits a choice to its page', async ({ page, shop }) => {
    await page.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage']) {
        Object.defineProperty(window, name, {
          get() {
            throw new DOMException('denied', 'SecurityError');
          },
        });
      }
    });
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.reload();
    await expect(popup(page).banner).toBeVisible();
    await popup(page).decline.click();
    await expect(popup(page).banner).toBeHidden();
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);
  });

  /** Makes methods of storage throw, or do nothing, from now on. */
  const breakStorage = ([methods, silently]: [string[], boolean]): void => {
    for (const method of methods) {
      (Storage.prototype as any)[method] = () => {
        if (!silently) throw new DOMException('full', 'QuotaExceededError');
      };
    }
  };
  const storageFailures: [string, string[], boolean][] = [
    ['throws when writing', ['setItem'], false],
    ['writes nothing', ['setItem'], true],
    ['neither writes nor removes', ['setItem', 'removeItem', 'clear'], false],
  ];
  for (const [what, methods, silently] of storageFailures) {
    test(`that contains an acceptance and ${what} does not keep it after a refusal`, async ({ page, shop }) => {
      await page.goto(await shop.put('/'));
      await acceptAll(page);
      await expect.poll(() => shop.tagLoads()).toBe(1);
      await page.addInitScript(breakStorage, [methods, silently] as [string[], boolean]);
      await page.evaluate(breakStorage, [methods, silently] as [string[], boolean]);
      await page.evaluate(() => (window as any).assent.withdraw());
      expect((await state(page)).state).toBe('withdrawn');
      await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0].consent_state).toBe('withdrawn');
      await page.reload();
      await expect(popup(page).banner).toBeVisible();
      await settle(page);
      expect((await state(page)).state).toBeNull();
      expect(await shop.tagLoads()).toBe(1);
    });
  }

  test('that is full replaces the acceptance by the refusal', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.evaluate(() => {
      for (let size = 1 << 22; size; size >>= 1) {
        try {
          for (;;) localStorage.setItem(`filler ${Math.random()}`, 'x'.repeat(size));
        } catch {}
      }
    });
    await page.evaluate(() => (window as any).assent.withdraw());
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    expect((await state(page)).state).toBe('withdrawn');
    expect(await shop.tagLoads()).toBe(1);
  });

  const day = 24 * 3600e3;
  const storedChoices: [string, (hash: string) => unknown][] = [
    ['is not JSON', () => '{'],
    ['is something else', () => [1]],
    ['has no receipt', (hash) => ({ visitor: 'v', state: 'accepted', purposes: ['resolution'], hash, time: Date.now(), id: 'i' })],
    ['has no purposes', (hash) => ({ visitor: 'v', state: 'accepted', hash, time: Date.now(), id: 'i', receipt: 'r' })],
    ['names a strange visitor', (hash) => ({ visitor: '<b>', state: 'accepted', purposes: ['resolution'], hash, time: Date.now(), id: 'i', receipt: 'r' })],
    ['is about another policy', () => ({ visitor: 'v', state: 'accepted', purposes: ['resolution'], hash: 'f', time: Date.now(), id: 'i', receipt: 'r' })],
    ['comes from the future', (hash) => ({ visitor: 'v', state: 'accepted', purposes: ['resolution'], hash, time: Date.now() + day, id: 'i', receipt: 'r' })],
    ['has no time', (hash) => ({ visitor: 'v', state: 'accepted', purposes: ['resolution'], hash, id: 'i', receipt: 'r' })],
    ['is older than six months', (hash) => ({ visitor: 'v', state: 'accepted', purposes: ['resolution'], hash, time: Date.now() - 184 * day, id: 'i', receipt: 'r' })],
  ];
  test('that contains no complete and current acceptance permits nothing, and the visitor is asked', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    for (const [what, make] of storedChoices) {
      const value = make(shop.policy.policy_hash);
      await page.evaluate(
        ([key, text]) => localStorage.setItem(key, text),
        [`assent:${shop.pixel.id}`, typeof value === 'string' ? value : JSON.stringify(value)],
      );
      await page.reload();
      await expect(popup(page).banner, what).toBeVisible();
      expect((await state(page)).state, what).toBeNull();
      expect(await shop.tagLoads(), what).toBe(0);
    }
    await expectUnharmed(page, shop);
  });

  test('keeps an acceptance for almost six months', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.clock.setFixedTime(Date.now() + 180 * day);
    await page.reload();
    await expect.poll(() => shop.tagLoads()).toBe(2);
    await page.clock.setFixedTime(Date.now() + 183 * day);
    await page.reload();
    await expect(popup(page).banner).toBeVisible();
    expect(await shop.tagLoads()).toBe(2);
  });

  test('changes of another tab are applied at once', async ({ page, shop, context }) => {
    const url = await shop.put('/');
    await page.goto(url);
    await expect(popup(page).banner).toBeVisible();
    const other = await context.newPage();
    await other.goto(url);
    await acceptAll(other);
    await expect(popup(page).banner).toBeHidden();
    await expect.poll(async () => (await state(page)).state).toBe('accepted');
    await other.evaluate(() => (window as any).assent.withdraw());
    await expect.poll(async () => (await state(page)).state).toBe('withdrawn');
  });
});

test.describe('special pages', () => {
  test('a page from the back/forward cache applies a withdrawal of a later page', chromiumOnly(LACKS.historyBack), async ({ page, shop }) => {
    const first = await shop.put('/', {
      body: '<h1>First</h1><script>addEventListener("pageshow", (e) => (window.cached = e.persisted))</script>',
    });
    const second = await shop.put('/second');
    await page.goto(first);
    await acceptAll(page);
    // Browsers do not cache a page that is still loading something.
    await expect.poll(() => page.evaluate(() => (window as any).tagLoads)).toBe(1);
    await page.goto(second);
    await expect(popup(page).wayBack).toBeVisible();
    await page.evaluate(() => (window as any).assent.withdraw());
    await page.evaluate(() => history.back());
    await expect(page.locator('h1')).toHaveText('First');
    await expect.poll(() => page.evaluate(() => (window as any).cached), 'the page came from the cache').toBe(true);
    await expect.poll(async () => (await state(page)).state).toBe('withdrawn');
  });

  test('a prerendered page shows, sends and loads nothing until it is activated', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.addInitScript(() => {
      (window as any).prepared = true;
      Object.defineProperty(document, 'prerendering', { get: () => (window as any).prepared });
    });
    await page.reload();
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);
    expect((await state(page)).state).toBeNull();
    await page.evaluate(() => {
      (window as any).prepared = false;
      document.dispatchEvent(new Event('prerenderingchange'));
    });
    await expect.poll(() => shop.tagLoads()).toBe(2);
  });

  test('a blocked consent tag does not affect the page, and gated scripts do not run', async ({ page, shop }) => {
    await page.route('**/px/*.js', (route) => route.abort('blockedbyclient'));
    await page.goto(
      await shop.put('/', {
        head: '<script>window.assent = window.assent || function () { (assent.q = assent.q || []).push(arguments) }; assent("track", "viewed_product", {})</script>',
        body: '<button id="page-button">Buy</button><script type="text/plain" data-assent="analytics">window.ran = 1</script>',
      }),
    );
    await expectUnharmed(page, shop);
    expect(await page.evaluate(() => (window as any).ran)).toBeUndefined();
  });

  test('two consent tags on one page ask once', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: shop.policy.snippet }));
    await expect(popup(page).banner).toHaveCount(1);
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);
    expect(await readLog(shop.base, shop.pixel)).toHaveLength(1);
  });

  test('a page of another site gets no identification', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { host: `stranger-${shop.pixel.host}` }));
    await popup(page).accept.click();
    await expect(popup(page).failed).toBeVisible();
    await expectUnharmed(page, shop);
    expect(await readLog(shop.base, shop.pixel)).toEqual([]);
  });
});
