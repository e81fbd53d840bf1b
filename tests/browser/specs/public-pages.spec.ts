import { Page } from '@playwright/test';
import { chromiumOnly, LACKS, viewsOf } from '../support/browsers';
import { accessibilityProblems, expect, screenshot, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';

const base = (): string => process.env[ENVIRONMENT.base]!;

/** The violations of the page's own content security policy. */
const violations = async (page: Page): Promise<string[]> => page.evaluate(() => (window as any).refused as string[]);

const watchPolicy = (page: Page): Promise<void> =>
  page.addInitScript(() => {
    (window as any).refused = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      (window as any).refused.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });

const PAGES = ['/', '/site/pixel', '/site/permission', '/demo', '/log', '/guide', '/guide/tag', '/guide/webhooks', '/docs', '/docs/reference', '/privacy', '/terms', '/dpa', '/subprocessors', '/accessibility', '/help', '/contact', '/status'];

const VIEWS = {
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' as const },
  desktop: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' as const },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' as const },
  narrow: { viewport: { width: 320, height: 640 }, colorScheme: 'light' as const },
};

/** Enough for four views of a long page on a busy machine. */
const TIMEOUT_MS = 240_000;

for (const path of PAGES) {
  test(`${path} is accessible, fits and loads nothing from elsewhere, in every view`, async ({ page }) => {
    test.setTimeout(TIMEOUT_MS);
    await watchPolicy(page);
    const elsewhere: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(base())) elsewhere.push(request.url());
    });
    for (const [view, { viewport, colorScheme }] of viewsOf(page, VIEWS)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.goto(base() + path);
      expect(await accessibilityProblems(page), view).toEqual([]);
      const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      expect(width[0], `nothing is wider than the window (${view})`).toBeLessThanOrEqual(width[1]);
      expect(elsewhere).toEqual([]);
      expect(await violations(page)).toEqual([]);
      await screenshot(page, `page${path.replace(/\//g, '-')}-${view}`);
    }
  });
}

test('the API reference can be searched by words and by keyboard', async ({ page }) => {
  await watchPolicy(page);
  await page.goto(`${base()}/docs/reference`);
  const routes = page.locator('details.route:visible');
  const all = await routes.count();
  await page.keyboard.press('/');
  const words = page.getByRole('searchbox');
  await expect(words).toBeFocused();
  await page.keyboard.type('domain already registered pipeline');
  await expect.poll(() => routes.count()).toBeLessThan(all / 10);
  await expect(routes.filter({ hasText: '/v1/pixels/pipeline' })).toHaveCount(1);
  await expect(page.getByRole('status').filter({ hasText: `of ${all} routes` })).toBeVisible();
  await page.keyboard.press('ArrowDown');
  await expect(page.locator('details.route:visible summary').first()).toBeFocused();
  await page.keyboard.press('ArrowUp');
  await expect(words).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('details.route[open]')).toHaveCount(1);
  await page.keyboard.press('Escape');
  await expect.poll(() => routes.count()).toBe(all);
  await words.fill('no such words anywhere');
  await expect(routes).toHaveCount(0);
  await expect(page.getByRole('status').filter({ hasText: '0 of' })).toBeVisible();
  expect(await violations(page)).toEqual([]);
});

test('an address with a fragment opens the route or schema in the API reference', async ({ page }) => {
  await page.goto(`${base()}/docs/reference#create_pixel`);
  await expect(page.locator('#create_pixel')).toBeVisible();
  // From the overview: to the line of the route, and on to its description.
  await page.goto(`${base()}/docs`);
  await page.getByRole('link', { name: 'Create a pixel' }).click();
  await expect(page.locator('#create_pixel')).toBeInViewport();
  await page.locator('#create_pixel a').click();
  await expect(page.locator('details[open] #create_pixel')).toBeVisible();
  await page.locator('#create_pixel a[href^="#schema-"]').first().click();
  await expect(page.locator('[id^="schema-"]:visible').first()).toBeInViewport();
});

test('a command of the API reference can be copied', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${base()}/docs`);
  await page.getByRole('button', { name: 'Copy the first call' }).click();
  // The browser writes to the clipboard asynchronously.
  const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toContain(`curl "${base()}/v1/accounts"`);
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('the API reference shows everything except the search', async ({ page }) => {
    await page.goto(`${base()}/docs/reference`);
    await expect(page.getByRole('searchbox')).toHaveCount(0);
    const route = page.locator('details.route').filter({ has: page.locator('#create_pixel') });
    await route.locator('summary').click();
    await expect(page.locator('#create_pixel')).toBeVisible();
  });
});

for (const [name, path] of [
  ['nowhere', '/nowhere'],
  ['link', '/v1/email/verify?token=unknown'],
  ['cancelled', '/v1/checkout/cancelled'],
]) {
  test(`the notice "${name}" is accessible and fits, in every view`, async ({ page }) => {
    test.setTimeout(TIMEOUT_MS);
    await watchPolicy(page);
    for (const [view, { viewport, colorScheme }] of viewsOf(page, VIEWS)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.goto(base() + path);
      expect(await accessibilityProblems(page), view).toEqual([]);
      const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      expect(width[0], view).toBeLessThanOrEqual(width[1]);
      expect(await violations(page)).toEqual([]);
      await screenshot(page, `notice-${name}-${view}`);
    }
  });
}

test('values that are typed into the guide appear only in its commands', async ({ page }) => {
  await page.goto(`${base()}/guide`);
  const first = page.locator('pre').first();
  await expect(first).toContainText('you@example.com');
  await page.getByLabel('Email', { exact: true }).fill("o'brien@shop.example");
  await page.getByLabel('Name', { exact: true }).fill(`Ann's "Shop"`);
  await expect(first).toContainText(`"o'\\''brien@shop.example"`);
  await expect(first).toContainText(`"display_name": "Ann'\\''s \\"Shop\\""`);
  await page.getByLabel('Host of your site').fill('bücher.example');
  await expect(page.locator('pre', { hasText: '"domain"' })).toContainText('"domain": "bücher.example"');
  await page.getByLabel('Pixel id').fill('abc123');
  const snippets = page.locator('pre', { hasText: '.js"></script>' });
  await expect(snippets).toContainText(['/px/abc123.js', '/px/test_abc123.js']);
  await page.getByLabel('Pixel id').fill('abc 123; rm -rf ~');
  await expect(page.getByLabel('Pixel id'), 'an invalid id is not inserted').toHaveAttribute('aria-invalid', 'true');
  await expect(snippets).toContainText(['/px/PIXEL_ID.js', '/px/test_PIXEL_ID.js']);
  await page.getByLabel('Pixel id').fill('');
  await page.getByLabel('Email', { exact: true }).fill('');
  await expect(first).toContainText('you@example.com');
  await page.reload();
  await expect(page.getByLabel('Pixel id')).toHaveValue('');
  expect(page.url()).toBe(`${base()}/guide`);
});

test('on a phone the values are collapsed until they are opened', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${base()}/guide`);
  await expect(page.getByLabel('Email', { exact: true })).toBeHidden();
  await page.getByText('Your values').click();
  await expect(page.getByLabel('Email', { exact: true })).toBeVisible();
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('the guide is shown without its form', async ({ page }) => {
    await page.goto(`${base()}/guide`);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Ten minutes to a verified install');
    await expect(page.locator('#values')).toBeHidden();
  });
});
