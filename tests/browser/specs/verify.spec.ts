import { randomBytes } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Page } from '@playwright/test';
import { createDatabase, Database } from '../support/database';
import { accessibilityProblems, expect, screenshot, test as plain } from '../support/fixtures';
import { configureConsent, createPixel, PLAIN_POLICY } from '../support/integrator';
import { LOG_KEY, Service, startService } from '../support/service';
import { startWitness, Witness } from '../support/witness';

interface Setup {
  base: string;
  /** The text of a proof file. */
  proof: string;
  key: string;
  /** The trust policy with the key and the only witness. */
  policy: string;
  checkpoint: string;
  /** The path of the saved page. */
  saved: string;
  /** The verdict of the service on a proof file. */
  verdictOf(proof: string, against?: string): Promise<{ valid: boolean; sentences: string[] }>;
}

const get = async (url: string): Promise<string> => (await fetch(url)).text();

/** Records a choice at a service with a log, and waits for its proof. */
const prepare = async (service: Service): Promise<Setup> => {
  const { base } = service;
  const pixel = await createPixel(base, `shop-${randomBytes(5).toString('hex')}.example`);
  const policy = await configureConsent(base, pixel, PLAIN_POLICY);
  const choice = {
    pixel_id: pixel.id,
    visitor_id: 'v-1',
    url: `https://${pixel.host}/`,
    consent: 'accepted',
    affirmative: true,
    policy_version_hash: policy.policy_hash,
    purposes: ['analytics', 'resolution'],
    shown: { language: 'de' },
  };
  const recorded = await fetch(`${base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(choice) });
  expect(recorded.status).toBe(202);
  const address = `${base}/v1/consent/proof?pixel_id=${pixel.id}&visitor_id=v-1&old_size=1`;
  await expect.poll(async () => (await fetch(address)).status, { timeout: 90_000 }).toBe(200);
  const folder = await mkdtemp(join(tmpdir(), 'assent-verify-'));
  const saved = join(folder, 'verify.html');
  await writeFile(saved, await get(`${base}/verify`));
  const verdictOf: Setup['verdictOf'] = async (proof, against) => {
    const body = `{"proof":${proof}${against ? `,"against":${JSON.stringify(against)}` : ''}}`;
    const answer = await fetch(`${base}/v1/consent/proof/verify`, { method: 'POST', body });
    return (await answer.json()) as { valid: boolean; sentences: string[] };
  };
  const trust = await get(`${base}/log/policy`);
  return {
    base,
    proof: await get(address),
    key: trust.split(' ')[1]!,
    policy: trust,
    checkpoint: await get(`${base}/log/checkpoint`),
    saved,
    verdictOf,
  };
};

const test = plain.extend<object, { setup: Setup }>({
  setup: [
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      let [database, service]: [Database | undefined, Service | undefined] = [undefined, undefined];
      let witness: Witness | undefined;
      try {
        database = await createDatabase();
        witness = await startWitness();
        const more = { LOG_KEY, LOG_WITNESSES: witness.policyFile };
        service = await startService({ databaseUrl: database.url, cdnBase: 'http://127.0.0.1:9', more });
        await use(await prepare(service));
      } finally {
        await service?.stop();
        witness?.stop();
        await database?.drop();
      }
    },
    { scope: 'worker', timeout: 150_000 },
  ],
});

const verdict = (page: Page) => page.locator('#verdict');

const enterProof = async (page: Page, proof: string, key: string): Promise<void> => {
  await page.getByLabel('Log public key').fill(key);
  const file = { name: 'proof.json', mimeType: 'application/json', buffer: Buffer.from(proof) };
  await page.getByLabel('Proof file').setInputFiles(file);
};

test('the saved page gives the same verdict as the service, without a network', async ({ page, context, setup }) => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  // Not every browser can be put offline, so the requests are checked as well.
  await context.setOffline(true);
  await page.goto(pathToFileURL(setup.saved).href);
  await enterProof(page, setup.proof, setup.policy);
  await expect(verdict(page).getByRole('heading')).toHaveText('Proof valid');
  await expect(verdict(page)).toContainText('They are: "witness.example/w1" at 20');
  const { valid, sentences } = await setup.verdictOf(setup.proof);
  expect(valid).toBe(true);
  await expect(verdict(page).getByRole('listitem')).toHaveText(sentences);
  await page.getByText('I have an earlier checkpoint').click();
  await page.getByLabel('Checkpoint').fill(setup.checkpoint);
  await expect(verdict(page).getByRole('listitem').filter({ hasText: 'goes on from' })).toHaveCount(1);
  const against = await setup.verdictOf(setup.proof, setup.checkpoint);
  await expect(verdict(page).getByRole('listitem')).toHaveText(against.sentences);
  expect(requests.filter((url) => !/^(file|data):/.test(url))).toEqual([]);
  expect(await accessibilityProblems(page)).toEqual([]);
  await screenshot(page, 'verify');
});

test('a changed part is reported with the same sentence as by the service', async ({ page, setup }) => {
  await page.goto(pathToFileURL(setup.saved).href);
  const changes: ((file: any) => void)[] = [
    (file) => (file.format = 'assent/proof/v2'),
    (file) => (file.more = 1),
    (file) => (file.salt = '00'.repeat(32)),
    (file) => (file.statement.receipt.visitor_id = 'v-2'),
    (file) => (file.statement.receipt.purposes = ['analytics']),
    (file) => (file.statement.shown.language = 'fr'),
    (file) => (file.statement.shown = null),
    (file) => (file.policy.controller.name = 'Another'),
    (file) => (file.notice += ' '),
    (file) => (file.choices.entry = file.choices.entry.replace('at 2', 'at 3')),
    (file) => (file.choices.tlog_proof = file.choices.tlog_proof.replace('@v1', '@v2')),
    (file) => (file.choices.tlog_proof = file.choices.tlog_proof.replace(/extra .*/, 'extra AAAA')),
    (file) => (file.choices.tlog_proof = file.choices.tlog_proof.replace(/index (.*)/, 'index 0')),
    (file) => (file.choices.tlog_proof = file.choices.tlog_proof.replace('localhost/log\n', 'localhost/log\n1')),
    (file) => (file.choices.tlog_proof = file.choices.tlog_proof.replace('localhost/log ', 'localhost/lag ')),
    (file) => (file.publications[0].kind = 'script'),
    (file) => (file.publications[0].kind = 'toString'),
    (file) => (file.publications[1].entry = file.publications[0].entry),
    (file) => (file.publications[1] = { ...file.publications[0], kind: 'notice' }),
    (file) => (file.publications[0].tlog_proof = file.choices.tlog_proof),
  ];
  const sentences = new Set<string>();
  for (const change of changes) {
    const file = JSON.parse(setup.proof);
    change(file);
    const text = JSON.stringify(file);
    const verdictOf = await setup.verdictOf(text);
    expect(verdictOf.valid, text).toBe(false);
    await enterProof(page, text, setup.key);
    await expect(verdict(page).getByRole('listitem')).toHaveText(verdictOf.sentences);
    await expect(verdict(page).getByRole('heading')).toHaveText('The proof is broken');
    sentences.add(verdictOf.sentences[0]!);
  }
  expect(sentences.size).toBeGreaterThan(9);
  await screenshot(page, 'verify-broken');
});

test('without a key the proof is checked for consistency, and another key is rejected', async ({ page, setup }) => {
  await page.goto(pathToFileURL(setup.saved).href);
  await enterProof(page, setup.proof, '');
  await expect(verdict(page).getByRole('heading')).toHaveText('Consistent: now compare the key');
  await expect(verdict(page)).toContainText('The signature was not checked, because no key was given.');
  await expect(verdict(page)).toContainText(setup.key.split('+', 2).join('+'));
  await enterProof(page, setup.proof.replace('"analytics"', '"newsletter"'), '');
  await expect(verdict(page).getByRole('heading')).toHaveText('The proof is broken');
  await enterProof(page, setup.proof, 'nonsense');
  await expect(verdict(page).getByRole('heading')).toHaveText('Not a valid key');
  await enterProof(page, setup.proof, 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
  await expect(verdict(page)).toContainText('the note is not signed by this key');
  await enterProof(page, setup.proof, `log ${setup.key} ${setup.base}/log\nquorum none\n`);
  await expect(verdict(page).getByRole('heading')).toHaveText('Proof valid');
});

test('files that are no proof are explained', async ({ page, setup }) => {
  await page.goto(pathToFileURL(setup.saved).href);
  const { statement } = JSON.parse(setup.proof) as { statement: { receipt: object } };
  const files: [string, string, string][] = [
    ['receipt.json', JSON.stringify({ receipt: statement.receipt, signature: '00' }), 'This is a receipt, not a proof'],
    ['record.jsonld', '{"@context":"https://w3id.org/dpv"}', 'This is a consent record, not a proof'],
    ['log-key.txt', `${setup.key}\n`, 'This is the public key of a log'],
    ['verify.html', await get(`${setup.base}/verify`), 'This is a page of the evidence'],
    ['other.json', '{}', 'The proof is broken'],
  ];
  for (const [name, content, heading] of files) {
    await page.getByLabel('Proof file').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
    await expect(verdict(page).getByRole('heading')).toHaveText(heading);
  }
});

test('the witnesses of a policy are counted, and its quorum is required', async ({ page, setup }) => {
  await page.goto(pathToFileURL(setup.saved).href);
  const heading = verdict(page).getByRole('heading');
  await enterProof(page, setup.proof, setup.key);
  await expect(heading).toHaveText('Proof valid');
  await expect(verdict(page)).toContainText('by keys that you did not name (1)');
  await enterProof(page, setup.proof, setup.policy.replace('quorum none', 'quorum w1'));
  await expect(verdict(page)).toContainText('says "witness.example/w1"; the service says');
  const otherWitness = await startWitness();
  otherWitness.stop();
  const both = `${otherWitness.line.replace('witness w1', 'witness w2')}group both all w1 w2\nquorum both\n`;
  await enterProof(page, setup.proof, setup.policy.replace('quorum none\n', both));
  await expect(heading).toHaveText('The proof is broken');
  await expect(verdict(page)).toContainText('Too few of the witnesses that are wanted');
  await enterProof(page, setup.proof, setup.policy.replace('quorum none', 'quorum w9'));
  await expect(heading).toHaveText('This policy cannot be used');
  const [, line] = /"tlog_proof":"[^"]*witness\.example\/w1 ([^\\]+)/.exec(setup.proof)!;
  const character = line![40] === 'A' ? 'B' : 'A';
  const changed = setup.proof.replaceAll(line!, `${line!.slice(0, 40)}${character}${line!.slice(41)}`);
  await enterProof(page, changed, setup.policy);
  await expect(verdict(page)).toContainText('The cosignature of "witness.example/w1" on the state of the log');
});

test('a browser without these signatures shows a message', async ({ page, setup }) => {
  await page.addInitScript(() => {
    // A page without a secure context has no `crypto.subtle`.
    if (crypto.subtle) crypto.subtle.importKey = () => Promise.reject(new Error('not supported'));
  });
  await page.goto(pathToFileURL(setup.saved).href);
  await enterProof(page, setup.proof, setup.key);
  await expect(verdict(page).getByRole('heading')).toHaveText('This browser cannot check it');
});

test('the served page sends no request, and its policy is not violated', async ({ page, setup }) => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.addInitScript(() => {
    (window as any).refused = [];
    document.addEventListener('securitypolicyviolation', (event) => (window as any).refused.push(event.violatedDirective));
  });
  await page.goto(`${setup.base}/verify`);
  await enterProof(page, setup.proof, setup.key);
  await expect(verdict(page).getByRole('heading')).toHaveText('Proof valid');
  expect(await page.evaluate(() => (window as any).refused)).toEqual([]);
  expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([`${setup.base}/verify`]);
});
