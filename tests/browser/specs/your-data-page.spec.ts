import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Page } from '@playwright/test';
import { Client } from 'pg';
import { chromiumOnly, isFirefox, LACKS, viewsOf } from '../support/browsers';
import { accessibilityProblems, expect, screenshot, settle, Shop, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';
import { checkConsent, readLog, verifyReceipt } from '../support/integrator';
import { requestsWith } from '../support/requests';

const HOSTILE = '"><img src=x onerror="window.harmed=1"><script>window.harmed=1</script>{date}\u202e';

const record = async (shop: Shop, visitor: string, choice: object): Promise<void> => {
  const body = { pixel_id: shop.pixel.id, visitor_id: visitor, url: `${shop.origin}/`, ...choice };
  const { status } = await fetch(`${shop.base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(body) });
  expect(status).toBe(202);
};

const accept = (shop: Shop, visitor: string): Promise<void> =>
  record(shop, visitor, {
    consent: 'accepted',
    affirmative: true,
    policy_version_hash: shop.policy.policy_hash,
    purposes: ['analytics', 'resolution'],
  });

/** Creates a visitor who has declined and then accepted, and returns the id. */
const visitorOf = async (shop: Shop): Promise<string> => {
  const visitor = `v-${randomUUID()}`;
  await record(shop, visitor, { consent: 'declined' });
  await accept(shop, visitor);
  return visitor;
};

const address = (shop: Shop, visitor: string, query = ''): string =>
  `${shop.base}/your-data${query}#pixel=${shop.pixel.id}&visitor=${visitor}`;

const change = async (sql: string, ...values: string[]): Promise<void> => {
  const client = new Client({ connectionString: process.env[ENVIRONMENT.databaseUrl] });
  await client.connect();
  await client.query(sql, values).finally(() => client.end());
};

/** The elements of the page, by role and name. */
const elements = (page: Page) => ({
  state: page.locator('#state'),
  status: page.locator('#said'),
  problem: page.getByRole('alert'),
  withdraw: page.getByRole('button', { name: 'Withdraw my consent' }),
  download: page.getByRole('button', { name: 'Download my data' }),
  erase: page.getByRole('button', { name: 'Ask the site to erase my data' }),
  confirmation: page.getByRole('group', { name: 'Send this request to the site? It cannot be taken back.' }),
  send: page.getByRole('button', { name: 'Send request' }),
  retry: page.getByRole('button', { name: 'Try again' }),
  choices: page.locator('#list > li'),
});

const yourRequests = (page: Page) => page.getByRole('region', { name: 'Your requests to erase' });

/** Records the page's requests and the violations of its content security policy. */
const watchPage = async (page: Page): Promise<{ requests: string[]; refused: () => Promise<string[]> }> => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.addInitScript(() => {
    (window as any).refused = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      (window as any).refused.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  return { requests, refused: () => page.evaluate(() => (window as any).refused) };
};

test('shows the choices, newest first, and the state of the consent', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await page.goto(address(shop, visitor));
  const { state, choices, withdraw } = elements(page);
  await expect(page.getByRole('heading', { name: /Your choice on/ })).toContainText(shop.pixel.host);
  await expect(state).toContainText('You have agreed. Your consent is valid until');
  await expect(choices).toHaveCount(2);
  await expect(choices.nth(0)).toContainText('You agreed to:');
  await expect(choices.nth(0).getByRole('listitem')).toHaveText(['Recognising you', 'Statistics']);
  await expect(choices.nth(1)).toContainText('You declined.');
  await expect(choices.nth(1).getByRole('listitem')).toHaveCount(0);
  await expect(withdraw).toBeVisible();
});

test('links to the notice of each choice, in the version that was shown', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await shop.configure({ controller_name: HOSTILE, purposes: ['analytics'] });
  await record(shop, visitor, { consent: 'declined' });
  await page.goto(address(shop, visitor));
  const { state, choices } = elements(page);
  await expect(state).toHaveText('You have declined. Nothing is permitted.');
  const links = choices.getByRole('link', { name: 'Notice you saw' });
  await expect(links).toHaveCount(3);
  await links.nth(1).click();
  await expect(page.getByText('Example Shop Ltd').first()).toBeVisible();
  await page.goBack();
  await links.nth(0).click();
  await expect(page.getByText('window.harmed=1').first(), 'markup in a name is shown as text').toBeVisible();
  expect(await page.evaluate(() => (window as any).harmed)).toBeUndefined();
  await page.goBack();
  await expect(choices).toHaveCount(3);
});

test('can be used completely by keyboard: withdraw, download, request erasure', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  const { requests, refused } = await watchPage(page);
  await page.goto(address(shop, visitor));
  const { state, status, withdraw, download, erase, confirmation, send, choices } = elements(page);
  await expect(choices).toHaveCount(2);

  await page.keyboard.press('Tab');
  await expect(page.locator('.skip')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('#main')).toBeFocused();
  expect(page.url(), 'the ids stay in the address').toBe(address(shop, visitor));
  await page.keyboard.press('Tab');
  await expect(withdraw).toBeFocused();

  await page.keyboard.press('Enter');
  await expect(status).toHaveText('Your withdrawal is recorded. The site itself stops when you open it next.');
  await expect(state).toHaveText('You have withdrawn your consent. Nothing is permitted any more.');
  await expect(state).toBeFocused();
  await expect(withdraw).toBeHidden();
  await expect(choices).toHaveCount(3);
  expect(await checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({
    permitted: false,
    reason: 'declined_or_withdrawn',
  });

  await page.keyboard.press('Tab');
  await expect(download).toBeFocused();
  const saved = isFirefox(page) ? null : page.waitForEvent('download');
  await page.keyboard.press('Enter');
  await expect(status).toContainText(`your-data-${shop.pixel.host}.json`);
  // Playwright reports downloads that a page has generated only in Chromium.
  if (saved) {
    const file = await saved;
    expect(file.suggestedFilename()).toBe(`your-data-${shop.pixel.host}.json`);
    const { site, receipts } = JSON.parse(await readFile((await file.path())!, 'utf8'));
    expect(site).toBe(shop.pixel.host);
    expect(receipts.map(({ receipt }: any) => receipt.consent_state)).toEqual(['withdrawn', 'accepted', 'declined']);
    for (const receipt of receipts) expect(await verifyReceipt(shop.base, receipt)).toBe(true);
  }

  await page.keyboard.press('Tab');
  await expect(erase).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(confirmation).toBeVisible();
  await expect(send).toBeFocused();
  await confirmation.getByRole('button', { name: 'Close' }).press('Enter');
  await expect(confirmation).toBeHidden();
  await expect(erase, 'nothing was sent').toBeFocused();
  await page.keyboard.press('Enter');
  const response = page.waitForResponse('**/v1/consent/erasure-requests');
  await page.keyboard.press('Enter');
  expect((await response).status()).toBe(202);
  const [{ body }] = (await requestsWith(visitor)).filter(({ path }) => path === '/v1/consent/erasure-requests');
  expect(JSON.parse(body)).toEqual({ pixel_id: shop.pixel.id, visitor_id: visitor });
  await expect(status).toHaveText('Your request has been sent. The site has 30 days to answer it.');
  await expect(erase, 'another cannot be sent while one is open').toBeHidden();
  await expect(confirmation).toBeHidden();
  await expect(state).toBeFocused();
  await expect(yourRequests(page)).toContainText('You asked the site to erase your data on');

  await page.keyboard.press('Tab');
  await expect(download).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(choices.nth(0).getByRole('link', { name: 'Notice you saw' })).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(choices.nth(0).getByRole('link', { name: 'Your receipt' })).toBeFocused();

  const addresses = requests.map((url) => url.replace(/#.*/, '')).join(' ');
  expect(addresses).not.toContain(visitor);
  expect(addresses).not.toContain(shop.pixel.id);
  expect(await refused()).toEqual([]);
});

test('saves the proof of each choice', chromiumOnly(LACKS.generatedFiles), async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await page.goto(address(shop, visitor));
  const { status, choices } = elements(page);
  const downloaded = page.waitForEvent('download', { timeout: 60_000 });
  await choices.nth(1).getByRole('link', { name: 'Your receipt' }).click();
  const file = await downloaded;
  await expect(status).toContainText(file.suggestedFilename());
  const proof = JSON.parse(await readFile((await file.path())!, 'utf8'));
  expect(proof.statement.receipt).toMatchObject({ visitor_id: visitor, consent_state: 'declined' });
  const verification = await fetch(`${shop.base}/v1/consent/proof/verify`, { method: 'POST', body: JSON.stringify({ proof }) });
  expect(await verification.json()).toMatchObject({ valid: true });
});

test('a withdrawal is recorded once for the site, however often the button is pressed', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await page.goto(address(shop, visitor));
  const { withdraw, status } = elements(page);
  await withdraw.evaluate((button: HTMLElement) => {
    for (let press = 0; press < 5; press++) button.click();
  });
  await expect(status).toContainText('Your withdrawal is recorded.');
  await settle(page);
  const log = await readLog(shop.base, shop.pixel);
  expect(log.map(({ consent_state }) => consent_state)).toEqual(['withdrawn', 'accepted', 'declined']);
  expect(log[0].origin).toBe(`https://${shop.pixel.host}`);
});

test('an acceptance of an earlier notice can be withdrawn too', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await shop.configure({ controller_name: 'Another Ltd', purposes: ['analytics'] });
  await page.goto(address(shop, visitor));
  const { state, withdraw, status } = elements(page);
  await expect(state).toHaveText('The site has changed its notice since you agreed. It must ask you again.');
  await withdraw.click();
  await expect(status).toContainText('Your withdrawal is recorded.');
});

test('an expired acceptance is shown as such, and cannot be withdrawn', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await change(
    `UPDATE consent_receipts SET expires_at = '2025-01-31T12:00:00Z' WHERE visitor_id = $1 AND consent_state = 'accepted'`,
    visitor,
  );
  await page.goto(address(shop, visitor));
  const { state, withdraw, erase } = elements(page);
  await expect(state).toContainText('Your consent ended on');
  await expect(state).toContainText('31 January 2025');
  await expect(erase).toBeVisible();
  await expect(withdraw).toBeHidden();
});

