import { randomBytes } from 'node:crypto';
import { Page } from '@playwright/test';
import { expectAccessible, freshHost, TIMEOUT_MS } from '../support/console';
import { expect } from '../support/fixtures';
import { MailService, test } from '../support/mail-service';

const address = (name: string): string => `${name}-${randomBytes(5).toString('hex')}@shop.example`;

const signUp = async (page: Page, { mailboxes, service }: MailService, email: string): Promise<void> => {
  await page.goto(`${service.base}/console/sign-up`);
  await page.getByLabel('Your name').fill('Ann Agency');
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Sign up' }).click();
  const { text = '' } = await mailboxes.take(email, /Assent code/);
  await page.getByLabel('6-digit code').fill(text.match(/\b\d{6}\b/)![0]);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Add site');
};

const addSite = async (page: Page, host: string): Promise<void> => {
  await page.getByLabel('Domain').fill(host);
  await page.getByRole('button', { name: 'Add site' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText(host);
};

const heading = (page: Page) => page.getByRole('heading', { level: 1 });

test('an agency adds a client account, which the client confirms', async ({ page, browser, setup }) => {
  test.setTimeout(TIMEOUT_MS);
  const [agency, client] = [address('agency'), address('client')];
  const { base } = setup.service;
  await signUp(page, setup, agency);
  await page.goto(`${base}/console/all-sites`);
  await expect(page.getByText('No sites in one account')).toBeVisible();
  await page.getByLabel('Client’s email address').fill(client);
  await page.getByLabel('Name of the account').fill('Client Shop');
  await page.getByRole('combobox', { name: 'Your role in it' }).selectOption('full');
  await page.getByRole('button', { name: 'Add client account' }).click();
  await expect(page.getByRole('status')).toContainText('Invitation sent');
  const waiting = page.getByRole('row', { name: client });
  await expect(waiting).toContainText('Waiting until');
  await expect(waiting.getByRole('button', { name: `Resend to ${client}` })).toBeVisible();
  await expect(waiting.getByRole('button', { name: `Cancel the invitation of ${client}` })).toBeVisible();
  await expectAccessible(page, 'all-sites-waiting');
  await page.getByLabel('Client’s email address').fill(agency);
  await page.getByLabel('Name of the account').fill('Own');
  await page.getByRole('button', { name: 'Add client account' }).click();
  await expect(page.getByLabel('Client’s email address')).toHaveAccessibleDescription(/This is your own address/);
  await expectAccessible(page, 'all-sites-wrong');

  const { text = '' } = await setup.mailboxes.take(client, /wants to set up Assent for you/);
  const theirs = await (await browser.newContext({ locale: 'en-GB' })).newPage();
  const link = text.match(/http\S+clients\/confirm\S+/)![0];
  await theirs.goto(link);
  await expect(heading(theirs)).toHaveText('Confirm your account');
  await expectAccessible(theirs, 'client-offer');
  await theirs.getByRole('button', { name: 'Confirm the account' }).click();
  await expect(heading(theirs)).toHaveText('Account confirmed');
  await expectAccessible(theirs, 'client-confirmed');
  await theirs.goto(link);
  await expect(heading(theirs)).toHaveText('This link does not work');
  await expectAccessible(theirs, 'client-ended');
  await theirs.context().close();

  await setup.mailboxes.take(agency, /Your client has confirmed/);
  await page.goto(`${base}/console/accounts`);
  await page.getByRole('button', { name: 'Switch to Client Shop' }).click();
  await page.getByRole('link', { name: 'Add site' }).first().click();
  const host = freshHost();
  await addSite(page, host);
  await page.goto(`${base}/console/accounts`);
  await page.getByRole('button', { name: 'Switch to Ann Agency' }).click();
  await page.getByRole('link', { name: 'All sites of all your accounts' }).click();
  await expect(page.getByText('One site in 2 accounts')).toBeVisible();
  await expectAccessible(page, 'all-sites');
  await page.getByLabel('Site or account').fill('client shop');
  await page.getByRole('main').getByRole('button', { name: 'Search' }).click();
  await expect(page.getByRole('row', { name: host })).toContainText('Client Shop');
  await page.getByRole('button', { name: host }).click();
  await expect(heading(page)).toContainText(host);
});

test('the fourth site states the price and opens another account', async ({ page, setup }) => {
  test.setTimeout(TIMEOUT_MS);
  const { base } = setup.service;
  await signUp(page, setup, address('ann'));
  for (let site = 0; site < 3; site += 1) {
    await page.goto(`${base}/console/sites/new`);
    await addSite(page, freshHost());
  }
  await page.goto(`${base}/console/sites/new`);
  await page.getByLabel('Domain').fill(freshHost());
  await page.getByRole('button', { name: 'Add site' }).click();
  await expect(page.getByText('One more needs another account: 1 USD a month after a 30-day trial.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Add client account' })).toBeVisible();
  await expectAccessible(page, 'new-site-full');
  await page.getByRole('link', { name: 'Open another account' }).click();
  await expect(heading(page)).toHaveText('Open another account');
  await expectAccessible(page, 'another-account');
  await page.getByLabel('Name of the account').fill('Second');
  await page.getByRole('button', { name: 'Open the account' }).click();
  await expect(heading(page)).toHaveText('Add site');
  await page.getByRole('button', { name: 'Add site' }).click();
  await expect(heading(page)).not.toHaveText('Add site');
  await page.goto(`${base}/console/all-sites`);
  await expect(page.getByText('4 sites in 2 accounts')).toBeVisible();
});
