import { randomBytes } from 'node:crypto';
import { Page } from '@playwright/test';
import { expectAccessible, TIMEOUT_MS } from '../support/console';
import { expect } from '../support/fixtures';
import { MailService, test } from '../support/mail-service';

const address = (name: string): string => `${name}-${randomBytes(5).toString('hex')}@shop.example`;

/** The six digits of the newest mail whose subject matches. */
const digits = async ({ mailboxes }: MailService, to: string, subject: RegExp): Promise<string> => {
  const { text = '' } = await mailboxes.take(to, subject);
  return text.match(/\b\d{6}\b/)![0];
};

const open = async (page: Page, setup: MailService, email: string): Promise<void> => {
  const { base } = setup.service;
  await page.goto(`${base}/console/sign-up`);
  await page.getByLabel('Your name').fill('Ann Lee');
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByLabel('6-digit code').fill(await digits(setup, email, /Assent code/));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.goto(`${base}/console/account`);
};

test('a new address waits without a code of the present mailbox, from which it can be cancelled', async ({ page, setup }) => {
  test.setTimeout(TIMEOUT_MS);
  const [ann, other] = [address('ann'), address('new')];
  await open(page, setup, ann);
  await page.getByRole('link', { name: 'Change name and address' }).click();
  await page.getByLabel('New email address').fill(other);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByLabel(`6-digit code sent to ${ann}`)).toBeVisible();
  await expectAccessible(page, 'address-codes');
  await page.getByLabel(`6-digit code sent to ${other}`).fill(await digits(setup, other, /Assent code/));
  await page.getByRole('button', { name: 'Change email' }).click();
  await expect(page.getByRole('status')).toContainText('takes effect in seven days');
  await expectAccessible(page, 'address-waiting');
  await page.getByRole('link', { name: 'Keep the current one' }).click();
  await expect(page.getByRole('button', { name: `Keep ${ann}` })).toBeVisible();
  await expectAccessible(page, 'address-keep');

  const { text = '' } = await setup.mailboxes.take(ann, /A change of your Assent account’s email was requested/);
  await page.goto(text.match(/http\S+address-change\S+/)![0]);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Keep the present address?');
  await expectAccessible(page, 'address-cancel');
  // The browser's own session requested it.
  await expect(page.getByRole('checkbox')).toBeChecked();
  await page.getByRole('button', { name: 'Cancel the change' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('The change is cancelled');
  await page.goto(`${setup.service.base}/console/account`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
});

test('removing a member offers to revoke the keys that the member created', async ({ page, browser, setup }) => {
  test.setTimeout(TIMEOUT_MS);
  const [ann, bob] = [address('ann'), address('bob')];
  await open(page, setup, ann);
  const { base } = setup.service;
  await page.goto(`${base}/console/account/members`);
  await page.getByLabel('Email address').fill(bob);
  await page.getByRole('combobox', { name: 'Role' }).selectOption('full');
  await page.getByRole('button', { name: 'Invite' }).click();
  await expect(page.getByRole('status')).toContainText('Invitation sent');

  const theirs = await (await browser.newContext({ locale: 'en-GB' })).newPage();
  await theirs.goto(`${base}/console/sign-in`);
  await theirs.getByLabel('Email address').fill(bob);
  await theirs.getByRole('button', { name: 'Send code' }).click();
  await theirs.getByLabel('6-digit code').fill(await digits(setup, bob, /signs you in/));
  await theirs.getByRole('button', { name: 'Continue' }).click();
  await theirs.goto(`${base}/console/account`);
  await theirs.getByRole('textbox', { name: /^Name/ }).fill('shop server');
  await theirs.getByRole('button', { name: 'Create key' }).click();
  await theirs.context().close();

  await page.goto(`${base}/console/account`);
  await expect(page.getByRole('row', { name: /shop server/ })).toContainText(bob);
  await expectAccessible(page, 'account-keys-by');
  await page.goto(`${base}/console/account/members`);
  await page.getByRole('link', { name: `Change ${bob}` }).click();
  await expect(page.getByRole('group', { name: 'The member has created one key' })).toBeVisible();
  await expectAccessible(page, 'member-keys');
  await page.getByLabel('Revoke them now').check();
  await page.getByRole('button', { name: 'Remove the member' }).click();
  await expect(page.getByRole('status')).toContainText('the member’s keys are revoked');
});
