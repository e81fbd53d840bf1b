import { Page } from '@playwright/test';
import { addAuthenticator, NO_AUTHENTICATOR } from '../support/authenticator';
import { chromiumOnly } from '../support/browsers';
import { Account, expect, freshAddress, freshHost, HOSTS, openAccount, openSite, Setup, signIn, takeCode, test } from '../support/task-setup';
import { signInFromHome } from '../support/task-sign-in';
import { Task, task } from '../support/tasks';

const statusOf = async (address: string, key: string, method = 'GET'): Promise<number> => {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const body = method === 'GET' ? undefined : JSON.stringify({ domain: freshHost() });
  return (await fetch(address, { method, headers, body })).status;
};

/** Returns from the payment provider, whose pages are no part of the service. */
const returnFromProvider = (page: Page): Promise<void> => page.getByRole('link', { name: 'Return' }).click();

test('task 1: an owner signs up, and has a live popup whose installation is verified', async ({ page, setup }) => {
  const person = task(page, 'task 1');
  const email = freshAddress('ann');
  await person.start(setup.base);
  await person.click('link', 'Start free trial');
  await person.fill(/^Your name/, 'Ann Lee');
  await person.fill('Email address', email);
  await person.click('button', 'Sign up');
  await person.isAt('Check your email');
  await person.fill('6-digit code', await takeCode(setup, email));
  await person.click('button', 'Continue');
  await person.isAt('Add site');
  await person.fill('Domain', HOSTS.installed);
  await person.click('button', 'Add site');
  await person.isAt('Popup and notice');
  await person.click('button', 'Review and publish');
  await person.click('checkbox', 'Publish without these details');
  await person.click('button', 'Publish');
  await person.isAt('Install');
  setup.sites.installed.paste(await page.getByRole('textbox', { name: 'Snippet', exact: true }).inputValue());
  await person.click('button', 'Verify now');
  await person.sees(/^Installed/);
  person.end(8);
});

test('task 2: an owner learns why nothing comes in', async ({ page, setup }) => {
  const { account } = await openSite(setup, HOSTS.empty);
  await signIn(page, setup, account.email);
  const person = task(page, 'task 2');
  await person.start(`${setup.base}/console`);
  await person.click('link', HOSTS.empty);
  await person.isAt('Install');
  await person.click('button', 'Verify now');
  await person.sees('The snippet was not found on the page.');
  await person.sees(/^Paste the snippet before <\/head>/);
  person.end(2);
});

test('task 9: an owner makes a key that only reads, and revokes it', async ({ page, setup }) => {
  const { account } = await openSite(setup);
  await signIn(page, setup, account.email);
  const person = task(page, 'task 9');
  await person.start(`${setup.base}/console`);
  await person.click('link', 'Account');
  await person.fill(/^Name/, 'reports');
  await person.click('button', 'Create key');
  await person.isAt('Your new API key');
  const key = await page.getByRole('textbox', { name: 'API key', exact: true }).inputValue();
  expect(await statusOf(`${setup.base}/v1/whoami`, key)).toBe(200);
  expect(await statusOf(`${setup.base}/v1/pixels`, key, 'POST'), 'it changes nothing').toBe(403);
  await person.click('link', 'Back to the account');
  await person.click('link', 'Revoke reports');
  await person.click('button', 'Revoke key');
  await person.sees(/^The key is revoked/);
  expect(await statusOf(`${setup.base}/v1/whoami`, key)).toBe(401);
  person.end(5);
});

test('task 10: an owner pays, cancels, exports everything and deletes the account', async ({ page, setup }) => {
  const { account } = await openSite(setup);
  await signIn(page, setup, account.email);
  const person = task(page, 'task 10');
  await person.start(`${setup.base}/console`);
  await person.click('link', 'Account');
  await person.click('button', 'Subscribe for 1 US dollar a month');
  await person.click('link', 'Continue');
  await person.isAt('Card details');
  await setup.change(`UPDATE accounts SET plan = 'paid', paid_until = now() + interval '30 days' WHERE account_id = $1`, account.id);
  await setup.change(
    `INSERT INTO subscriptions (subscription_id, account_id, customer_id, ended, known_since)
     VALUES ('sub_' || md5($1::text), $1::text, 'cus_' || md5($1::text), false, now())`,
    account.id,
  );
  await returnFromProvider(page);
  await person.sees(/^Paid until/);
  await person.click('button', 'Manage billing');
  await person.click('link', 'Continue');
  await person.isAt('Cancel the subscription');
  await returnFromProvider(page);
  await person.click('link', 'Export & delete');
  const file = await person.download('link', 'Export all data');
  expect(file.suggestedFilename()).toMatch(/\.ndjson$/);
  await person.fill(/^Type/, account.email);
  await person.click('button', 'Delete account');
  await person.fill('6-digit code', await takeCode(setup, account.email));
  await person.click('button', 'Delete account permanently');
  await person.isAt('Account deleted');
  person.end(9);
});

