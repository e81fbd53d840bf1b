import { randomBytes } from 'node:crypto';
import { addAuthenticator, NO_AUTHENTICATOR } from '../support/authenticator';
import { chromiumOnly } from '../support/browsers';
import { expectAccessible, TIMEOUT_MS } from '../support/console';
import { expect } from '../support/fixtures';
import { test } from '../support/mail-service';

test('a passkey is added, signs in and is removed', chromiumOnly(NO_AUTHENTICATOR), async ({ page, setup }) => {
  test.setTimeout(TIMEOUT_MS);
  const { base } = setup.service;
  const email = `ann-${randomBytes(5).toString('hex')}@shop.example`;
  const setVerified = await addAuthenticator(page);
  await page.goto(`${base}/console/sign-up`);
  await page.getByLabel('Your name').fill('Ann Lee');
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Sign up' }).click();
  const { text = '' } = await setup.mailboxes.take(email, /Assent code/);
  await page.getByLabel('6-digit code').fill(text.match(/\b\d{6}\b/)![0]);
  await page.getByRole('button', { name: 'Continue' }).click();

  await page.goto(`${base}/console/account`);
  await setVerified(false);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await expect(page.getByRole('alert')).toHaveText('No passkey was created. Try again.');
  await setVerified(true);
  await page.getByLabel('Passkey name').fill('Laptop');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await expect(page.getByRole('status')).toContainText('The passkey is added');
  await expectAccessible(page, 'passkeys');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await expect(page.getByRole('alert')).toHaveText('This device has a passkey for you already.');

  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
  await expectAccessible(page, 'sign-in-passkey');
  await setVerified(false);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page.getByRole('alert')).toHaveText('The passkey was not used. Try again, or sign in with a code.');
  await setVerified(true);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page.getByRole('contentinfo')).toContainText(email);

  await page.goto(`${base}/console/account`);
  await page.getByRole('button', { name: /^Remove Laptop/ }).click();
  await expect(page.getByRole('status')).toContainText('The passkey is removed');
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page.getByText('The passkey was not accepted. Try again, or sign in with a code.')).toBeVisible();
  await expectAccessible(page, 'sign-in-passkey-refused');
});

test('without an authenticator the code remains', async ({ page, setup }) => {
  await page.addInitScript(() => Reflect.deleteProperty(window, 'PublicKeyCredential'));
  await page.goto(`${setup.service.base}/console/sign-in`);
  await expect(page.getByRole('button', { name: 'Send code' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Sign in with a passkey' })).toBeHidden();
});
