import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { acceptAll, expect, popup, state, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';
import { checkConsent, Pixel } from '../support/integrator';
import { startService } from '../support/service';

const database = (): string => process.env[ENVIRONMENT.databaseUrl]!;

/** The calls of an integrator's server about the contacts of its pixel. */
const owner = (base: string, { id, key }: Pixel) => {
  const call = async (method: string, path: string, body?: object): Promise<any> => {
    const response = await fetch(`${base}/v1/pixels/${id}${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    expect(response.status, `${method} ${path}`).toBe(200);
    return response.json();
  };
  const today = new Date().toISOString().slice(0, 10);
  return {
    store: (contacts: object[]) => call('POST', '/contacts', { contacts }),
    byCursor: async () => (await call('GET', '/contacts?after=0')).contacts,
    ofToday: async () => (await call('GET', `/contacts?on=${today}`)).contacts,
    withdrawn: () => call('GET', '/contacts/withdrawn?after=0'),
  };
};

/** Moves the withdrawals of the pixel's contacts back by some days. */
const moveBack = async ({ id }: Pixel, days: number): Promise<void> => {
  const client = new Client({ connectionString: database() });
  await client.connect();
  try {
    const earlier = `- make_interval(days => ${days})`;
    await client.query(`UPDATE contacts SET hidden_at = hidden_at ${earlier} WHERE pixel_id = $1`, [id]);
    await client.query(`UPDATE withdrawn_contacts SET withdrawn_at = withdrawn_at ${earlier} WHERE pixel_id = $1`, [id]);
  } finally {
    await client.end();
  }
};

const dump = async (): Promise<string> => {
  const { stdout } = await promisify(execFile)('pg_dump', ['--data-only', '--inserts', database()], {
    maxBuffer: 1 << 30,
    env: process.env,
  });
  return stdout;
};

test('a contact is kept only while its visitor consents', async ({ page, shop }) => {
  const { store, byCursor, ofToday, withdrawn } = owner(shop.base, shop.pixel);
  const hem = createHash('sha256').update('ann@example.org').digest('hex');
  const contact = { first_name: `Ann of ${shop.pixel.host}` };

  await page.goto(await shop.put('/'));
  expect(await shop.tagLoads()).toBe(0);
  await acceptAll(page);
  await expect.poll(() => shop.tagLoads(), 'identified after the acceptance').toBe(1);
  const { visitor, receipt } = await state(page);

  const item = { hem, seen_at: new Date().toISOString(), contact };
  expect(await store([{ ...item, visitor_id: visitor }])).toMatchObject({ stored: 1, refused: [] });
  const [read] = await byCursor();
  expect(read).toMatchObject({
    hem,
    contact,
    consent: { visitor_id: visitor, receipt_id: receipt, permitted: true, reason: 'ok' },
  });
  expect(await ofToday()).toHaveLength(1);

  await popup(page).wayBack.click();
  await popup(page).withdraw.click();
  const withdrawnAt = Date.now();
  await expect.poll(byCursor, { intervals: [20] }).toEqual([]);
  test.info().annotations.push({ type: 'hidden after', description: `${Date.now() - withdrawnAt} ms` });
  expect(await ofToday()).toEqual([]);
  expect(await checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({
    permitted: false,
    reason: 'declined_or_withdrawn',
  });
  await expect
    .poll(async () => (await withdrawn()).withdrawn, { intervals: [20] })
    .toMatchObject([{ id: read.id, hem }]);
  test.info().annotations.push({ type: 'listed after', description: `${Date.now() - withdrawnAt} ms` });
  expect(await store([{ ...item, visitor_id: visitor }])).toMatchObject({
    stored: 0,
    refused: [{ index: 0, reason: 'declined_or_withdrawn' }],
  });
  expect(await dump()).toContain(contact.first_name);

  await moveBack(shop.pixel, 7);
  // Every node deletes expired contacts when it starts.
  const node = await startService({ databaseUrl: database(), cdnBase: 'http://127.0.0.1:9' });
  try {
    await expect.poll(async () => (await withdrawn()).withdrawn[0].hem, { timeout: 20_000 }).toBeNull();
    const remaining = await dump();
    expect(remaining).not.toContain(contact.first_name);
    expect(remaining.toLowerCase()).not.toContain(hem);
    expect(remaining, 'the receipts stay').toContain(visitor);
  } finally {
    await node.stop();
  }
});
