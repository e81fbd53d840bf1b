import { resolve } from 'node:path';
import { FrameLocator, Locator, Page } from '@playwright/test';
import { Client } from 'pg';
import { TIMEOUT_MS } from '../support/console';
import { expect, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';
import { configureConsent, createPixel, Pixel, PLAIN_POLICY } from '../support/integrator';
import { fillMonths, record, signIn } from '../support/sample-data';

const PICTURES = resolve(__dirname, '../../../docs/pictures');

/**
 * The languages besides English in which pictures are taken, for example `de,pl`. They go into folders of their own, and
 * are not kept in the repository.
 */
const LANGUAGES = (process.env.PICTURES_LANGUAGES ?? '').split(',').filter(Boolean);

/** Takes pictures in a language. English ones have no folder. */
const camera =
  (language: string) =>
  (page: Page, name: string): Promise<Buffer> =>
    page.screenshot({ path: resolve(PICTURES, language === 'en' ? '' : language, `${name}.png`), animations: 'disabled' });

/** Backdates sites, as if they had been installed for months. */
const backdate = async (hosts: string[]): Promise<void> => {
  const client = new Client({ connectionString: process.env[ENVIRONMENT.databaseUrl] });
  await client.connect();
  await client.query(
    `UPDATE pixels SET created_at = now() - interval '91 days', install_status = 'installed', checked_at = now()
     WHERE domain = ANY ($1)`,
    [hosts],
  );
  await client.end();
};

/** A site in whose account somebody has signed in. */
interface Opened {
  base: string;
  pixel: Pixel;
}

const NAMES = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gwen', 'Hugo', 'Ida', 'Jan', 'Kira', 'Leo'];

const storePeople = async (base: string, { id, key }: Pixel, visitor: string): Promise<void> => {
  const contacts = Array.from({ length: 12 }, (_, day) => ({
    hem: day.toString(16).padStart(4, '0').repeat(16),
    seen_at: new Date(Date.now() - day * 86_400_000).toISOString(),
    visitor_id: visitor,
    contact: { name: `${NAMES[day]} Baker`, email: `${NAMES[day].toLowerCase()}@mail.example` },
  }));
  const response = await fetch(`${base}/v1/pixels/${id}/contacts`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: JSON.stringify({ contacts }),
  });
  expect(await response.json()).toMatchObject({ stored: contacts.length });
};

const popupIn = (page: Page | FrameLocator, language: string): Locator =>
  page.locator(`assent-ui [lang=${language}] [role=dialog]`);

/** Shows the popup in a language in the preview beside its form. */
const showSample = async (page: Page, language: string): Promise<void> => {
  const preview = page.locator('#sample');
  await preview.locator('#sample_lang').selectOption(language);
  await expect(popupIn(preview.locator('iframe').contentFrame(), language)).toBeVisible();
};

/** The page of a shop, kept simple for the pictures. */
const SHOP = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Anna’s Bread</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,"><style>
body { margin: 0; font: 18px/1.6 Georgia, serif; color: #3b2a1a; background: #fbf3e4 }
header { padding: 72px 96px 96px; background: #e9c98f }
h1 { margin: 0; font-size: 56px }
main { display: flex; gap: 32px; padding: 48px 96px }
section { flex: 1; height: 300px; background: #f1dfbe; border-radius: 12px }
</style>SNIPPET</head><body><header><h1>Anna’s Bread</h1><p>Out of the oven at six, every morning.</p></header>
<main><section></section><section></section><section></section></main></body></html>`;

const DESKTOP = { width: 1120, height: 760 };

test.use({ viewport: DESKTOP });

/** Takes the pictures of the screens of a site, whose choice is `choice`. The person has signed in. */
const takeScreens = async (page: Page, { base, pixel }: Opened, choice: string, language: string): Promise<void> => {
  const takePicture = camera(language);
  await page.setViewportSize(DESKTOP);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(`${base}/console`);
  await page.locator(`button[name=lang][value=${language}]`).click();
  await expect(page.locator('html')).toHaveAttribute('lang', language);
  await takePicture(page, 'sites');
  const at = `${base}/console/sites/${pixel.id}`;
  for (const [name, path] of [
    ['overview', 'overview'],
    ['choice', `choices/${choice}`],
    ['choices', 'choices'],
    ['popup', 'popup'],
    ['install', 'install'],
    ['contacts', 'contacts'],
  ]) {
    await page.setViewportSize({ ...DESKTOP, height: name === 'overview' ? 1000 : DESKTOP.height });
    await page.goto(`${at}/${path}`);
    if (name === 'popup') await showSample(page, language);
    await takePicture(page, name);
  }
  await page.setViewportSize({ width: 390, height: DESKTOP.height });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(`${at}/overview`);
  await takePicture(page, 'overview-phone-dark');
};

test('the console', async ({ page, browser, shop }) => {
  test.setTimeout(TIMEOUT_MS);
  const { base } = shop;
  const host = 'annas-bread.example';
  const pixel = await createPixel(base, host);
  const policy = await configureConsent(base, pixel, { ...PLAIN_POLICY, controller_name: "Anna's Bread" });
  const site = { base, pixel, policy };
  const accepted = await record(site, 'v-7Qm2kX', 'accepted');
  await storePeople(base, pixel, 'v-7Qm2kX');
  await record(site, 'v-93hTzP', 'declined');
  await record(site, 'v-93hTzP', 'withdrawn');
  await fillMonths(site);
  await backdate([host]);

  const address = await shop.put('/', { host, html: SHOP.replace('SNIPPET', policy.snippet) });
  await signIn(page, site);
  await expect(page.getByRole('link', { name: host })).toBeVisible();
  for (const language of ['en', ...LANGUAGES]) {
    const visitor = await browser.newPage({ locale: language === 'en' ? 'en-GB' : language, viewport: DESKTOP });
    await visitor.goto(address);
    await expect(popupIn(visitor, language)).toBeVisible();
    await camera(language)(visitor, 'visitor');
    await visitor.close();
    await takeScreens(page, site, accepted, language);
  }
});
