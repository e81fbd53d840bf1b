import AxeBuilder from '@axe-core/playwright';
import { Page } from '@playwright/test';
import { expect, screenshot, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';

const base = (): string => process.env[ENVIRONMENT.base]!;

/** What breaks the page's own content security policy is reported here. */
const violations = async (page: Page): Promise<string[]> => page.evaluate(() => (window as any).refused as string[]);

const watchPolicy = (page: Page): Promise<void> =>
  page.addInitScript(() => {
    (window as any).refused = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      (window as any).refused.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });

const PAGES = ['/', '/site/pixel', '/site/permission', '/demo', '/log', '/guide', '/docs'];

const LOOKS = {
  desktop: { viewport: { width: 1280, height: 900 } },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' as const },
  phone: { viewport: { width: 390, height: 844 } },
  narrow: { viewport: { width: 320, height: 640 } },
};

for (const [look, options] of Object.entries(LOOKS)) {
  test.describe(`pages on ${look}`, () => {
    test.use(options);

    for (const path of PAGES) {
      test(`${path} is accessible, fits and loads nothing from elsewhere`, async ({ page }) => {
        await watchPolicy(page);
        const elsewhere: string[] = [];
        page.on('request', (request) => {
          if (!request.url().startsWith(base())) elsewhere.push(request.url());
        });
        await page.goto(base() + path);
        const { violations: found } = await new AxeBuilder({ page }).analyze();
        expect(found.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)).toEqual([]);
        const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
        expect(width[0], 'nothing is wider than the window').toBeLessThanOrEqual(width[1]);
        expect(elsewhere).toEqual([]);
        expect(await violations(page)).toEqual([]);
        await screenshot(page, `page${path.replace(/\//g, '-')}-${look}`);
      });
    }
  });
}

test('what is typed into the guide appears in its commands, and nowhere else', async ({ page }) => {
  await page.goto(`${base()}/guide`);
  const first = page.locator('pre').first();
  await expect(first).toContainText('you@example.com');
  await page.getByLabel('Email').fill("o'brien@shop.example");
  await page.getByLabel('Name', { exact: true }).fill(`Ann's "Shop"`);
  await expect(first).toContainText(`"o'\\''brien@shop.example"`);
  await expect(first).toContainText(`"display_name": "Ann'\\''s \\"Shop\\""`);
  await page.getByLabel('Host of your site').fill('bücher.example');
  await expect(page.locator('pre', { hasText: '"domain"' })).toContainText('"domain": "bücher.example"');
  await page.getByLabel('Pixel id').fill('abc123');
  await expect(page.locator('pre', { hasText: '.js"></script>' })).toContainText('/px/abc123.js');
  await page.getByLabel('Pixel id').fill('abc 123; rm -rf ~');
  await expect(page.getByLabel('Pixel id'), 'what cannot be an id is not made one').toHaveAttribute('aria-invalid', 'true');
  await expect(page.locator('pre', { hasText: '.js"></script>' })).toContainText('/px/PIXEL_ID.js');
  await page.getByLabel('Pixel id').fill('');
  await page.getByLabel('Email').fill('');
  await expect(first).toContainText('you@example.com');
  await page.reload();
  await expect(page.getByLabel('Pixel id')).toHaveValue('');
  expect(page.url()).toBe(`${base()}/guide`);
});

test('on a phone the values are folded until they are wanted', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${base()}/guide`);
  await expect(page.getByLabel('Email')).toBeHidden();
  await page.getByText('Your values').click();
  await expect(page.getByLabel('Email')).toBeVisible();
});

test.describe('without scripts', () => {
  test.use({ javaScriptEnabled: false });

  test('the guide is there, and offers nothing that would not work', async ({ page }) => {
    await page.goto(`${base()}/guide`);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Ten minutes to a verified install');
    await expect(page.locator('#values')).toBeHidden();
  });
});
