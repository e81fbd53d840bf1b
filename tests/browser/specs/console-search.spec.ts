import { addSite, base, expectAccessible, signUp, TIMEOUT_MS, watchProblems } from '../support/console';
import { chromiumOnly, LACKS } from '../support/browsers';
import { expect, test } from '../support/fixtures';

test('a key leads to the search, which opens a site or lists several', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  const [one, two] = [await addSite(page), await addSite(page)];
  await page.goto(`${base()}/console`);
  await page.keyboard.press('/');
  await expect(page.getByRole('searchbox', { name: 'Search sites, people and ids' })).toBeFocused();
  await page.keyboard.type(two);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toContainText(two);
  await page.getByRole('navigation', { name: 'Breadcrumb' }).locator('summary').click();
  await expectAccessible(page, 'site-menu');
  await page.keyboard.press('/');
  await page.keyboard.type('shop-');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('link', { name: one })).toBeVisible();
  await expect(page.getByRole('link', { name: two })).toBeVisible();
  await expectAccessible(page, 'search');
  await page.keyboard.press('/');
  await page.keyboard.type('nobody@mail.example');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('status')).toContainText('Nothing found');
  expect(page.url()).not.toContain('nobody');
  expect(problems).toEqual([]);
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('a menu leads to the same screen of another site by keyboard', async ({ page }) => {
    test.setTimeout(TIMEOUT_MS);
    await signUp(page);
    const [one, two] = [await addSite(page), await addSite(page)];
    await page.getByRole('navigation', { name: two }).getByRole('link', { name: 'Choices' }).click();
    const crumbs = page.getByRole('navigation', { name: 'Breadcrumb' });
    await crumbs.locator('summary').focus();
    await page.keyboard.press('Enter');
    await expect(crumbs.getByRole('link', { name: 'All sites' })).toBeVisible();
    await crumbs.getByRole('link', { name: one }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Choices');
    await expect(page.getByRole('heading', { level: 1 })).toContainText(one);
  });
});
