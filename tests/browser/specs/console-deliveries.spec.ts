import { Page } from '@playwright/test';
import { expect, test } from '../support/fixtures';
import { addSite, expectAccessible, TIMEOUT_MS, signUp, watchProblems } from '../support/console';

/** Adds an address that does not answer. */
const addAddress = async (page: Page): Promise<void> => {
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('textbox', { name: 'Endpoint URL' }).fill('https://hooks.invalid/a');
  await page.getByLabel('Format').selectOption('Slack message');
  await page.getByLabel('New contact').check();
  await page.getByRole('button', { name: 'Add endpoint' }).click();
  await expect(page.getByRole('status')).toContainText('The endpoint is added');
};

test('an address is added, tested, paused and deleted', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  await addSite(page);
  await addAddress(page);
  await expect(page.getByLabel('New contact')).toBeChecked();
  await page.getByRole('button', { name: 'Send test event' }).click();
  await expect(page.getByRole('alert')).toContainText('The test event was not delivered');
  await expectAccessible(page, 'delivery');
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await expect(page.getByRole('textbox', { name: 'Signing secret' })).toHaveValue(/^whsec_/);
  await expectAccessible(page, 'delivery-secret');
  await page.getByRole('link', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByRole('status')).toContainText('Paused. Events are kept for a day');
  await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: 'Webhooks' }).click();
  await expectAccessible(page, 'deliveries');
  await page.getByRole('link', { name: 'hooks.invalid' }).click();
  await page.getByRole('link', { name: 'Delete', exact: true }).click();
  await expectAccessible(page, 'delivery-delete');
  await page.getByRole('button', { name: 'Delete endpoint' }).click();
  await expect(page.getByText('No endpoints yet.')).toBeVisible();
  expect(problems).toEqual([]);
});
