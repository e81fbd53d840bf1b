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

interface World {
  base: string;
  /** The text of a proof file. */
  proof: string;
  key: string;
  /** The key, and the one witness. */
  policy: string;
  checkpoint: string;
  /** The page, saved to a disk. */
  saved: string;
  /** What the service says of a proof file. */
  judged(proof: string, against?: string): Promise<{ valid: boolean; sentences: string[] }>;
}

const get = async (url: string): Promise<string> => (await fetch(url)).text();

/** A service with a log, and one choice in it. */
const world = async (service: Service): Promise<World> => {
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
  const judged: World['judged'] = async (proof, against) => {
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
    judged,
  };
};

const test = plain.extend<object, { there: World }>({
  there: [
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      let [database, service]: [Database | undefined, Service | undefined] = [undefined, undefined];
      let witness: Witness | undefined;
      try {
        database = await createDatabase();
        witness = await startWitness();
        const more = { LOG_KEY, LOG_WITNESSES: witness.policyFile };
        service = await startService({ databaseUrl: database.url, cdnBase: 'http://127.0.0.1:9', more });
        await use(await world(service));
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

const give = async (page: Page, proof: string, key: string): Promise<void> => {
  await page.getByLabel('Key of the log').fill(key);
  const file = { name: 'proof.json', mimeType: 'application/json', buffer: Buffer.from(proof) };
  await page.getByLabel('Proof file').setInputFiles(file);
};

test('saved to a disk and without a network it says the same as the service', async ({ page, context, there }) => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  // Not every browser can be put offline, so the requests are checked as well.
  await context.setOffline(true);
  await page.goto(pathToFileURL(there.saved).href);
  await give(page, there.proof, there.policy);
  await expect(verdict(page).getByRole('heading')).toHaveText('The proof holds');
  await expect(verdict(page)).toContainText('They are: "witness.example/w1" at 20');
  const { valid, sentences } = await there.judged(there.proof);
  expect(valid).toBe(true);
  await expect(verdict(page).getByRole('listitem')).toHaveText(sentences);
  await page.getByText('I kept an earlier state of the log').click();
  await page.getByLabel('Checkpoint').fill(there.checkpoint);
  await expect(verdict(page).getByRole('listitem').filter({ hasText: 'goes on from' })).toHaveCount(1);
  const against = await there.judged(there.proof, there.checkpoint);
  await expect(verdict(page).getByRole('listitem')).toHaveText(against.sentences);
  expect(requests.filter((url) => !/^(file|data):/.test(url))).toEqual([]);
  expect(await accessibilityProblems(page)).toEqual([]);
  await screenshot(page, 'verify');
});

test('whatever part is changed, it names the part as the service does', async ({ page, there }) => {
  await page.goto(pathToFileURL(there.saved).href);
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
    const file = JSON.parse(there.proof);
    change(file);
    const text = JSON.stringify(file);
    const judged = await there.judged(text);
    expect(judged.valid, text).toBe(false);
    await give(page, text, there.key);
    await expect(verdict(page).getByRole('listitem')).toHaveText(judged.sentences);
    await expect(verdict(page).getByRole('heading')).toHaveText('The proof is broken');
    sentences.add(judged.sentences[0]!);
  }
  expect(sentences.size).toBeGreaterThan(9);
  await screenshot(page, 'verify-broken');
});

test('it wants a key, and believes no other', async ({ page, there }) => {
  await page.goto(pathToFileURL(there.saved).href);
  await give(page, there.proof, '');
  await expect(verdict(page)).toBeEmpty();
  await give(page, there.proof, 'nonsense');
  await expect(verdict(page).getByRole('heading')).toHaveText('This is no key');
  await give(page, there.proof, 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
  await expect(verdict(page)).toContainText('the note is not signed by this key');
  await give(page, there.proof, `log ${there.key} ${there.base}/log\nquorum none\n`);
  await expect(verdict(page).getByRole('heading')).toHaveText('The proof holds');
});

test('it counts the witnesses of a policy, and wants as many as that wants', async ({ page, there }) => {
  await page.goto(pathToFileURL(there.saved).href);
  const heading = verdict(page).getByRole('heading');
  await give(page, there.proof, there.key);
  await expect(heading).toHaveText('The proof holds');
  await expect(verdict(page)).toContainText('by keys that you did not name (1)');
  await give(page, there.proof, there.policy.replace('quorum none', 'quorum w1'));
  await expect(verdict(page)).toContainText('says "witness.example/w1"; the service says');
  const stranger = await startWitness();
  stranger.stop();
  const both = `${stranger.line.replace('witness w1', 'witness w2')}group both all w1 w2\nquorum both\n`;
  await give(page, there.proof, there.policy.replace('quorum none\n', both));
  await expect(heading).toHaveText('The proof is broken');
  await expect(verdict(page)).toContainText('Too few of the witnesses that are wanted');
  await give(page, there.proof, there.policy.replace('quorum none', 'quorum w9'));
  await expect(heading).toHaveText('This policy cannot be used');
  const [, line] = /"tlog_proof":"[^"]*witness\.example\/w1 ([^\\]+)/.exec(there.proof)!;
  const letter = line![40] === 'A' ? 'B' : 'A';
  const changed = there.proof.replaceAll(line!, `${line!.slice(0, 40)}${letter}${line!.slice(41)}`);
  await give(page, changed, there.policy);
  await expect(verdict(page)).toContainText('The cosignature of "witness.example/w1" on the state of the log');
});

test('a browser without such signatures says so', async ({ page, there }) => {
  await page.addInitScript(() => {
    // The first page has no previous one.
    if (crypto.subtle) crypto.subtle.importKey = () => Promise.reject(new Error('not supported'));
  });
  await page.goto(pathToFileURL(there.saved).href);
  await give(page, there.proof, there.key);
  await expect(verdict(page).getByRole('heading')).toHaveText('This browser cannot check it');
});

test('as it is served it asks nobody for anything, and its policy allows nothing', async ({ page, there }) => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.addInitScript(() => {
    (window as any).refused = [];
    document.addEventListener('securitypolicyviolation', (event) => (window as any).refused.push(event.violatedDirective));
  });
  await page.goto(`${there.base}/verify`);
  await give(page, there.proof, there.key);
  await expect(verdict(page).getByRole('heading')).toHaveText('The proof holds');
  expect(await page.evaluate(() => (window as any).refused)).toEqual([]);
  expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([`${there.base}/verify`]);
});
