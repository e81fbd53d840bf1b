import { acceptAll, returnToTab, expect, popup, settle, state, test } from '../support/fixtures';
import { PLAIN_POLICY, readLog } from '../support/integrator';

const DAY = 24 * 3600e3;

test.use({ consent: { ...PLAIN_POLICY, consent_days: 7 } });

test.describe('a choice under a policy of seven days', () => {
  test('expires after them: the same visitor is asked again, and nothing runs until then', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    const { visitor } = await state(page);
    await page.clock.setFixedTime(Date.now() + 6 * DAY);
    await page.reload();
    await expect.poll(() => shop.tagLoads()).toBe(2);
    await page.clock.setFixedTime(Date.now() + 8 * DAY);
    await page.reload();
    await expect(popup(page).banner).toBeVisible();
    await settle(page);
    expect(await state(page)).toMatchObject({ state: null, purposes: [] });
    expect(await shop.tagLoads()).toBe(2);
    await acceptAll(page);
    expect((await state(page)).visitor).toBe(visitor);
  });

  test('expires on a page that stays open: nothing more runs, and the visitor is asked on returning', async ({ page, shop }) => {
    const frame = '<iframe data-assent="analytics" data-src="about:blank#loaded"></iframe>';
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frame}` }));
    await acceptAll(page);
    const sources = () => page.evaluate(() => [...document.querySelectorAll('iframe')].map(({ src }) => src));
    await expect.poll(sources).toEqual(['about:blank#loaded']);

    await page.clock.setFixedTime(Date.now() + 8 * DAY);
    await page.evaluate((html) => document.body.insertAdjacentHTML('beforeend', html), frame);
    await page.waitForTimeout(200);
    expect((await sources())[1], 'a frame that is added later').toBe('');
    await returnToTab(page);
    await expect(popup(page).banner).toBeVisible();
    expect(await state(page)).toMatchObject({ state: null, purposes: [] });
    expect(await sources()).toEqual(['', '']);
  });

  test('is not renewed when the visitor allows another purpose in a placeholder', async ({ page, shop }) => {
    const video = await shop.put('/video', { html: '<h2>A video</h2>' });
    const frame = `<iframe data-assent="analytics" data-src="${video}" width="560" height="315" title="Video"></iframe>`;
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frame}` }));
    const placeholder = page.frameLocator('iframe');
    const always = placeholder.getByRole('button', { name: 'Always allow' });
    await expect(always).toBeVisible();
    expect(await page.evaluate(() => (window as any).assent.accept(['resolution']))).toBe(true);
    await page.clock.setFixedTime(Date.now() + 8 * DAY);
    await always.click();
    await expect(placeholder.locator('h2')).toHaveText('A video');
    expect((await state(page)).purposes).toEqual(['analytics']);
    expect((await readLog(shop.base, shop.pixel)).map(({ purposes }) => purposes)).toEqual([['analytics'], ['resolution']]);
  });

  test('is not announced again while it is valid', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    const changes = await page.evaluate(() => {
      const heard: unknown[] = [];
      (window as any).assent.on('change', (now: unknown) => heard.push(now));
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
      return heard;
    });
    expect(changes).toEqual([]);
    await expect(popup(page).banner).toBeHidden();
  });

  test('is valid on its page if storage is blocked, however often the visitor returns', async ({ page, shop }) => {
    await page.addInitScript(() =>
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('denied', 'SecurityError');
        },
      }),
    );
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await returnToTab(page);
    await settle(page);
    expect((await state(page)).state).toBe('accepted');
    await page.clock.setFixedTime(Date.now() + 8 * DAY);
    await returnToTab(page);
    await expect(popup(page).banner).toBeVisible();
  });
});
