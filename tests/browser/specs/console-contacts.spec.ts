import { Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { expectAccessible, TIMEOUT_MS } from '../support/console';
import { expect, test } from '../support/fixtures';
import { Pixel } from '../support/integrator';
import { signIn } from '../support/sample-data';

const NAMES = ['Ann Lee', 'Bob Stone', 'Zoë Adams'];

/** Stores three people, and opens the list. */
const openContacts = async (page: Page, shop: { base: string; pixel: Pixel }): Promise<void> => {
  const contacts = NAMES.map((name, number) => ({
    hem: number.toString(16).padStart(64, '0'),
    contact: { name, email: `${number}@work.example`, company: 'Blue Bakery', seats: null },
  }));
  const stored = await fetch(`${shop.base}/v1/pixels/${shop.pixel.id}/contacts`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${shop.pixel.key}` },
    body: JSON.stringify({ contacts }),
  });
  expect(stored.ok).toBe(true);
  await signIn(page, shop);
  await page.goto(`${shop.base}/console/sites/${shop.pixel.id}/contacts`);
};

test('people are listed, searched and confirmed before they are erased', async ({ page, shop }) => {
  test.setTimeout(TIMEOUT_MS);
  await openContacts(page, shop);
  await expect(page.getByRole('row')).toHaveCount(NAMES.length + 1);
  await expectAccessible(page, 'contacts-people');
  await page.getByLabel('Name, company or email').fill('zoe a');
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(page.getByRole('rowheader')).toContainText(['Zoë Adams']);
  expect(page.url()).not.toContain('zoe');
  await page.getByRole('checkbox', { name: 'Select Zoë Adams' }).check();
  await page.getByRole('button', { name: 'Erase selected' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Erase one person');
  await expectAccessible(page, 'contacts-confirm');
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('several people are selected and erased by keyboard', async ({ page, shop }) => {
    await openContacts(page, shop);
    for (const name of NAMES.slice(0, 2)) {
      await page.getByRole('checkbox', { name: `Select ${name}` }).focus();
      await page.keyboard.press('Space');
    }
    await page.getByRole('button', { name: 'Erase selected' }).focus();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Erase 2 people');
    await expect(page.getByRole('rowheader')).toHaveText([/Ann Lee/, /Bob Stone/]);
    await page.getByLabel('Type').fill(shop.pixel.host);
    await page.keyboard.press('Enter');
    await expect(page.getByRole('status')).toContainText('2 people are erased');
    await expect(page.getByRole('rowheader')).toContainText(['Zoë Adams']);
  });
});
