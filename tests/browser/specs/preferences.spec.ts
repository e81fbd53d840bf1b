import { readFile } from 'node:fs/promises';
import { Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { acceptAll, accessibilityProblems, expect, popup, state, stored, test, watchRequests } from '../support/fixtures';
import { readLog, verifyReceipt } from '../support/integrator';
import { sentChoices } from '../support/requests';

/** The reopened popup is loaded by a script of its own. Without it, a refusal must be just as easy. */

const SCRIPT = '**/preferences.js?*';

const failures: [string, (page: Page) => Promise<void>][] = [
  ['is blocked', (page) => page.route(SCRIPT, (route) => route.abort('blockedbyclient'))],
  ['is not found', (page) => page.route(SCRIPT, (route) => route.fulfill({ status: 404, contentType: 'application/javascript', body: 'not found' }))],
  ['is a different script', (page) => page.route(SCRIPT, (route) => route.fulfill({ contentType: 'application/javascript', body: 'window.other = 1' }))],
  ['does not load', (page) => page.route(SCRIPT, () => {})],
];

for (const [what, fail] of failures) {
  test.describe(`when the script ${what}`, () => {
    test('consent can be withdrawn, also by keyboard', async ({ page, shop }) => {
      await fail(page);
      await page.goto(await shop.put('/'));
      await acceptAll(page);
      await expect.poll(() => shop.tagLoads()).toBe(1);
      await popup(page).wayBack.focus();
      await page.keyboard.press('Enter');
      await expect(popup(page).withdraw).toBeVisible();
      await expect(popup(page).decline).toHaveCount(0);
      expect(await accessibilityProblems(page)).toEqual([]);
      await popup(page).withdraw.focus();
      await page.keyboard.press('Enter');
      await expect(popup(page).banner).toBeHidden();
      expect((await state(page)).state).toBe('withdrawn');
      await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0].consent_state).toBe('withdrawn');
    });

    test('the banner can still be used, and shows a message', async ({ page, shop }) => {
      await fail(page);
      await page.goto(await shop.put('/'));
      await popup(page).choose.click();
      await expect(popup(page).failed).toBeVisible();
      expect((await state(page)).state).toBeNull();
      await popup(page).decline.click();
      await expect(popup(page).banner).toBeHidden();
      expect((await state(page)).state).toBe('declined');
    });
  });
}

test('a script that loads late does not open the popup', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  await acceptAll(page);
  let release: () => void = () => {};
  await page.route(SCRIPT, async (route) => {
    await new Promise<void>((done) => (release = done));
    await route.continue();
  });
  await popup(page).wayBack.click();
  await expect(popup(page).withdraw).toBeVisible();
  release();
  await page.waitForTimeout(300);
  await expect(popup(page).preferences).toBeHidden();
  await popup(page).withdraw.click();
  await expect(popup(page).banner).toBeHidden();
});

test('the script is loaded on the first click, and only then', async ({ page, shop }) => {
  const requests = watchRequests(page);
  await page.goto(await shop.put('/'));
  await acceptAll(page);
  expect(requests).not.toContain('GET /preferences.js');
  for (let time = 0; time < 2; time++) {
    await popup(page).wayBack.click();
    await expect(popup(page).preferences).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(popup(page).preferences).toBeHidden();
  }
  expect(requests.filter((request) => request === 'GET /preferences.js')).toHaveLength(1);
});

test('the reopened popup is accessible, and Tab stays in it', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  await acceptAll(page);
  await popup(page).wayBack.focus();
  await page.keyboard.press('Enter');
  await expect(popup(page).preferences).toBeVisible();
  expect(await accessibilityProblems(page)).toEqual([]);
  const names: string[] = [];
  for (let step = 0; step < 11; step++) {
    names.push(
      await page.evaluate(() => {
        const focused = document.querySelector('assent-ui')!.shadowRoot!.activeElement!;
        return focused.getAttribute('aria-label') || focused.textContent!;
      }),
    );
    await page.keyboard.press('Tab');
  }
  expect(names).toEqual([
    'Close',
    'Recognising you',
    'Statistics',
    'Privacy notice',
    'Your data',
    'Your receipt',
    'Accept all',
    'Decline all',
    'Save my choice',
    'Withdraw my consent',
    'Close',
  ]);
  await page.keyboard.press('Escape');
  await expect(popup(page).wayBack).toBeFocused();
});

const receipt = (page: Page) => page.getByRole('link', { name: 'Your receipt' });
const message = (page: Page) => popup(page).preferences.getByRole('alert');

/** Opens the popup again and saves the receipt. */
const saveReceipt = async (page: Page): Promise<{ name: string; document: any }> => {
  await popup(page).wayBack.click();
  // A choice is appended to the log some seconds after it was recorded.
  const downloaded = page.waitForEvent('download', { timeout: 60_000 });
  await receipt(page).click();
  const file = await downloaded;
  await expect(message(page)).toHaveText(`Your browser is saving the file \u2068${file.suggestedFilename()}\u2069.`);
  return { name: file.suggestedFilename(), document: JSON.parse(await readFile((await file.path())!, 'utf8')) };
};

test.describe('"Your receipt" in the reopened popup', () => {
  test('saves the proof of the choice in force', chromiumOnly(LACKS.generatedFiles), async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    const { visitor, receipt: number } = await state(page);
    const { name, document } = await saveReceipt(page);
    expect(name).toBe(`receipt-${new URL(shop.origin).hostname}.json`);
    expect(document.statement.receipt).toMatchObject({ receipt_id: number, visitor_id: visitor, consent_state: 'accepted' });
    const body = JSON.stringify({ proof: document });
    const verification = await fetch(`${shop.base}/v1/consent/proof/verify`, { method: 'POST', body });
    expect(await verification.json()).toMatchObject({ valid: true });
  });

  test('saves only the signed receipt if there is no log', chromiumOnly(LACKS.generatedFiles), async ({ page, shop }) => {
    await page.route('**/v1/consent/proof?*', (route) =>
      route.fulfill({ status: 404, json: { detail: 'no log' }, headers: { 'Access-Control-Allow-Origin': '*' } }),
    );
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    const { document } = await saveReceipt(page);
    expect(document.receipt.receipt_id).toBe((await state(page)).receipt);
    expect(await verifyReceipt(shop.base, document)).toBe(true);
  });

  test('shows an error if it cannot be loaded, and can be requested again', chromiumOnly(LACKS.generatedFiles), async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await page.route('**/v1/consent/proof?*', (route) => route.abort());
    await popup(page).wayBack.click();
    await receipt(page).click();
    await expect(message(page)).toHaveText('That did not work. Please try again.');
    await page.unroute('**/v1/consent/proof?*');
    const downloaded = page.waitForEvent('download', { timeout: 60_000 });
    await receipt(page).press('Enter');
    await downloaded;
  });

  test('is not shown before the first choice', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).choose.click();
    await expect(popup(page).preferences).toBeVisible();
    await expect(receipt(page)).toHaveCount(0);
  });
});

test('the shown language, the script build and the user action are sent with the choice', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  await acceptAll(page);
  const [choice] = await sentChoices(shop);
  expect(choice.shown).toEqual({
    language: 'en',
    script: expect.stringMatching(/^[0-9a-f]{8}$/),
    automated: true,
    act: 'pointer',
    seen: expect.stringMatching(/^(under_1s|under_5s|longer)$/),
  });
  expect(Object.keys(await stored(page))).toContain(`assent:${shop.pixel.id}`);
});
