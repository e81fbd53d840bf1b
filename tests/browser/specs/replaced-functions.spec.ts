import { Page } from '@playwright/test';
import { acceptAll, expect, popup, state, stored, test } from '../support/fixtures';
import { readLog } from '../support/integrator';

/** Pages that have replaced or removed functions of the browser. The fixture checks in every test that the page has no error. */

/** Removes a function before everything else on the page runs. `window.kept` contains it for later scripts. */
const without = (name: string): string => `<script>window.kept = window.${name}; window.${name} = undefined</script>`;

test.describe('Prototype.js, which gives every array a toJSON,', () => {
  const library = (): void => {
    (Array.prototype as any).toJSON = function (this: unknown[]) {
      return `[${this.map((value) => JSON.stringify(value)).join(', ')}]`;
    };
    (Element.prototype as any).remove = function (this: Element) {
      this.parentNode!.removeChild(this);
      return this;
    };
  };

  test('changes neither the recorded nor the stored choice', async ({ page, shop }) => {
    await page.addInitScript(library);
    await page.goto(await shop.put('/'));
    await popup(page).choose.click();
    await popup(page).purpose('Statistics').check();
    await popup(page).save.click();
    await expect(popup(page).saved).toBeAttached();
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    expect(await page.evaluate(() => `${(window as any).assent.get().purposes}`)).toBe('analytics');
    expect((await readLog(shop.base, shop.pixel)).map(({ purposes }) => purposes)).toEqual([['analytics']]);
    await page.evaluate(() => (window as any).assent.accept());
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.evaluate(() => (window as any).assent.withdraw());
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    expect(await page.evaluate(() => (window as any).assent.get().state)).toBe('withdrawn');
  });
});

test.describe('a page without', () => {
  for (const name of ['crypto', 'Promise', 'fetch', 'AbortController', 'MutationObserver', 'requestAnimationFrame', 'JSON']) {
    test(`${name} loads nothing and has no error`, async ({ page, shop }) => {
      // A blocking script, so that the tag runs while the function is missing.
      const snippet = shop.policy.snippet.replace(' async', '');
      const head = without(name) + shop.pixel.immediate.replace(' async', '');
      // Playwright needs the function too.
      const restore = `<script>addEventListener('load', () =>
        setTimeout(() => { window.${name} = window.kept; console.log('restored') }, 300))</script>`;
      const restored = page.waitForEvent('console', (message) => message.text() === 'restored');
      await page.goto(await shop.put('/', { head, snippet, body: `<h1>x</h1>${restore}` }));
      await restored;
      await page.waitForTimeout(500);
      expect(await shop.tagLoads()).toBe(0);
      expect(await stored(page)).toEqual({});
    });
  }
});

/** A named form, which hides the property of `document` with the same name. */
const shadow = (name: string): string => `<form name="${name}"></form>`;

test('names of forms that hide the document’s own functions cause no error', async ({ page, shop }) => {
  const names = ['createElement', 'querySelectorAll', 'querySelector', 'addEventListener', 'dispatchEvent', 'head', 'body', 'cookie', 'readyState'];
  for (const name of names) {
    for (const [position, content] of [
      ['before', { snippet: '', body: `<h1>x</h1>${shadow(name)}${shop.policy.snippet.replace(' async', '')}` }],
      ['after', { snippet: shop.policy.snippet.replace(' async', ''), body: `<h1>x</h1>${shadow(name)}` }],
    ] as const) {
      await page.goto(await shop.put(`/${name}-${position}`, content));
      await page.evaluate(async () => (window as any).assent?.accept?.());
      await page.waitForTimeout(50);
      await page.evaluate(() => localStorage.clear());
    }
  }
});

const hasPopup = (page: Page): Promise<void> => expect(popup(page).banner).toBeVisible();

test('a page that assigns its own values to global names shows the popup as usual', async ({ page, shop }) => {
  await page.goto(await shop.put('/', { head: '<script>var URL = "https://shop.example/"; var h = 1, config = 2</script>' }));
  await hasPopup(page);
  await acceptAll(page);
  expect((await state(page)).state).toBe('accepted');
});
