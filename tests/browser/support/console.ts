import { randomBytes } from 'node:crypto';
import { Page } from '@playwright/test';
import { viewsOf } from './browsers';
import { accessibilityProblems, expect, screenshot } from './fixtures';
import { ENVIRONMENT } from './global-setup';

export const base = (): string => process.env[ENVIRONMENT.base]!;

const DESKTOP = { width: 1280, height: 900 };

const VIEWS = {
  desktop: { viewport: DESKTOP },
  dark: { viewport: DESKTOP, colorScheme: 'dark' as const },
  forced: { viewport: DESKTOP, forcedColors: 'active' as const },
  phone: { viewport: { width: 390, height: 844 } },
  // A window of 1280 by 1024 at 400 %.
  zoomed: { viewport: { width: 320, height: 256 }, colorScheme: 'dark' as const },
};

/** Enough for many views of many screens on a busy machine. */
export const TIMEOUT_MS = 240_000;

/** Enough for axe to wait twice for a frame that was replaced, and to run again. */
const VIEW_TIMEOUT_MS = 60_000;

export const freshHost = (): string => `shop-${randomBytes(5).toString('hex')}.example`;

/** Opens an account. The service sends no mails, so no code is needed. */
export const signUp = async (page: Page): Promise<void> => {
  await page.goto(`${base()}/console/sign-up`);
  await page.getByLabel('Your name').fill('Ann Lee');
  await page.getByLabel('Email address').fill(`ann@${freshHost()}`);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Add site');
};

export const addSite = async (page: Page): Promise<string> => {
  const host = freshHost();
  await page.goto(`${base()}/console/sites/new`);
  await page.getByLabel('Domain').fill(host);
  await page.getByRole('button', { name: 'Add site' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText(host);
  return host;
};

/** Expects in every view that axe finds no problem and nothing is wider than the window. */
export const expectAccessible = async (page: Page, name: string): Promise<void> => {
  for (const [view, { viewport, ...media }] of viewsOf(page, VIEWS)) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', ...media });
    // On a busy machine axe may run before the page has changed its colours.
    const options = { message: `${name}, ${view}`, timeout: VIEW_TIMEOUT_MS };
    await expect.poll(() => accessibilityProblems(page), options).toEqual([]);
    const [width, windowWidth] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(width, `nothing is wider than the window (${name}, ${view})`).toBeLessThanOrEqual(windowWidth);
    await screenshot(page, `console-${name}-${view}`, true);
  }
  await page.setViewportSize(DESKTOP);
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
};

/** Collects messages and errors of a page, and its requests to other origins. */
export const watchProblems = (page: Page): string[] => {
  const problems: string[] = [];
  // The browser reports the status of a rejected form, and that a test types before the page focuses its first field.
  const isHarmless = (text: string): boolean =>
    text.startsWith('Failed to load resource') || text.startsWith('Autofocus processing was blocked');
  page.on('console', (message) => isHarmless(message.text()) || problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(base())) problems.push(request.url());
  });
  return problems;
};
