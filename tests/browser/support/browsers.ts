import { Page } from '@playwright/test';

/** Marks a test that only Chromium runs; the project `firefox` skips it. */
export const CHROMIUM_ONLY = '@chromium-only';

/**
 * Specs that Firefox leaves out if `QUICK_FIREFOX` is set, as in CI: they test the service's own pages, rules of the tag
 * that use no interface in which the browsers differ, or many pages of others, which take Firefox twice as long. A nightly
 * workflow runs all specs in both browsers.
 */
export const QUICK_FIREFOX_LEAVES_OUT = [
  'choice-rules', 'compat', 'console*', 'contact-lifetime', 'developers', 'evidence', 'frameworks',
  'hostile-*', 'languages', 'passkeys', 'pixel', 'placement', 'public-pages', 'replaced-functions', 'signals', 'tag-guide', 'tasks-*', 'test-tag',
  'vendor-signals', 'verify*', 'your-data*',
].map((name) => `**/${name}.spec.ts`);

/** Marks a test or group of another spec that Firefox leaves out if `QUICK_FIREFOX` is set, for the same reasons. */
export const RULES = '@rules';

/** The tests that the project `firefox` skips. */
export const FIREFOX_SKIPS = new RegExp(process.env.QUICK_FIREFOX ? `${CHROMIUM_ONLY}|${RULES}` : CHROMIUM_ONLY);

/**
 * Test details for tests or groups that only Chromium can run. All others run in both browsers;
 * `specs/browsers.spec.ts` fails if a test is skipped in another way.
 */
export const chromiumOnly = (reason: string) => ({
  tag: CHROMIUM_ONLY,
  annotation: { type: CHROMIUM_ONLY, description: reason },
});

/** Common reasons: limitations of Playwright 1.58 with Firefox over WebDriver BiDi. */
export const LACKS = {
  colours: 'dark, forced and print colours cannot be emulated in Firefox over WebDriver BiDi',
  scriptSwitch: 'scripts cannot be switched off in Firefox over WebDriver BiDi',
  offline: 'the network cannot be switched off in Firefox over WebDriver BiDi',
  touch: 'touch cannot be emulated in Firefox over WebDriver BiDi',
  generatedFiles: 'Playwright reports no download of a file that the page has generated, over WebDriver BiDi',
  downloads: 'Playwright cannot read a file that Firefox has downloaded, over WebDriver BiDi',
  historyBack: 'Playwright does not finish a step back in the history over WebDriver BiDi',
  removedFrame: 'Playwright fails when it looks for elements after a page has removed a frame, over WebDriver BiDi',
  bareClick: 'Firefox has no trusted click without a pointer or a key that a test can make over WebDriver BiDi',
  noPage: 'the test opens no page',
};

export const isFirefox = (page: Page): boolean => page.context().browser()!.browserType().name() === 'firefox';

interface View {
  viewport: { width: number; height: number };
  colorScheme?: 'light' | 'dark';
  forcedColors?: 'active';
}

/**
 * The views in which a page is tested. Playwright cannot change the colour scheme of Firefox, so Firefox only
 * uses the first two, a wide and a narrow one. They show its layout; axe reads the same page and style sheet in both
 * browsers. If `QUICK_VIEWS` is set, as in CI, Chromium uses the first and the last: one of them is wide, one
 * narrow, one light and one dark. A nightly workflow uses all.
 */
export const viewsOf = <L extends View>(page: Page, views: Record<string, L>): [string, L][] => {
  const all = Object.entries(views);
  if (isFirefox(page)) {
    return all.filter(([, { colorScheme, forcedColors }]) => colorScheme !== 'dark' && !forcedColors).slice(0, 2);
  }
  return process.env.QUICK_VIEWS ? [all[0], all[all.length - 1]] : all;
};
