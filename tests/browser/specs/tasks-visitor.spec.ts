import { chromiumOnly, LACKS } from '../support/browsers';
import { readLog } from '../support/integrator';
import { expect, openSite, putPage, test } from '../support/task-setup';
import { task } from '../support/tasks';

test('task 14: a visitor turns a no into a yes, opens the data, and checks the receipt', chromiumOnly(LACKS.generatedFiles), async ({ page, setup }) => {
  const site = await openSite(setup);
  const person = task(page, 'task 14');
  await person.start(await putPage(site));
  await person.click('button', 'Decline');
  await person.click('button', 'Your privacy choice');
  await person.click('button', 'Accept all');
  await expect.poll(async () => (await readLog(setup.base, site.pixel))[0]?.consent_state).toBe('accepted');
  await person.click('button', 'Your privacy choice');
  await person.openTab('link', 'Your data');
  await person.sees(/^You have agreed\./);
  const file = await person.download('link', 'Your receipt');
  const receipt = test.info().outputPath(file.suggestedFilename());
  await file.saveAs(receipt);

  await person.click('link', 'Check a proof');
  await person.isAt('Check a proof');
  await person.chooseFile('Evidence (ZIP) or proof file', receipt);
  await person.sees('Consistent: now compare the key');
  const policy = await (await fetch(`${setup.base}/log/policy`)).text();
  await person.fill(/^Log public key/, policy.split(/\s+/)[1]);
  await person.sees('Proof valid');
  await person.sees(new RegExp(`^The visitor .* accepted .* on "http.*${site.pixel.host}"`));
  person.end(8);
});

test('task 20: a visitor complains, and sees the refusal, its reason and where to complain', async ({ page, setup }) => {
  const site = await openSite(setup);
  const { base, pixel } = site;
  const person = task(page, 'task 20');
  await person.start(await putPage(site));
  await person.click('button', 'Accept');
  await person.sees('Your choice has been saved.');
  await person.click('button', 'Your privacy choice');
  const data = await person.openTab('link', 'Your data');
  await person.click('button', 'Ask the site to erase my data');
  await person.click('button', 'Send request');
  await person.sees(/^Your request has been sent/);
  await person.sees(/It must answer by/);

  const address = `${base}/v1/pixels/${pixel.id}/erasure-requests`;
  const headers = { Authorization: `Bearer ${pixel.key}` };
  const { requests } = (await (await fetch(address, { headers })).json()) as { requests: { request_id: string }[] };
  const body = JSON.stringify({ reason: 'The invoices must be kept for ten years.' });
  const refusal = await fetch(`${address}/${requests[0].request_id}/refuse`, { method: 'POST', headers, body });
  expect(refusal.status).toBe(200);

  await data.reload();
  await person.sees(/^The site refused to erase your data on/);
  await person.sees('The invoices must be kept for ten years.');
  await person.sees('You can complain about this to a data protection authority.');
  person.end(5);
});
