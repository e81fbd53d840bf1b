import { accessibilityProblems, expect, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';

const base = (): string => process.env[ENVIRONMENT.base]!;

const PAGES = ['/', '/help', '/help/install', '/contact', '/status', '/terms', '/site/pixel', '/nowhere'];

test('the menu of languages works by keyboard and without JavaScript, and the choice stays', async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${base()}/help?q=wordpress`);
  const german = page.getByRole('button', { name: 'Deutsch' });
  await german.focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${base()}/help?q=wordpress`);
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Hilfe');
  await expect(page.getByRole('form', { name: 'Sprache' })).toBeVisible();
  await expect(german).toHaveAttribute('aria-current', 'true');
  await page.getByRole('link', { name: 'Kontakt' }).first().click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Kontakt');
  await page.getByRole('button', { name: 'English' }).click();
  await expect(page).toHaveURL(`${base()}/contact`);
  await expect(page.locator('html')).toHaveAttribute('lang', 'en');
  await context.close();
});

for (const path of PAGES) {
  test(`${path} is accessible in German and fits on a narrow screen`, async ({ page }) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto(`${base()}${path}?lang=de`);
    await expect(page.locator('html')).toHaveAttribute('lang', 'de');
    expect(await accessibilityProblems(page)).toEqual([]);
    const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    expect(width[0], 'nothing is wider than the window').toBeLessThanOrEqual(width[1]!);
  });
}

test('the button that copies a command is named in the language of the page', async ({ page }) => {
  await page.goto(`${base()}/?lang=de`);
  await expect(page.getByRole('button', { name: 'Kopieren Befehl zum Registrieren' })).toBeVisible();
});

test('the page that verifies proofs speaks the language of its address or of the browser', async ({ browser, page }) => {
  await page.goto(`${base()}/verify?lang=de`);
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Einen Nachweis prüfen');
  expect(await page.title()).toBe('Einen Nachweis prüfen · Assent');
  expect(await accessibilityProblems(page)).toEqual([]);
  const receipt = JSON.stringify({ receipt: {}, signature: '00' });
  await page.locator('#file').setInputFiles({ name: 'receipt.json', mimeType: 'application/json', buffer: Buffer.from(receipt) });
  await expect(page.locator('#verdict h2')).toHaveText('Das ist ein Beleg, kein Nachweis');
  const context = await browser.newContext({ locale: 'de-AT' });
  const other = await context.newPage();
  await other.goto(`${base()}/verify`);
  await expect(other.getByRole('heading', { level: 1 })).toHaveText('Einen Nachweis prüfen');
  await other.goto(`${base()}/verify?lang=en`);
  await expect(other.getByRole('heading', { level: 1 })).toHaveText('Check a proof');
  await context.close();
});
