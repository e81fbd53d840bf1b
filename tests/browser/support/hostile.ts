import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Page } from '@playwright/test';
import { expect, popup, Shop, state } from './fixtures';
import { Receipt, readLog } from './integrator';

/** The text of a file in an npm package, as a page loads it. */
export const library = (path: string): string => readFileSync(resolve(__dirname, '../node_modules', path), 'utf8');

/** A script element of the page that runs before the tag. */
export const inline = (code: string): string => `<script>${code.replace(/<\/(script)/g, '<\\/$1')}</script>`;

/** A script that records that it ran. */
export const note = (name: string): string => `(window.ran = window.ran || []).push(${JSON.stringify(name)})`;

/** The scripts that ran on the page, in order. */
export const ran = (page: Page): Promise<string[]> => page.evaluate(() => [...((window as any).ran || [])]);

/** The states of the recorded choices, newest first. */
export const recorded = async (shop: Shop): Promise<string[]> =>
  (await readLog(shop.base, shop.pixel)).map(({ consent_state }: Receipt) => consent_state);

/** The snippet as a blocking element, so that the tag runs at that point of the page. */
export const blockingSnippet = (shop: Shop): string => shop.policy.snippet.replace(' async', '');

/** The position of a control in the popup, for real mouse or touch input, which goes to the topmost element there. */
export const centreOf = async (page: Page, name: 'accept' | 'decline' | 'choose' | 'wayBack' | 'withdraw'): Promise<[number, number]> => {
  const box = (await popup(page)[name].boundingBox())!;
  return [box.x + box.width / 2, box.y + box.height / 2];
};

export const clickAt = async (page: Page, name: Parameters<typeof centreOf>[1]): Promise<void> => {
  await page.mouse.click(...(await centreOf(page, name)));
};

/** Presses Tab until the control with this label has the focus. */
export const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let presses = 0; presses < 15; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      let active = document.activeElement;
      while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
      return active?.getAttribute('aria-label') || active?.textContent;
    });
    if (focused === name) return;
  }
  throw new Error(`the keyboard does not come to ${name}`);
};

/** Opens the preferences with the focused control, chooses statistics and saves, by keyboard only. */
export const chooseByKeyboard = async (page: Page): Promise<void> => {
  await page.keyboard.press('Enter');
  await expect(popup(page).preferences).toBeVisible();
  await tabTo(page, 'Statistics');
  await page.keyboard.press('Space');
  await expect(popup(page).purpose('Statistics')).toBeChecked();
  await tabTo(page, 'Save my choice');
  await page.keyboard.press('Enter');
  await expect(popup(page).preferences).toBeHidden();
  expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['analytics'] });
};
