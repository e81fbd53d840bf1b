import { chromiumOnly, LACKS } from '../support/browsers';
import { expectAccessible, TIMEOUT_MS } from '../support/console';
import { expect, screenshot, Shop, test } from '../support/fixtures';
import { createPixel } from '../support/integrator';
import { fillMonths, record, signIn } from '../support/sample-data';

const createChoices = async (shop: Shop): Promise<{ accepted: string }> => {
  const accepted = await record(shop, 'visitor-a', 'accepted');
  // The longest id that the tag generates.
  await record(shop, '4294967295-4294967295-4294967295-4294967295', 'declined');
  await record(shop, 'visitor-a', 'withdrawn');
  await fillMonths(shop);
  await shop.configure({ controller_name: 'Another Shop Ltd', purposes: ['analytics', 'resolution'] });
  return { accepted };
};

test('an owner reads the statistics and a choice with its verified signature', async ({ page, shop }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems: string[] = [];
  // A test types before the page focuses its first field, which the browser reports.
  const isHarmless = (text: string): boolean => text.startsWith('Autofocus processing was blocked');
  page.on('console', (message) => isHarmless(message.text()) || problems.push(message.text()));
  page.on('request', (request) => request.url().startsWith(shop.base) || problems.push(request.url()));
  await createChoices(shop);
  await signIn(page, shop);
  await page.getByRole('link', { name: shop.pixel.host }).click();
  await page.getByRole('link', { name: 'Overview' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Overview');
  await expect(page.getByRole('img', { name: /^Choices by day/ })).toBeVisible();
  await expectAccessible(page, 'overview');
  await page.getByRole('link', { name: '365 days' }).click();
  await expect(page.getByRole('img', { name: /^Choices by week/ })).toBeVisible();
  await expectAccessible(page, 'overview-year');
  await page.emulateMedia({ media: 'print' });
  await screenshot(page, 'console-overview-print', true);
  await page.emulateMedia({ media: 'screen' });

  await page.getByRole('link', { name: 'Choices', exact: true }).click();
  await expectAccessible(page, 'choices');
  await page.getByLabel('Visitor').fill('visitor-a');
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect(page.getByRole('row')).toHaveCount(3);
  await page.getByRole('row', { name: /Accepted/ }).getByRole('link').first().click();
  await expect(page.getByText(/the visitor visitor-a of .* agreed to/)).toBeVisible();
  await expect(page.getByText('Signature valid.')).toBeVisible();
  await expectAccessible(page, 'choice');
  await page.evaluate(() => { window.print = () => document.title = 'printed'; });
  await page.getByRole('button', { name: 'Print or save as PDF' }).click();
  await expect(page).toHaveTitle('printed');
  await page.emulateMedia({ media: 'print' });
  await screenshot(page, 'console-choice-print', true);
  await page.emulateMedia({ media: 'screen' });
  expect(problems).toEqual([]);
});

test('another account has no access', async ({ page, shop }) => {
  const { accepted } = await createChoices(shop);
  const other = await createPixel(shop.base, `other-${shop.pixel.host}`);
  await signIn(page, { base: shop.base, pixel: other });
  for (const rest of ['overview', 'choices', `choices/${accepted}`, `choices/${accepted}/erase`]) {
    const answer = await page.goto(`${shop.base}/console/sites/${shop.pixel.id}/${rest}`);
    expect(answer!.status(), rest).toBe(404);
    await expect(page.getByText(shop.pixel.host, { exact: true })).toHaveCount(0);
  }
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('a visitor can be found and erased', async ({ page, shop }) => {
    test.setTimeout(TIMEOUT_MS);
    const { accepted } = await createChoices(shop);
    await signIn(page, shop);
    await page.goto(`${shop.base}/console/sites/${shop.pixel.id}/choices/${accepted}`);
    await expect(page.getByText('choose “Print” in your browser’s menu')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Print or save as PDF' })).toBeHidden();
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download the receipt' }).click();
    expect((await download).suggestedFilename()).toBe(`receipt-${accepted}.json`);
    await page.getByRole('link', { name: 'Erase this visitor' }).click();
    await expect(page.getByText('2 receipts')).toBeVisible();
    await page.getByLabel('Type the domain of the site to confirm').fill('something else');
    await page.getByRole('button', { name: 'Erase the visitor' }).click();
    await expect(page.getByText('Nothing was erased.')).toBeVisible();
    await page.getByLabel('Type the domain of the site to confirm').fill(shop.pixel.host);
    await page.getByRole('button', { name: 'Erase the visitor' }).click();
    await expect(page.getByText('The visitor was erased.')).toBeVisible();
    const gone = await page.goto(`${shop.base}/console/sites/${shop.pixel.id}/choices/${accepted}`);
    expect(gone!.status()).toBe(404);
  });
});
