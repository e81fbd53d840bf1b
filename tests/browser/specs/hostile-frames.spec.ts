import { acceptAll, expect, popup, test } from '../support/fixtures';

/** Gated frames with a placeholder. */

const PLACEHOLDERS: [string, (placeholder: string) => string, string][] = [
  ['nothing', () => '', ''],
  ['a page', (placeholder) => `src="${placeholder}"`, 'Press accept'],
  ['a document of its own', () => 'srcdoc="<h2>Press accept</h2>"', 'Press accept'],
  ['both', (placeholder) => `src="${placeholder}" srcdoc="<h2>Press accept</h2>"`, 'Press accept'],
];

for (const [what, attributes, words] of PLACEHOLDERS) {
  for (const added of ['the parser', 'innerHTML'] as const) {
    test(`a frame added by ${added} that shows ${what} shows its content after an acceptance, and its placeholder after a withdrawal`, async ({ page, shop }) => {
      const inner = await shop.put('/video', { body: '<h2>A video</h2>', snippet: '<!---->' });
      const placeholder = await shop.put('/placeholder', { body: '<h2>Press accept</h2>', snippet: '<!---->' });
      const markup = `<iframe data-assent="analytics" data-src="${inner}" ${attributes(placeholder)} title="Video"></iframe>`;
      await page.goto(await shop.put('/', { body: `<h1>x</h1><div id="slot">${added === 'the parser' ? markup : ''}</div>` }));
      if (added === 'innerHTML') await page.evaluate((html) => (document.getElementById('slot')!.innerHTML = html), markup);
      const heading = page.frameLocator('iframe').locator('h2');
      await expect(popup(page).banner).toBeVisible();
      if (words) await expect(heading).toHaveText(words);
      const entries = await page.evaluate(() => history.length);
      await acceptAll(page);
      await expect(heading).toHaveText('A video');

      await page.evaluate(() => (window as any).assent.withdraw());
      if (words) await expect(heading).toHaveText(words);
      else await expect(heading).toHaveCount(0);
      await page.evaluate(() => (window as any).assent.accept());
      await expect(heading).toHaveText('A video');

      expect(await page.evaluate(() => history.length)).toBe(entries);
    });
  }
}