test('task 11: an owner signs in on another device, and is notified of it by mail', async ({ page, browser, setup }) => {
  const { email } = await openAccount(setup);
  const device = await browser.newContext({ locale: 'en-GB' });
  await signIn(await device.newPage(), setup, email);
  const person = task(page, 'task 11');
  await signInFromHome(person, setup, email);
  await setup.mailboxes.take(email, /^A new sign-in to your Assent account/);
  person.end(3);
  await device.close();
});

test('task 12: an owner moves a site to a new domain', async ({ page, setup }) => {
  const { account, pixel } = await openSite(setup);
  const host = freshHost();
  await signIn(page, setup, account.email);
  const person = task(page, 'task 12');
  await person.start(`${setup.base}/console`);
  await person.click('link', pixel.host);
  await person.click('link', 'Move to another domain');
  await person.fill('New domain', host);
  await person.click('button', 'Review the move');
  await person.sees(/^The snippet stays the same/);
  await person.click('button', 'Move the site');
  await person.sees(/^The site has moved to this domain/);
  await person.isAt(host);
  person.end(4);
});

/** Changes the address without a code of the mailbox that is lost, and lets the seven days pass. Begins in the console. */
const moveToMailbox = async (person: Task, setup: Setup, account: Account, email: string): Promise<void> => {
  await person.click('link', 'Account');
  await person.click('link', 'Change name and address');
  await person.fill('New email address', email);
  await person.click('button', 'Continue');
  await person.isAt('Change email');
  await person.sees(/^No access to that mailbox\?/);
  await person.fill(`6-digit code sent to ${email}`, await takeCode(setup, email));
  await person.click('button', 'Change email');
  await person.sees(/^The new email takes effect in seven days/);
  await setup.mailboxes.take(email, /^This address becomes the email of an Assent account/);
  await setup.change(`UPDATE address_changes SET takes_effect_at = now() - interval '1 minute' WHERE account_id = $1`, account.id);
  await setup.runDueWork(async () => {
    const [row] = await setup.change('SELECT email FROM accounts WHERE account_id = $1', account.id);
    return row.email === email;
  });
};

test('task 18: an owner who has lost the mailbox, and is signed in, gets the account to a new one', async ({ page, browser, setup }) => {
  const { account } = await openSite(setup);
  const email = freshAddress('new');
  await signIn(page, setup, account.email);
  const person = task(page, 'task 18, signed in');
  await person.start(`${setup.base}/console`);
  await moveToMailbox(person, setup, account, email);
  const later = await browser.newContext({ locale: 'en-GB' });
  person.goOn(await later.newPage());
  await signInFromHome(person, setup, email);
  person.end(7);
  await later.close();
});

test('task 18: an owner who has lost the mailbox signs in with a passkey, and gets the account to a new one', chromiumOnly(NO_AUTHENTICATOR), async ({ page, browser, setup }) => {
  const { account } = await openSite(setup);
  const email = freshAddress('new');
  await addAuthenticator(page);
  await signIn(page, setup, account.email);
  await page.goto(`${setup.base}/console/account`);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await expect(page.getByRole('status')).toContainText('The passkey is added');
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');

  const person = task(page, 'task 18, passkey');
  await person.start(setup.base);
  await person.click('link', 'Sign in');
  await person.click('button', 'Sign in with a passkey');
  await person.isAt('Sites');
  await moveToMailbox(person, setup, account, email);
  const later = await browser.newContext({ locale: 'en-GB' });
  person.goOn(await later.newPage());
  await signInFromHome(person, setup, email);
  person.end(9);
  await later.close();
});
