import { acceptAll, expect, popup, sendGpc, settle, state, test } from '../support/fixtures';
import { PLAIN_POLICY } from '../support/integrator';

/** The consent commands in the data layer, in order; `gtag` commands are `arguments` objects. */
const commands = (): any[] =>
  ((window as any).dataLayer || [])
    .filter((entry: any) => Object.prototype.toString.call(entry) === '[object Arguments]' && entry[0] === 'consent')
    .map((entry: any) => [entry[1], entry[2]]);

const DENIED = {
  ad_storage: 'denied',
  ad_user_data: 'denied',
  ad_personalization: 'denied',
  analytics_storage: 'denied',
  personalization_storage: 'denied',
  functionality_storage: 'denied',
  security_storage: 'denied',
};

const STUB =
  '<script>window.assent = window.assent || function () { (assent.q = assent.q || []).push(arguments) };</script>';

test.describe('Consent Mode', () => {
  test('is denied by default, updated after a choice, and updated on every later page', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    expect(await page.evaluate(commands)).toEqual([['default', DENIED]]);

    await popup(page).choose.click();
    await popup(page).purpose('Statistics').check();
    await popup(page).save.click();
    await expect(popup(page).saved).toBeVisible();
    const granted = { ...DENIED, analytics_storage: 'granted', functionality_storage: 'granted', security_storage: 'granted' };
    expect(await page.evaluate(commands)).toEqual([['default', DENIED], ['update', granted]]);

    await page.goto(await shop.put('/next'));
    await expect(popup(page).wayBack).toBeVisible();
    expect(await page.evaluate(commands)).toEqual([['default', DENIED], ['update', granted]]);

    await page.evaluate(() => (window as any).assent.withdraw());
    expect((await page.evaluate(commands)).at(-1)).toEqual(['update', DENIED]);
  });

  test('follows the commands of the page’s own stub, and grants nothing before the acceptance', async ({ page, shop }) => {
    await page.goto(
      await shop.put('/', {
        head: `<script>window.dataLayer = window.dataLayer || []; function gtag() { dataLayer.push(arguments) }
          gtag('consent', 'default', { ad_storage: 'denied', analytics_storage: 'denied', wait_for_update: 500 })</script>`,
      }),
    );
    await acceptAll(page);
    const all = await page.evaluate(commands);
    expect(all.map(([command]) => command)).toEqual(['default', 'default', 'update']);
    expect(all[2][1]).toMatchObject({ ad_storage: 'granted', analytics_storage: 'granted', ad_user_data: 'denied' });
  });

  test('stays denied after a decline and under Global Privacy Control', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).decline.click();
    await expect(popup(page).banner).toBeHidden();
    expect(await page.evaluate(commands)).toEqual([['default', DENIED], ['update', DENIED]]);
    await sendGpc(page);
    await page.reload();
    await settle(page);
    expect((await page.evaluate(commands)).flatMap(([, types]) => Object.values(types))).not.toContain('granted');
  });

  test('a broken data layer does not prevent the popup', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: '<script>window.dataLayer = Object.freeze([])</script>' }));
    await expect(popup(page).banner).toBeVisible();
  });
});

test.describe('window.assent', () => {
  test('notifies listeners and the document of every change, and of a stored choice', async ({ page, shop }) => {
    const head = `${STUB}<script>
      window.heard = [];
      assent('on', 'change', (now) => heard.push(['listener', now.state, now.purposes.length]));
      addEventListener('assent:change', (event) => heard.push(['event', event.detail.state, event.detail.purposes.length]));
    </script>`;
    await page.goto(await shop.put('/', { head }));
    await expect(popup(page).banner).toBeVisible();
    const heard = () => page.evaluate(() => (window as any).heard);
    expect(await heard()).toEqual([]);
    expect(await page.evaluate(() => (window as any).assent.accept(['analytics', 'unknown']))).toBe(true);
    await page.evaluate(() => (window as any).assent.withdraw());
    await page.evaluate(() => (window as any).assent.decline());
    expect(await heard()).toEqual([
      ['listener', 'accepted', 1],
      ['event', 'accepted', 1],
      ['listener', 'withdrawn', 0],
      ['event', 'withdrawn', 0],
      ['listener', 'declined', 0],
      ['event', 'declined', 0],
    ]);
    await page.reload();
    await expect.poll(heard).toEqual([
      ['listener', 'declined', 0],
      ['event', 'declined', 0],
    ]);
  });

  test('unsubscribes a listener, and continues after one that throws', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    const heard = await page.evaluate(async () => {
      const { assent } = window as any;
      const heard: string[] = [];
      assent.on('change', () => {
        throw new Error('the page’s own');
      });
      const off = assent.on('change', (now: any) => heard.push(now.state));
      await assent.decline();
      off();
      await assent.accept();
      return heard;
    });
    expect(heard).toEqual(['declined']);
  });

  test('accepts without a click; without a known purpose there is no acceptance', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    expect(await page.evaluate(() => (window as any).assent.accept(['resolution']))).toBe(true);
    expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['resolution'], gpc: false });
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await expect(popup(page).banner).toBeHidden();
    for (const nonsense of [[], ['telepathy'], 'resolution', { length: 1 }]) {
      expect(await page.evaluate((wanted) => (window as any).assent.accept(wanted), nonsense as any)).toBe(false);
    }
  });

  test('cannot be changed through what get() returns', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await page.evaluate(async () => {
      const { assent } = window as any;
      await assent.accept(['analytics']);
      assent.get().purposes.push('resolution');
      assent.get().state = 'withdrawn';
    });
    expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['analytics'] });
  });

  test('runs the calls that a stub has queued', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: `${STUB}<script>assent('open'); assent('nonsense'); assent()</script>` }));
    await expect(popup(page).preferences).toBeVisible();
  });
});

test.describe('assent("track", …)', () => {
  test('is queued until the tag has loaded, then passed on in order', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: `${STUB}<script>assent('track', 'viewed_product', { id: 1 })</script>` }));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate(() => (window as any).assent('track', 'add_to_cart', { id: 2 }));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.evaluate(() => (window as any).assent('track', 'checkout_completed', { id: 3 }));
    await expect
      .poll(() => page.evaluate(() => (window as any).tagHeard))
      .toEqual([
        ['track', 'viewed_product', { id: 1 }],
        ['track', 'add_to_cart', { id: 2 }],
        ['track', 'checkout_completed', { id: 3 }],
      ]);
  });

  test('is dropped after a decline, even if the visitor accepts later', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await page.evaluate(() => (window as any).assent('track', 'viewed_product', {}));
    await popup(page).decline.click();
    await page.evaluate(() => (window as any).assent('track', 'add_to_cart', {}));
    await page.evaluate(() => (window as any).assent.accept());
    await expect.poll(() => page.evaluate(() => (window as any).tagHeard)).toEqual([]);
  });

  test('ends with a withdrawal, of which the tag is notified', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => page.evaluate(() => (window as any).tagHeard)).toEqual([]);
    await page.evaluate(() => (window as any).assent.withdraw());
    await page.evaluate(() => (window as any).assent('track', 'add_to_cart', {}));
    expect(await page.evaluate(() => (window as any).tagHeard)).toEqual([['change', 'withdrawn']]);
  });

  test('is never sent without the purpose resolution', async ({ page, shop }) => {
    await shop.configure({ ...PLAIN_POLICY, purposes: ['analytics'] });
    await page.goto(await shop.put('/'));
    await page.evaluate(() => (window as any).assent('track', 'viewed_product', {}));
    await acceptAll(page);
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
  });
});
