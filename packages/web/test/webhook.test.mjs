import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { verifyWebhook, WebhookError } from '../dist/server.js';

const key = randomBytes(24);
const secret = `whsec_${key.toString('base64')}`;
const body = JSON.stringify({ type: 'choice.recorded', timestamp: '2026-03-10T12:02:02.000Z', data: { pixel_id: 'p', name: 'Zoë' } });

const sign = (signed, at = Math.floor(Date.now() / 1000), with_ = key) => ({
  'webhook-id': 'evt_1',
  'webhook-timestamp': String(at),
  'webhook-signature': 'v1,' + createHmac('sha256', with_).update(`evt_1.${at}.${signed}`).digest('base64'),
});

test('a signed webhook is returned, whether the headers are those of Node or of Fetch', async () => {
  const headers = sign(body);
  assert.equal((await verifyWebhook(secret, { headers }, body)).data.name, 'Zoë');
  assert.equal((await verifyWebhook(secret, { headers: new Headers(headers) }, body)).type, 'choice.recorded');
});

test('one valid signature among several is enough, as after a change of the secret', async () => {
  const headers = sign(body);
  headers['webhook-signature'] = `v1,${Buffer.alloc(32).toString('base64')} v1a,x v1,!!! ${headers['webhook-signature']}`;
  assert.ok(await verifyWebhook(secret, { headers }, body));
});

const now = Math.floor(Date.now() / 1000);
const REFUSED = {
  'a changed body': [sign(body), body.replace('Zoë', 'Zoe')],
  'another secret': [sign(body, now, randomBytes(24)), body],
  'an old timestamp': [sign(body, now - 301), body],
  'a timestamp in the future': [sign(body, now + 330), body],
  'a timestamp that is not a number': [{ ...sign(body), 'webhook-timestamp': 'now' }, body],
  'another timestamp': [{ ...sign(body), 'webhook-timestamp': String(now - 1) }, body],
  'another id': [{ ...sign(body), 'webhook-id': 'evt_2' }, body],
  'no signature': [{ ...sign(body), 'webhook-signature': undefined }, body],
  'an empty signature': [{ ...sign(body), 'webhook-signature': 'v1,' }, body],
};

for (const [name, [headers, text]] of Object.entries(REFUSED)) {
  test(`${name} is refused`, () => assert.rejects(verifyWebhook(secret, { headers }, text), WebhookError));
}
