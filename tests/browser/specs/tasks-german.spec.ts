import { chromiumOnly, LACKS } from '../support/browsers';
import { record } from '../support/sample-data';
import { expect, openSite, putPage, recordRequest, storePerson, test, waitForProof } from '../support/task-setup';
import { GERMAN, signInFromHome } from '../support/task-sign-in';
import { task } from '../support/tasks';

test.use({ locale: 'de-DE' });

const REASON = 'Die Rechnungen müssen wir zehn Jahre aufbewahren (§ 147 AO).';

test('task 16: a German officer answers a complaint that came by mail', chromiumOnly(LACKS.downloads), async ({ page, setup }) => {
  const site = await openSite(setup);
  const { account, pixel } = site;
  await record(site, 'v-1', 'accepted');
  await storePerson(site, 'Anna Schmidt', 'anna@kunde.example', 'v-1');
  await recordRequest(site, 'anna@kunde.example');
  await waitForProof(site, 'v-1');

  const person = task(page, 'task 16, by mail');
  await signInFromHome(person, setup, account.email, GERMAN);
  await person.click('link', '1 Löschanfrage');
  await person.isAt('Anfragen');
  await person.click('link', 'Anna Schmidt');
  await person.isAt(/^Anna Schmidt/);
  await person.click('link', 'Alle Entscheidungen des Besuchers');
  await expect(page.getByRole('row', { name: /v-1/ })).toContainText('Angenommen');
  await person.click('link', /^\d+\. /);
  await person.sees(/hat der Besucher v-1 von .* eingewilligt in:/);
  await person.sees('Signatur gültig.');
  const file = await person.download('link', 'Nachweise herunterladen (ZIP)');
  expect(file.suggestedFilename()).toMatch(/\.zip$/);
  await person.click('link', /^Löschanfragen/);
  await person.click('link', /^Bearbeiten/);
  await person.isAt('Anfrage bearbeiten');
  const answer = await person.copy('Wenn Sie ablehnen');
  expect(answer).toContain(`haben Sie uns gebeten, Ihre personenbezogenen Daten auf ${pixel.host} zu löschen.`);
  expect(answer).toContain('Sie können sich darüber bei einer Datenschutz-Aufsichtsbehörde beschweren');
  await person.fill('Begründung', REASON);
  await person.click('button', 'Anfrage ablehnen');
  await person.sees(/Die Anfrage ist abgelehnt/);
  person.end(12);
});

test('task 16: a German officer refuses a request of a visitor, who reads the reason', async ({ page, browser, setup }) => {
  const site = await openSite(setup);
  const { account } = site;
  const context = await browser.newContext({ locale: 'de-DE' });
  const visitor = await context.newPage();
  const person = task(visitor, 'task 16, under “Your data”');
  await person.start(await putPage(site));
  await person.click('button', 'Zustimmen');
  await person.sees('Ihre Auswahl wurde gespeichert.');
  await person.click('button', 'Ihre Datenschutz-Auswahl');
  const data = await person.openTab('link', 'Ihre Daten');
  await person.click('button', 'Die Website bitten, meine Daten zu löschen');
  await person.click('button', 'Anfrage senden');
  await person.sees(/^Ihre Anfrage wurde gesendet/);

  person.goOn(page);
  await signInFromHome(person, setup, account.email, GERMAN);
  await person.click('link', '1 Löschanfrage');
  await person.click('link', /^Bearbeiten/);
  await person.fill('Begründung', REASON);
  await person.click('button', 'Anfrage ablehnen');
  await person.sees(/Die Anfrage ist abgelehnt/);

  await data.reload();
  person.goOn(data);
  await person.sees(/^Die Website hat die Löschung am .* abgelehnt\. Ihre Begründung:/);
  await person.sees(REASON);
  await person.sees('Sie können sich darüber bei einer Datenschutzbehörde beschweren.');
  person.end(11);
  await context.close();
});
