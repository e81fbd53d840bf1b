import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromiumOnly, LACKS } from '../support/browsers';
import { record } from '../support/sample-data';
import { expect, openSite, signIn, storePerson, TaskSite, test as plain, waitForProof } from '../support/task-setup';
import { task } from '../support/tasks';

const BUYER = 'ann@buyer.example';

/** A site with a person whose choice is in the public log, and the evidence of that choice as a file. */
interface Proved {
  site: TaskSite;
  zip: string;
  logKey: string;
}

const test = plain.extend<object, { proved: Proved }>({
  proved: [
    async ({ browser, setup }, use) => {
      const site = await openSite(setup);
      const { base, pixel } = site;
      const receipt = await record(site, 'v-1', 'accepted');
      await storePerson(site, 'Ann Smith', BUYER, 'v-1');
      await waitForProof(site, 'v-1');
      const folder = await mkdtemp(join(tmpdir(), 'assent-evidence-'));
      const context = await browser.newContext({ locale: 'en-GB' });
      const page = await context.newPage();
      await signIn(page, setup, site.account.email);
      const answer = await page.request.get(`${base}/console/sites/${pixel.id}/choices/${receipt}/evidence.zip`);
      const zip = join(folder, 'evidence.zip');
      await writeFile(zip, await answer.body());
      await context.close();
      const policy = await (await fetch(`${base}/log/policy`)).text();
      const [, logKey] = policy.split(/\s+/);
      await use({ site, zip, logKey });
      await rm(folder, { recursive: true });
    },
    { scope: 'worker', timeout: 180_000 },
  ],
});

test('task 3: an officer gets the evidence for a lawyer from an email address', chromiumOnly(LACKS.downloads), async ({ page, setup, proved }) => {
  const { account, pixel } = proved.site;
  await signIn(page, setup, account.email);
  const person = task(page, 'task 3');
  await person.start(`${setup.base}/console`);
  await person.click('link', pixel.host);
  await person.click('link', 'Contacts');
  await person.fill('Name, company or email', BUYER);
  await person.click('button', 'Show');
  await person.click('link', 'Ann Smith');
  await person.sees('consented');
  const file = await person.download('link', 'Download evidence (ZIP)');
  expect(file.suggestedFilename()).toMatch(/\.zip$/);
  person.end(5);
});

test('task 4: an officer erases a person who asked by mail, and nothing is left', async ({ page, setup }) => {
  const site = await openSite(setup);
  const { account, pixel } = site;
  await record(site, 'v-2', 'accepted');
  await storePerson(site, 'Ben Stone', 'ben@buyer.example', 'v-2');
  await signIn(page, setup, account.email);
  const person = task(page, 'task 4');
  await person.start(`${setup.base}/console`);
  await person.click('link', pixel.host);
  await person.click('link', 'Contacts');
  await person.fill('Name, company or email', 'ben@buyer.example');
  await person.click('button', 'Show');
  await person.click('link', 'Ben Stone');
  await person.fill(`Type ${pixel.host} to erase the person`, pixel.host);
  await person.click('button', 'Erase this person');
  await person.sees(/^The person is erased: one receipt and one contact/);
  person.end(5);
  await person.click('link', 'Choices');
  await person.sees(/^No choices yet/);
});

test('task 19: an auditor without an account checks the evidence', async ({ page, setup, proved }) => {
  const person = task(page, 'task 19');
  await person.start(setup.base);
  await person.click('link', 'Help');
  await person.click('link', 'Prove a choice');
  await person.click('link', '/verify');
  await person.isAt('Check a proof');
  await person.chooseFile('Evidence (ZIP) or proof file', proved.zip);
  await person.sees('Consistent: now compare the key');
  await person.fill(/^Log public key/, proved.logKey);
  await person.sees('Proof valid');
  await person.sees(/^The visitor "v-1" accepted /);
  person.end(4);
});
