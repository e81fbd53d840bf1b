import { addSite, expect, freshAddress, freshHost, openAccount, openSite, signIn, takeCode, test } from '../support/task-setup';
import { task } from '../support/tasks';

test('task 8: an agency is invited to read, reads, and is removed', async ({ page, browser, setup }) => {
  const { account, pixel } = await openSite(setup);
  const agency = freshAddress('agency');
  await signIn(page, setup, account.email);
  const invitation = task(page, 'task 8, invitation');
  await invitation.start(`${setup.base}/console`);
  await invitation.click('link', 'Account');
  await invitation.click('link', 'Members');
  await invitation.fill('Email address', agency);
  await invitation.click('button', 'Invite');
  await invitation.sees('Invitation sent.');

  const context = await browser.newContext({ locale: 'en-GB' });
  const theirs = await context.newPage();
  const { text = '' } = await setup.mailboxes.take(agency, /^You are a member of an Assent account/);
  invitation.goOn(theirs);
  await invitation.start(text.match(/http\S+\/console/)![0]);
  await invitation.fill('Email address', agency);
  await invitation.click('button', 'Send code');
  await invitation.isAt('Check your email');
  await invitation.fill('6-digit code', await takeCode(setup, agency));
  await invitation.click('button', 'Continue');
  await invitation.isAt('Sites');
  await invitation.sees(pixel.host);
  await expect(theirs.getByRole('link', { name: 'Add site' }), 'nothing is offered that the role refuses').toHaveCount(0);
  invitation.end(5);

  const removal = task(page, 'task 8, removal');
  await removal.start(`${setup.base}/console`);
  await removal.click('link', 'Account');
  await removal.click('link', 'Members');
  await removal.click('link', `Change ${agency}`);
  await removal.click('button', 'Remove the member');
  await removal.sees('The member is removed, and signed out everywhere.');
  removal.end(4);
  await theirs.reload();
  await expect(theirs.getByRole('heading', { level: 1 })).toHaveText('Sign in');
  await context.close();
});

test('task 15: an agency with twelve sites in four accounts opens one of them', async ({ page, setup }) => {
  const agency = freshAddress('agency');
  const hosts: string[] = [];
  for (const client of ['Bakery', 'Cinema', 'Florist', 'Garage']) {
    const account = await openAccount(setup, client);
    const sites = await Promise.all([1, 2, 3].map(() => addSite(setup, account)));
    hosts.push(...sites.map(({ pixel }) => pixel.host));
    await setup.change(
      `INSERT INTO members (member_id, account_id, email, role, created_at) VALUES (gen_random_uuid(), $1, $2, 'operate', now())`,
      account.id,
      agency,
    );
  }
  expect(hosts).toHaveLength(12);
  const person = task(page, 'task 15');
  await person.start(setup.base);
  await person.click('link', 'Sign in');
  await person.fill('Email address', agency);
  await person.click('button', 'Send code');
  await person.isAt('Check your email');
  await person.fill('6-digit code', await takeCode(setup, agency));
  await person.click('button', 'Continue');
  await person.isAt('Which account?');
  await person.click('button', /^(Switch to|Stay in) Garage$/);
  await person.isAt('Sites');
  await person.click('link', hosts[11]);
  await person.isAt(hosts[11]);
  person.end(5);
});

test('task 17: an agency adds a client, who confirms, and the client’s first site', async ({ page, browser, setup }) => {
  const account = await openAccount(setup, 'Ann Agency');
  const client = freshAddress('client');
  const host = freshHost();
  // An agency with another client, so that Sites leads to all sites.
  const other = await openAccount(setup, 'Bakery');
  await setup.change(
    `INSERT INTO members (member_id, account_id, email, role, created_at) VALUES (gen_random_uuid(), $1, $2, 'operate', now())`,
    other.id,
    account.email,
  );
  await page.goto(`${setup.base}/console/sign-in`);
  await page.getByLabel('Email address').fill(account.email);
  await page.getByRole('button', { name: 'Send code' }).click();
  await page.getByLabel('6-digit code').fill(await takeCode(setup, account.email));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: /^(Switch to|Stay in) Ann Agency$/ }).click();

  const person = task(page, 'task 17');
  await person.start(`${setup.base}/console`);
  await person.click('link', 'All sites of all your accounts');
  await person.fill('Client’s email address', client);
  await person.fill('Name of the account', 'Client Shop');
  await person.click('button', 'Add client account');
  await person.sees(/^Invitation sent\./);

  const context = await browser.newContext({ locale: 'en-GB' });
  const { text: offer = '' } = await setup.mailboxes.take(client, /wants to set up Assent for you$/);
  person.goOn(await context.newPage());
  await person.start(offer.match(/http\S+clients\/confirm\S+/)![0]);
  await person.click('button', 'Confirm the account');
  await person.isAt('Account confirmed');
  await context.close();

  const { text: confirmed = '' } = await setup.mailboxes.take(account.email, /^Your client has confirmed an Assent account/);
  person.goOn(page);
  await person.start(confirmed.match(/http\S+\/console\S*/)![0]);
  await person.click('link', 'Switch account');
  await person.click('button', 'Switch to Client Shop');
  await person.isAt('Sites');
  await person.click('link', 'Add site');
  await person.fill('Domain', host);
  await person.click('button', 'Add site');
  await person.isAt('Popup and notice');
  await person.sees(host);
  person.end(7);
});
