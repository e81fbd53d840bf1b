import { readFile } from 'node:fs/promises';
import { chromiumOnly, LACKS } from '../support/browsers';
import { configureConsent } from '../support/integrator';
import { record } from '../support/sample-data';
import { COMPLETE_POLICY, expect, HOSTS, openSite, signIn, storePerson, test } from '../support/task-setup';
import { task } from '../support/tasks';

test('task 5: a marketer compares the rate by language, and reads the changes of the text', async ({ page, setup }) => {
  const site = await openSite(setup);
  const { account, base, pixel } = site;
  await record(site, 'v-1', 'accepted');
  await record(site, 'v-2', 'declined');
  const policy = await configureConsent(base, pixel, { ...COMPLETE_POLICY, controller_name: 'Another Shop Ltd' });
  await record({ ...site, policy }, 'v-3', 'accepted');
  await signIn(page, setup, account.email);
  const person = task(page, 'task 5');
  await person.start(`${setup.base}/console`);
  await person.click('link', pixel.host);
  await person.isAt('Overview');
  const languages = page.getByRole('region', { name: 'By language', exact: true });
  await expect(languages.getByRole('row', { name: /Deutsch/ })).toContainText('%');
  await person.click('link', 'version 2 of the notice');
  await person.sees('Changed fields');
  await person.sees('Another Shop Ltd');
  person.end(2);
});

test('task 6: a marketer gets the contacts into a spreadsheet', chromiumOnly(LACKS.downloads), async ({ page, setup }) => {
  const site = await openSite(setup);
  await storePerson(site, 'Zoë Adams', 'zoe@buyer.example');
  await signIn(page, setup, site.account.email);
  const person = task(page, 'task 6, spreadsheet');
  await person.start(`${setup.base}/console`);
  await person.click('link', site.pixel.host);
  await person.click('link', 'Contacts');
  const file = await person.download('button', 'Export CSV');
  person.end(3);
  const [names, row] = (await readFile(await file.path(), 'utf8')).split('\r\n');
  expect(names, 'spreadsheets read it as UTF-8, one column for each field').toMatch(/^\ufeffemail,name,/);
  expect(row).toMatch(/^zoe@buyer\.example,Zoë Adams,/);
});

test('task 6: a marketer sends new contacts to Slack', async ({ page, setup }) => {
  const { account } = await openSite(setup);
  await signIn(page, setup, account.email);
  const person = task(page, 'task 6, Slack');
  await person.start(`${setup.base}/console`);
  await person.click('link', 'Account');
  await person.click('link', 'Webhooks');
  await person.fill('Endpoint URL', `https://${HOSTS.receiver}/services/T0/B0/x`);
  await person.choose('Format', 'Slack message');
  await person.click('checkbox', /^New contact/);
  await person.click('button', 'Add endpoint');
  await person.click('button', 'Send test event');
  await person.sees('The test event was delivered.');
  person.end(7);
});

test('task 7: a marketer changes a colour, checks it in German on a phone, and publishes', async ({ page, setup }) => {
  const { account, pixel } = await openSite(setup);
  await signIn(page, setup, account.email);
  const person = task(page, 'task 7');
  await person.start(`${setup.base}/console`);
  await person.click('link', pixel.host);
  await person.click('link', 'Popup');
  await person.unfold('Appearance');
  await person.colour('Buttons', '#c9d8ff');
  await person.choose('Language', 'de');
  const preview = page.getByTitle('The popup with these settings').contentFrame();
  const decline = preview.getByRole('button', { name: 'Ablehnen', exact: true });
  await expect(decline).toHaveCSS('background-color', 'rgb(201, 216, 255)');
  await expect(page.getByLabel('Device'), 'a phone is the first').toHaveValue('phone');
  await person.click('button', 'Review and publish');
  await person.sees('Only colours change.');
  await person.sees('Visitors will not be asked again:');
  await person.click('button', 'Publish');
  await person.sees(/^Published\./);
  person.end(7);
});

test('task 13: a marketer repairs deliveries that failed', async ({ page, setup }) => {
  const site = await openSite(setup);
  const { account, base, pixel } = site;
  setup.sites.receiver.setStatus(500);
  const created = await fetch(`${base}/v1/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${pixel.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: `https://${HOSTS.receiver}/crm`, events: ['contact.created'] }),
  });
  const { endpoint_id } = (await created.json()) as { endpoint_id: string };
  await storePerson(site, 'Ann Smith', 'ann@buyer.example');
  const failed = `SELECT 1 FROM webhook_deliveries JOIN webhook_endpoints USING (endpoint_id)
    WHERE endpoint_id = $1 AND attempts > 0 AND webhook_endpoints.failing_since IS NOT NULL`;
  await expect.poll(async () => (await setup.change(failed, endpoint_id)).length).toBe(1);
  // As after a day without a delivery.
  await setup.change(
    `UPDATE webhook_endpoints SET paused_at = now(), paused_because = 'failing', retry_at = NULL, claimed_by = NULL,
     claimed_until = NULL WHERE endpoint_id = $1`,
    endpoint_id,
  );
  await setup.change('UPDATE webhook_deliveries SET next_attempt_at = NULL WHERE endpoint_id = $1', endpoint_id);
  setup.sites.receiver.setStatus(200);

  await signIn(page, setup, account.email);
  const person = task(page, 'task 13');
  await person.start(`${setup.base}/console`);
  await person.click('link', HOSTS.receiver);
  await person.click('button', 'Resume');
  await person.sees(/^Resumed\./);
  await person.click('button', /^Resend failed/);
  await person.sees('Queued for resending.');
  const delivery = page.getByRole('row', { name: /contact\.created/ }).first();
  await expect(async () => {
    await page.reload();
    await expect(delivery).toContainText('Delivered', { timeout: 500 });
  }).toPass({ timeout: 30_000 });
  person.end(3);
});
