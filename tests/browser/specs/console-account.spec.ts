import { Page } from '@playwright/test';
import { expect, test } from '../support/fixtures';
import { addSite, expectAccessible, TIMEOUT_MS, signUp, watchProblems } from '../support/console';

/** Creates a key with all rights, which replaces the code of a mail here. */
const makeKey = async (page: Page): Promise<string> => {
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('combobox', { name: 'Permissions' }).selectOption('full');
  await page.getByRole('button', { name: 'Create key' }).click();
  // The previous page has a field "Name", which this label also matches.
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your new API key');
  return page.getByRole('textbox', { name: 'API key' }).inputValue();
};

test('members are invited, changed and removed, and the audit log lists it', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('link', { name: 'Members' }).click();
  await expect(page.getByRole('row', { name: /you/ })).toContainText('Admin');
  await page.getByLabel('Email address').fill('bob@shop.example');
  await page.getByRole('combobox', { name: 'Role' }).selectOption('operate');
  await page.getByRole('button', { name: 'Invite' }).click();
  await expect(page.getByRole('status')).toContainText('The member was added');
  const bob = page.getByRole('row', { name: /bob@shop\.example/ });
  await expect(bob).toContainText('Editor');
  await expectAccessible(page, 'members');
  await bob.getByRole('link', { name: 'Change bob@shop.example' }).click();
  await expectAccessible(page, 'member');
  await page.getByRole('combobox', { name: 'Role' }).selectOption('read');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(bob).toContainText('Read-only');
  await bob.getByRole('link').click();
  await page.getByRole('button', { name: 'Remove the member' }).click();
  await expect(page.getByRole('status')).toContainText('The member is removed');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await expect(page.getByRole('row', { name: /Invited a member: bob@shop\.example/ })).toContainText('you');
  await expectAccessible(page, 'events');
  expect(problems).toEqual([]);
});

test('the name and the address of the account can be changed', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  const key = await makeKey(page);
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await expectAccessible(page, 'account-plan');
  await page.getByRole('link', { name: 'Change name and address' }).click();
  await expectAccessible(page, 'profile');
  await page.getByRole('textbox', { name: /^Name/ }).fill('Ann & Co');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('definition').filter({ hasText: 'Ann & Co' })).toBeVisible();
  await page.getByRole('link', { name: 'Change name and address' }).click();
  const address = `new-${Date.now()}@shop.example`;
  await page.getByLabel('New email address').fill(address);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expectAccessible(page, 'proof');
  await page.getByLabel('API key').fill('px_wrong');
  await page.getByRole('button', { name: 'Change email' }).click();
  await expect(page.getByLabel('API key')).toHaveAccessibleDescription(/not an Admin key of this account/);
  await expectAccessible(page, 'proof-wrong');
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Change email' }).click();
  await expect(page.getByRole('status')).toContainText('Email changed');
  await expect(page.getByRole('contentinfo')).toContainText(address);
  expect(problems).toEqual([]);
});

test('an account can be exported and deleted', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  const host = await addSite(page);
  const key = await makeKey(page);
  await page.getByRole('link', { name: 'Export & delete' }).click();
  await expect(page.getByRole('listitem').filter({ hasText: 'one site' })).toBeVisible();
  await expect(page.getByText(`Visitors of ${host} are no longer asked`)).toBeVisible();
  await expectAccessible(page, 'leave');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export all data' }).click();
  expect((await download).suggestedFilename()).toMatch(/^assent-.*\.ndjson$/);
  const field = page.getByLabel(/^Type/);
  await field.fill('nothing');
  await page.getByRole('button', { name: 'Delete account' }).click();
  await expect(field).toHaveAccessibleDescription(/^Type .* to delete the account/);
  await field.fill((await page.locator('label bdi').textContent())!);
  await page.getByRole('button', { name: 'Delete account' }).click();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Delete account permanently' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Account deleted');
  await expectAccessible(page, 'ended');
  await page.goto(page.url().replace('/ended', '/account'));
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
  expect(problems).toEqual([]);
});

test('a mail can be turned off', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('link', { name: 'Email notifications' }).click();
  const vanished = page.getByRole('checkbox', { name: /A snippet is missing/ });
  await expect(vanished).toBeChecked();
  await expectAccessible(page, 'mails');
  await vanished.uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('status').first()).toHaveText('Saved.');
  await expectAccessible(page, 'mails-saved');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await expect(page.getByRole('row', { name: /Turned off an email notification: A snippet is missing/ })).toContainText('you');
  await page.getByRole('link', { name: 'Email notifications' }).click();
  await expect(vanished).not.toBeChecked();
  await expect(page.getByRole('checkbox', { checked: true })).toHaveCount(7);
  expect(problems).toEqual([]);
});