test('markup in foreign texts is shown as text', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await change('UPDATE consent_receipts SET purposes = ARRAY[$2] WHERE visitor_id = $1', visitor, HOSTILE);
  const { refused } = await watchPage(page);
  await page.goto(address(shop, visitor));
  await expect(elements(page).choices.nth(0).getByRole('listitem')).toHaveText([HOSTILE]);
  expect(await page.locator('article img, article script').count()).toBe(0);
  expect(await page.evaluate(() => (window as any).harmed)).toBeUndefined();
  expect(await refused(), 'no violation was attempted').toEqual([]);
});

test('an incomplete address and an unknown visitor are reported', async ({ page, shop }) => {
  const { state, choices, download } = elements(page);
  const incomplete = /^This address is not complete/;
  for (const fragment of ['', '#', '#pixel=a', '#visitor=a', `#pixel=a&visitor=${encodeURIComponent(HOSTILE)}`, '#main']) {
    await page.goto('about:blank');
    await page.goto(`${shop.base}/your-data${fragment}`);
    await expect(state, fragment).toHaveText(incomplete);
  }
  await page.goto('about:blank');
  await page.goto(address(shop, 'nobody'));
  await expect(state).toHaveText('No choice of this browser is stored here.');
  await expect(download).toBeHidden();
  // Navigation to another fragment in the same window, as by a link: the page is not reloaded.
  const follow = (to: string): Promise<void> => page.evaluate((url) => location.assign(url), to);
  await follow(address(shop, await visitorOf(shop)));
  await expect(choices).toHaveCount(2);
  await follow(address(shop, 'nobody'));
  await expect(choices.first()).toBeHidden();
  await expect(state).toHaveText('No choice of this browser is stored here.');
});

