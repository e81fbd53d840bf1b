import { Page } from '@playwright/test';

/** The access key that tests give to a button. */
export const ACCESS_KEY = 'y';

/**
 * Presses it, which makes a trusted click without a pointer. Its key event goes to the focused element, which need not be the
 * button. Only for Chromium.
 */
export const pressAccessKey = async (page: Page): Promise<void> => {
  const devtools = await page.context().newCDPSession(page);
  const alt = { modifiers: 1, key: ACCESS_KEY };
  const code = { code: 'KeyY', windowsVirtualKeyCode: 89, nativeVirtualKeyCode: 89 };
  await devtools.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...alt, ...code });
  await devtools.send('Input.dispatchKeyEvent', { type: 'char', ...alt, text: ACCESS_KEY, unmodifiedText: ACCESS_KEY });
};
