import { Page } from '@playwright/test';
import { ACCESS_KEY, pressAccessKey } from '../support/access-key';
import { chromiumOnly, LACKS } from '../support/browsers';
import { expect, hideAutomation, popup, Shop, state, test } from '../support/fixtures';
import { inline, tabTo } from '../support/hostile';
import { readLog, readStats } from '../support/integrator';

/** The user action of a choice, as the log contains it: six ways to accept, and everything else that makes a choice. */

/** The newest receipt's user action. */
const action = async (shop: Shop): Promise<unknown> => {
  const [newest] = (await readLog(shop.base, shop.pixel)) as any[];
  if (!newest) return null;
  const { act, seen, automated } = newest.shown;
  return { state: newest.consent_state, act, seen, automated };
};

const open = async (page: Page, shop: Shop, head = ''): Promise<void> => {
  await page.goto(await shop.put('/', { head }));
  await expect(popup(page).banner).toBeVisible();
};

/** The page calls a button of the popup, as its script could. */
const clickByScript = (page: Page, label: string): Promise<void> =>
  page.evaluate((label) => {
    const buttons = document.querySelector('assent-ui')!.shadowRoot!.querySelectorAll('button');
    [...buttons].find(({ textContent }) => textContent === label)!.click();
  }, label);

/** An access key makes a trusted click without a pointer. Without the focus, the popup receives no event of the key. */
const activate = async (page: Page, label: string): Promise<void> => {
  await page.evaluate(([label, key]) => {
    const buttons = document.querySelector('assent-ui')!.shadowRoot!.querySelectorAll('button');
    const button = [...buttons].find(({ textContent }) => textContent === label)!;
    button.accessKey = key;
    button.blur();
  }, [label, ACCESS_KEY]);
  await pressAccessKey(page);
};

test.describe('accepting', () => {
  const ways: [string, string, (page: Page) => Promise<unknown>][] = [
    ['by mouse', 'pointer', (page) => popup(page).accept.click()],
    ['by Enter', 'keyboard', (page) => tabTo(page, 'Accept').then(() => page.keyboard.press('Enter'))],
    ['by the space bar', 'keyboard', (page) => tabTo(page, 'Accept').then(() => page.keyboard.press('Space'))],
    ['by element.click() of a script', 'page', (page) => clickByScript(page, 'Accept')],
    ['by assent.accept() of a script', 'page', (page) => page.evaluate(() => (window as any).assent.accept())],
  ];
  for (const [way, act, accept] of ways) {
    test(`${way} is reported as ${act}`, async ({ page, shop }) => {
      await open(page, shop);
      await accept(page);
      await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act, automated: true });
      await expect.poll(async () => (await state(page)).state).toBe('accepted');
      const { by_act } = await readStats(shop.base, shop.pixel);
      expect(by_act.map((line: any) => [line.act, line.accepted])).toEqual([[act, 1]]);
    });
  }

  test.describe('by touch', () => {
    test.use({ hasTouch: true, viewport: { width: 390, height: 844 } });
    test('is reported as pointer', chromiumOnly(LACKS.touch), async ({ page, shop }) => {
      await open(page, shop);
      await popup(page).accept.tap();
      await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act: 'pointer' });
    });

    test('that a listener of the page cancels is still reported as pointer', chromiumOnly(LACKS.touch), async ({ page, shop }) => {
      const guard = `addEventListener('touchend', (e) => e.preventDefault(), { capture: true, passive: false })`;
      await open(page, shop, inline(guard));
      await popup(page).accept.tap();
      await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act: 'pointer' });
    });
  });

  test('by a trusted click without pointer and key is reported as assistive', chromiumOnly(LACKS.bareClick), async ({ page, shop }) => {
    await open(page, shop);
    await activate(page, 'Accept');
    await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act: 'assistive' });
  });

  test('by such a click after a press of Enter that could not be recorded is reported as assistive', chromiumOnly(LACKS.bareClick), async ({ page, shop }) => {
    await open(page, shop);
    await page.route('**/v1/consent/record', (route) => route.abort());
    await tabTo(page, 'Accept');
    await page.keyboard.press('Enter');
    await expect(popup(page).failed).toBeVisible();
    await page.unroute('**/v1/consent/record');
    await activate(page, 'Accept');
    await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act: 'assistive' });
  });

  test('in the preferences is reported like in the banner', async ({ page, shop }) => {
    await open(page, shop);
    await popup(page).choose.click();
    await expect(popup(page).preferences).toBeVisible();
    await popup(page).purpose('Statistics').click();
    await popup(page).save.click();
    await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act: 'pointer' });
    await popup(page).wayBack.click();
    await expect(popup(page).preferences).toBeVisible();
    await clickByScript(page, 'Accept all');
    await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act: 'page', seen: null });
    await popup(page).wayBack.click();
    await popup(page).withdraw.press('Enter');
    await expect.poll(() => action(shop)).toMatchObject({ state: 'withdrawn', act: 'keyboard' });
  });

  test('by a script while the visitor declines is reported as page', async ({ page, shop }) => {
    // The listener runs during the visitor's own press.
    const head = inline(`addEventListener('load', () => assent.on('change', ({ state }) => state === 'declined' && assent.accept()))`);
    await open(page, shop, head);
    await popup(page).decline.click();
    const log = async (): Promise<unknown[]> =>
      ((await readLog(shop.base, shop.pixel)) as any[]).map(({ consent_state, shown }) => [consent_state, shown.act]);
    await expect.poll(async () => (await log()).sort()).toEqual([
      ['accepted', 'page'],
      ['declined', 'pointer'],
    ]);
  });

  test('with keys that a listener of the page cancels is still reported as keyboard', async ({ page, shop }) => {
    const guard = `addEventListener('keydown', (e) => { if (/^( |Enter)$/.test(e.key)) e.preventDefault() }, true)`;
    await open(page, shop, inline(guard));
    await tabTo(page, 'Accept');
    await page.keyboard.press('Enter');
    await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted', act: 'keyboard' });
  });
});

test('the time for which the popup was open is reported', async ({ page, shop }) => {
  await page.addInitScript(() => {
    const start = Date.now();
    Object.assign(window, { passed: 0 });
    Date.now = () => start + (window as any).passed;
  });
  await open(page, shop);
  for (const [passed, seen] of [
    [0, 'under_1s'],
    [3_000, 'under_5s'],
    [60_000, 'longer'],
  ] as const) {
    await page.evaluate(() => (window as any).assent.open());
    await expect(popup(page).preferences).toBeVisible();
    await page.evaluate((passed) => ((window as any).passed += passed), passed);
    await popup(page).declineAll.press('Enter');
    await expect.poll(() => action(shop)).toMatchObject({ state: 'declined', act: 'keyboard', seen });
  }
});

test('a browser that no program controls is reported as such', async ({ page, shop }) => {
  await hideAutomation(page);
  await open(page, shop);
  await popup(page).decline.click();
  await expect.poll(() => action(shop)).toMatchObject({ state: 'declined', act: 'pointer', automated: false });
});

test('the withdrawal of Global Privacy Control is nobody’s press', async ({ page, shop }) => {
  await open(page, shop);
  await popup(page).accept.click();
  await expect.poll(() => action(shop)).toMatchObject({ state: 'accepted' });
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true, configurable: true }));
  await page.reload();
  await expect.poll(() => action(shop)).toMatchObject({ state: 'withdrawn', act: null, seen: null });
});
