import { expect, screenshot, test } from '../support/fixtures';
import { addSite, expectAccessible, TIMEOUT_MS, signUp, watchProblems } from '../support/console';

test('a preview of the popup is shown beside its form, and updated with it', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  await addSite(page);
  const frame = page.frameLocator('iframe[title="The popup with these settings"]');
  const popup = frame.getByRole('dialog');
  await expect(popup).toContainText('Ann Lee');
  await page.getByLabel('Name', { exact: true }).fill('Shop & Sons');
  await expect(popup).toContainText('Shop & Sons');
  await expectAccessible(page, 'popup-sample');
  await page.getByRole('combobox', { name: 'Language' }).selectOption('de');
  await expect(popup.getByRole('button', { name: 'Ablehnen' })).toBeVisible();
  await page.getByLabel('Colours', { exact: true }).selectOption('dark');
  await page.getByLabel('Device').selectOption('wide');
  await expect(popup).toHaveCSS('background-color', 'rgb(27, 30, 39)');
  // axe misreads the preview's own dark colours where the system forces others.
  await screenshot(page, 'console-popup-sample-night', true);

  await page.getByText('Appearance').click();
  const own = page.getByRole('checkbox', { name: 'Custom colours, dark' });
  const color = page.locator('[name=dark_text]');
  await expect(color).toHaveValue('#eef0f6');
  await color.fill('#555555');
  // Changing a colour switches it on.
  await expect(own).toBeChecked();
  await expect(page.getByText(/^Contrast too low: Dark: Text \d\.\d : 1/)).toBeVisible();
  // The service rejects colours that cannot be read. The preview shows that after its next update.
  const problem = page.getByRole('complementary', { name: 'Preview' }).getByRole('status');
  await expect(problem).not.toBeEmpty();
  await expectAccessible(page, 'popup-faint');
  await color.fill('#ffffff');
  await expect(page.getByRole('status').filter({ hasText: 'Contrast passes (WCAG AA).' })).toBeVisible();
  await expect(popup).toHaveCSS('color', 'rgb(255, 255, 255)');

  await own.uncheck();
  await page.getByRole('button', { name: 'Review and publish' }).click();
  await expect(page.getByText('the popup will have its default dark colours')).toBeVisible();
  await expectAccessible(page, 'popup-confirm-unused');
  await page.getByRole('button', { name: 'Back to editing' }).click();
  await expect(color).toHaveValue('#ffffff');

  for (const purpose of ['purpose_analytics', 'purpose_resolution']) await page.locator(`[name=${purpose}]`).uncheck();
  await expect(problem).not.toBeEmpty();
  expect(problems).toEqual([]);
});