test('a refused request is shown with its reason and the right to complain, also after a reload', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await page.goto(address(shop, visitor));
  const { choices, erase, send } = elements(page);
  await expect(choices).toHaveCount(2);
  await expect(yourRequests(page)).toBeHidden();
  await erase.click();
  await send.click();
  await expect(yourRequests(page)).toContainText('It must answer by');
  await page.reload();
  await expect(yourRequests(page)).toContainText('It must answer by');
  await expect(erase).toBeHidden();

  const pixel = `${shop.base}/v1/pixels/${shop.pixel.id}/erasure-requests`;
  const headers = { Authorization: `Bearer ${shop.pixel.key}` };
  const { requests } = (await (await fetch(pixel, { headers })).json()) as { requests: { request_id: string }[] };
  const body = JSON.stringify({ reason: '<b>The invoices</b> must be kept.' });
  const refusal = await fetch(`${pixel}/${requests[0]!.request_id}/refuse`, { method: 'POST', headers, body });
  expect(refusal.status).toBe(200);
  await page.reload();
  await expect(yourRequests(page)).toContainText('The site refused to erase your data on');
  await expect(yourRequests(page).getByRole('blockquote')).toHaveText('<b>The invoices</b> must be kept.');
  await expect(yourRequests(page)).toContainText('You can complain about this to a data protection authority.');
  const authority = yourRequests(page).getByRole('link');
  await expect(authority, 'the notice names no country').toHaveCount(0);
  await expect(erase, 'a new request can be sent').toBeVisible();
  expect(await accessibilityProblems(page)).toEqual([]);
  await screenshot(page, 'your-data-refused');

  await page.route('**/v1/consent/erasure-requests/history', async (route) => {
    const response = await route.fetch();
    const named = { name: 'Data Protection Commission', url: 'https://www.dataprotection.ie/' };
    await route.fulfill({ response, json: { ...(await response.json()), authority: named } });
  });
  await page.reload();
  await expect(authority).toHaveText('Data Protection Commission');
  await expect(authority).toHaveAttribute('href', 'https://www.dataprotection.ie/');
  expect(await accessibilityProblems(page)).toEqual([]);
});

