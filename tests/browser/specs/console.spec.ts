import { createHash } from 'node:crypto';
import { chromiumOnly, LACKS } from '../support/browsers';
import { expect, test } from '../support/fixtures';
import { addSite, base, freshHost, expectAccessible, TIMEOUT_MS, signUp, watchProblems } from '../support/console';
import { requestsWith } from '../support/requests';

test('a person signs up, adds a site and gets its snippet', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await page.goto(`${base()}/console`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
  await expectAccessible(page, 'sign-in');
  await page.getByRole('link', { name: 'Sign up' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign up');
  await expectAccessible(page, 'sign-up');
  await signUp(page);
  await expectAccessible(page, 'new-site');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sites', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Get started' })).toBeVisible();
  await expectAccessible(page, 'sites-empty');
  const host = await addSite(page);
  await expectAccessible(page, 'popup');
  await page.getByRole('checkbox', { name: /Newsletter/ }).check();
  await page.getByText('Appearance').click();
  await page.getByLabel('Position').selectOption('top');
  await page.getByRole('button', { name: 'Review and publish' }).click();
  await expect(page.getByText('This is the first version.')).toBeVisible();
  await expect(page.getByRole('region', { name: 'The notice' })).toContainText('Newsletter');
  await expectAccessible(page, 'popup-confirm');
  await page.getByRole('checkbox', { name: 'Publish without these details' }).check();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Install');
  await expectAccessible(page, 'install');
  await expect(page.getByRole('textbox', { name: 'Snippet', exact: true })).toHaveValue(/<script async src="/);
  await page.getByRole('button', { name: 'Copy snippet' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'Copied' })).toHaveCount(1);
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sites', exact: true }).click();
  await expect(page.getByRole('row', { name: new RegExp(host) })).toContainText('Not verified');
  await expectAccessible(page, 'sites');
  expect(problems).toEqual([]);
});

test('an error about a host is shown beside its field', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  await signUp(page);
  const field = page.getByLabel('Domain');
  await field.fill('shop example');
  await page.getByRole('button', { name: 'Add site' }).click();
  await expect(field).toHaveAccessibleDescription(/This is not the host of a site/);
  await expect(field).toHaveAttribute('aria-invalid', 'true');
  await expect(page).toHaveTitle(/^Error: /);
  await expectAccessible(page, 'new-site-wrong');
  const host = freshHost();
  await field.fill(`https://www.${host}/cart?item=1`);
  await page.getByRole('button', { name: 'Add site' }).click();
  await expect(page.getByRole('status').first()).toHaveText(`Your site is ${host}: the domain of what you typed.`);
});

test('a site of another account can be claimed, with a DNS record or the snippet', async ({ page, browser }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await signUp(other);
  const host = await addSite(other);
  await elsewhere.close();
  await signUp(page);
  await page.getByRole('textbox', { name: 'Domain', exact: true }).fill(host);
  await page.getByRole('button', { name: 'Add site' }).click();
  await expect(page.getByRole('textbox', { name: 'Domain', exact: true })).toHaveAccessibleDescription(/is already in another account/);
  await expectAccessible(page, 'new-site-elsewhere');
  await page.getByRole('button', { name: 'Claim this site' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Claim ${host}`);
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue(`_assent.${host}`);
  await expect(page.getByRole('textbox', { name: 'Snippet', exact: true })).toHaveValue(/<script async src="/);
  await page.getByRole('button', { name: 'Copy value' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'Copied' })).toHaveCount(1);
  await expectAccessible(page, 'claim');
  await page.getByRole('button', { name: 'Verify now' }).click();
  await expect(page.getByRole('alert')).toContainText('Neither the DNS record nor the snippet was found yet');
  await expectAccessible(page, 'claim-not-proven');
  expect(problems).toEqual([]);
});

test('keys and sessions are created and ended', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  await page.getByRole('link', { name: 'Account' }).click();
  await page.getByRole('textbox', { name: /^Name/ }).fill('shop server');
  await page.getByRole('button', { name: 'Create key' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your new API key');
  await expect(page.getByRole('textbox', { name: 'API key' })).toHaveValue(/^px_\w{43}$/);
  await expectAccessible(page, 'new-key');
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await expectAccessible(page, 'account');
  await page.getByRole('link', { name: 'Revoke shop server' }).click();
  await expectAccessible(page, 'revoke-key');
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await expect(page.getByRole('status')).toContainText('The key is revoked');
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  // Without a mailbox or a key, the person could not sign in again.
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('You could not sign in again');
  await expectAccessible(page, 'no-way-back');
  await page.getByRole('link', { name: 'Create key' }).click();
  await expect(page.getByRole('heading', { name: 'API keys' })).toBeInViewport();
  await page.goto(`${base()}/console/sign-out`);
  await page.getByRole('button', { name: 'Sign out anyway' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
  await page.goto(`${base()}/console/account`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
  expect(problems).toEqual([]);
});

test('contacts are found by an address that is not sent, and open requests are listed', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  await signUp(page);
  const host = await addSite(page);
  await page.getByRole('link', { name: 'Contacts' }).click();
  await expect(page.getByText('Nobody has been identified yet.')).toBeVisible();
  await expectAccessible(page, 'contacts');
  const name = `Ann-${freshHost()}`;
  await page.getByLabel('Email address').fill(` ${name}@Shop.example `);
  await page.getByRole('button', { name: 'Find' }).click();
  await expect(page.getByText(`No data about this person is stored at ${host}`)).toBeVisible();
  const digest = createHash('sha256').update(`${name}@shop.example`.toLowerCase()).digest('hex');
  expect(page.url()).toContain(`hem=${digest}`);
  expect(await requestsWith(digest)).not.toEqual([]);
  expect(await requestsWith(name)).toEqual([]);
  await expectAccessible(page, 'person');
  await page.getByRole('link', { name: 'Erasure requests' }).click();
  await expect(page.getByText('No open requests.')).toBeVisible();
  await expectAccessible(page, 'requests');
});

test('a site can be added by keyboard', async ({ page }) => {
  await signUp(page);
  await page.keyboard.type(freshHost());
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Popup and notice');
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to the content' })).toBeFocused();
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('a site is added, published and removed', async ({ page }) => {
    await signUp(page);
    await addSite(page);
    await page.getByRole('button', { name: 'Review and publish' }).click();
    await page.getByRole('checkbox', { name: 'Publish without these details' }).check();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect(page.getByRole('textbox', { name: 'Snippet', exact: true })).toHaveValue(/<script async src="/);
    await page.getByRole('link', { name: 'Remove this site' }).click();
    const host = await page.locator('label bdi').textContent();
    await page.getByLabel('Type').fill('something else');
    await page.getByRole('button', { name: /Remove the site/ }).click();
    await expect(page.getByText(`Type ${host} to remove it.`)).toBeVisible();
    await page.getByLabel('Type').fill(host!);
    await page.getByRole('button', { name: /Remove the site/ }).click();
    await expect(page.getByText('The site was removed')).toBeVisible();
  });
});
