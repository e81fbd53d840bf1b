import { createHash } from 'node:crypto';
import { TIMEOUT_MS } from '../support/console';
import { accessibilityProblems, expect, screenshot, Shop, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';
import { englishTexts, overflow } from '../support/own-pages';
import { fillMonths, record, signIn } from '../support/sample-data';

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
    expect(await overflow(page), 'nothing is wider than the window').toBe(0);
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

/** Screens of the account, and those that belong to none. */
const ACCOUNT_SCREENS = [
  '', 'sites/new', 'all-sites', 'accounts', 'accounts/another', 'account', 'account/members', 'account/events',
  'account/deliveries', 'account/mails', 'account/suppressed', 'account/leave', 'account/preferences', 'account/profile',
];

const SITE_SCREENS = [
  'overview', 'share', 'time-zone', 'choices', 'popup', 'popup/versions', 'popup/versions/1', 'contacts', 'contacts/days', 'requests',
  'install', 'test', 'watch', 'move', 'remove',
];

/** Stores what the screens show, and returns the screens with their addresses below the console. */
const prepareScreens = async (shop: Shop): Promise<Record<'account' | 'site', Record<string, string>>> => {
  const { base, pixel } = shop;
  const headers = { Authorization: `Bearer ${pixel.key}`, 'Content-Type': 'application/json' };
  const post = async (path: string, body: object): Promise<any> => {
    const response = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.ok, path).toBe(true);
    return response.json();
  };
  const receipt = await record(shop, 'v-1', 'accepted');
  await record(shop, 'v-2', 'declined');
  await record(shop, 'v-2', 'withdrawn');
  await fillMonths(shop);
  const contact = { name: 'Zoë Adams-Featherstonehaugh', email: 'zoe@buyer.example', company: 'Blue Bakery' };
  const hem = createHash('sha256').update(contact.email).digest('hex');
  await post(`/v1/pixels/${pixel.id}/contacts`, { contacts: [{ hem, contact, visitor_id: 'v-1' }] });
  await post('/v1/consent/erasure-requests', { pixel_id: pixel.id, visitor_id: 'v-2' });
  const { request_id } = await post(`/v1/pixels/${pixel.id}/erasure-requests`, { hem });
  const at = `sites/${pixel.id}`;
  return {
    account: Object.fromEntries(ACCOUNT_SCREENS.map((screen) => [screen || 'sites', screen])),
    site: {
      ...Object.fromEntries(SITE_SCREENS.map((screen) => [screen, `${at}/${screen}`])),
      choice: `${at}/choices/${receipt}`,
      person: `${at}/contacts/find?hem=${hem}`,
      request: `${at}/requests/${request_id}`,
    },
  };
};

for (const [tag, name] of [['de', 'Deutsch'], ['pl', 'Polski']]) {
  for (const part of ['account', 'site'] as const) {
    test(`the screens of the ${part} in ${name} are accessible, have no English sentence, and fit on a narrow screen`, async ({ page, shop }) => {
      test.setTimeout(TIMEOUT_MS);
      const softly = expect.configure({ soft: true });
      const screens = await prepareScreens(shop);
      await signIn(page, shop);
      await page.getByRole('button', { name }).click();
      await page.setViewportSize({ width: 320, height: 640 });
      for (const [screen, path] of Object.entries(screens[part])) {
        await page.goto(`${base()}/console/${path}`);
        await softly(page.locator('html'), screen).toHaveAttribute('lang', tag);
        softly(await englishTexts(page), screen).toEqual([]);
        softly(await overflow(page), `nothing is wider than the window (${screen})`).toBe(0);
        // On a busy machine axe may run before the preview of the popup has its colours.
        await softly.poll(() => accessibilityProblems(page), { message: screen }).toEqual([]);
        await screenshot(page, `${tag}-${screen.replaceAll('/', '-')}`, true);
      }
    });
  }
}