test('after a network error nothing is lost, and trying again works', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  const { state, status, problem, retry, withdraw, erase, send, choices } = elements(page);
  await page.route('**/v1/consent/**', (route) => route.abort());
  await page.goto(address(shop, visitor));
  await expect(problem).toHaveText('Your choices could not be loaded. Please try again.');
  await retry.press('Enter');
  await expect(problem).toHaveText('Your choices could not be loaded. Please try again.');
  await expect(retry).toBeFocused();
  await page.unroute('**/v1/consent/**');
  await retry.press('Enter');
  await expect(choices).toHaveCount(2);
  await expect(problem).toHaveText('');
  await expect(state).toBeFocused();

  await page.route('**/v1/consent/record', (route) => route.abort());
  await withdraw.click();
  await expect(problem).toHaveText('That did not work. Please try again.');
  await expect(choices).toHaveCount(2);
  await expect(withdraw, 'it can be tried again').toBeFocused();
  await page.unroute('**/v1/consent/record');
  // The withdrawal is recorded, but the history cannot be loaded.
  await page.route('**/v1/consent/history', (route) => route.abort());
  await withdraw.click();
  await expect(status).toContainText('Your withdrawal is recorded.');
  await expect(state).toContainText('You have withdrawn your consent.');
  await expect(withdraw).toBeHidden();

  await page.route('**/v1/consent/erasure-requests', (route) => route.fulfill({ status: 503 }));
  await erase.click();
  await send.click();
  await expect(problem).toHaveText('That did not work. Please try again.');
});

test('another language shows the same data', async ({ page, shop }) => {
  const visitor = await visitorOf(shop);
  await page.goto(address(shop, visitor));
  await expect(elements(page).choices).toHaveCount(2);
  await page.locator('.langs summary').click();
  await page.getByRole('link', { name: 'Deutsch' }).click();
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  await expect(elements(page).choices).toHaveCount(2);
  await expect(elements(page).state).toContainText('Sie haben zugestimmt.');
  const notice = elements(page).choices.first().getByRole('link').first();
  expect(await notice.getAttribute('href'), 'the shown language is not known').toContain('&lang=de');
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('the page shows instructions', async ({ page, shop }) => {
    await page.goto(address(shop, 'nobody'));
    await expect(page.locator('#state')).toContainText('This page needs JavaScript.');
    await expect(page.getByRole('button')).toHaveCount(0);
  });
});

const VIEWS = {
  desktop: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' as const, lang: 'en' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' as const, lang: 'en' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' as const, lang: 'en' },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const, lang: 'en' },
  narrow: { viewport: { width: 320, height: 640 }, colorScheme: 'light' as const, lang: 'de' },
  arabic: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' as const, lang: 'ar' },
  'arabic-phone': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const, lang: 'ar' },
};

test('is accessible and fits, in every view', async ({ page, shop }) => {
  test.setTimeout(240_000);
  for (const [view, { viewport, colorScheme, lang }] of viewsOf(page, VIEWS)) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.goto('about:blank');
    await page.goto(address(shop, await visitorOf(shop), `?lang=${lang}`));
    await expect(page.locator('#list > li').first()).toBeVisible();
    const expectAccessible = async (): Promise<void> => {
      // A transition of a button's colours or a new rendering of the list may still be running.
      await expect.poll(() => accessibilityProblems(page), { message: view, timeout: 60_000 }).toEqual([]);
      const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      expect(width[0], `nothing is wider than the window (${view})`).toBeLessThanOrEqual(width[1]);
    };
    await expectAccessible();
    await screenshot(page, `your-data-${view}`, true);
    await page.locator('#withdraw').click();
    await expect(page.locator('#said')).not.toBeEmpty();
    await expectAccessible();
    await screenshot(page, `your-data-${view}-withdrawn`, true);
  }
  await page.setViewportSize(VIEWS.desktop.viewport);
  await page.goto(`${shop.base}/your-data`);
  expect(await accessibilityProblems(page)).toEqual([]);
  await screenshot(page, 'your-data-incomplete', true);
});

test('has no buttons in print', chromiumOnly(LACKS.colours), async ({ page, shop }) => {
  await page.goto(address(shop, await visitorOf(shop)));
  await expect(page.locator('#list > li').first()).toBeVisible();
  await page.emulateMedia({ media: 'print', colorScheme: 'light' });
  await screenshot(page, 'your-data-print', true);
  await expect(page.getByRole('button')).toHaveCount(0);
});
