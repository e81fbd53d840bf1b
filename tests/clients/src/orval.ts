// The functions of orval, which call with `fetch`, and its Zod schemas, which check what was answered.
import assert from 'node:assert/strict';
import * as api from '../generated/orval/fetch';
import * as schemas from '../generated/orval/zod';

const main = async (): Promise<void> => {
  const plans = await api.listPlans();
  assert.equal(plans.status, 200);
  assert.equal(schemas.listPlansResponse.parse(plans.data).plans[0].pixels_included, 3);

  const email = 'orval@example.com';
  const opened = await api.createAccount({ email, display_name: 'Orval' });
  assert(opened.status === 201 && opened.data.verification_url, JSON.stringify(opened.data));
  const again = await api.createAccount({ email, display_name: 'Orval' });
  assert(again.status === 409 && again.data.code === 'email_already_registered');
  assert.equal((await fetch(opened.data.verification_url)).status, 200);
  const { account_id, signup_token } = opened.data;
  const issued = await api.issueApiKey({}, { account_id }, { headers: { 'x-signup-token': signup_token } });
  assert(issued.status === 201, JSON.stringify(issued.data));

  const headers = { Authorization: `Bearer ${issued.data.api_key}` };
  const me = await api.whoami({ headers });
  assert.equal(schemas.whoamiResponse.parse(me.data).account_id, account_id);
  const created = await api.createPixel({ domain: 'orval.example' }, undefined, { headers });
  assert(created.status === 201);
  const pixel = created.data.pixel_id;
  const wrong = { controller_name: 'Orval', purposes: 'analytics' } as unknown as api.ConsentRequest;
  const unread = await api.configureConsent(pixel, wrong, { headers });
  assert(unread.status === 400 && unread.data.detail === 'invalid request');
  const consent: api.ConsentRequest = { controller_name: 'Orval', purposes: ['analytics'] };
  schemas.configureConsentBody.parse(consent);
  const configured = await api.configureConsent(pixel, consent, { headers });
  assert(configured.status === 200, JSON.stringify(configured.data));
  schemas.configureConsentResponse.parse(configured.data);
  const choice: api.RecordRequest = {
    pixel_id: pixel,
    visitor_id: 'visitor-1',
    url: 'https://orval.example/',
    consent: 'accepted',
    affirmative: true,
    policy_version_hash: configured.data.policy_hash,
    purposes: ['analytics'],
  };
  schemas.recordConsentBody.parse(choice);
  const saved = await api.recordConsent(choice);
  assert(saved.status === 202, JSON.stringify(saved.data));
  const { receipt, signature } = saved.data;
  const verdict = await api.verifyReceipt({ receipt: { ...receipt }, signature });
  assert.equal(schemas.verifyReceiptResponse.parse(verdict.data).valid, true);
  const log = await api.readConsentLog(pixel, { limit: 1 }, { headers });
  const events = schemas.readConsentLogResponse.parse(log.data);
  assert.deepEqual([events.events.length, events.next], [1, null]);
  const stats = await api.readConsentStats(pixel, undefined, { headers });
  schemas.readConsentStatsResponse.parse(stats.data);

  const gone = await api.deletePixel(pixel, undefined, { headers });
  assert.equal(gone.status, 204);
  const missing = await api.showPixel(pixel, undefined, { headers });
  assert(missing.status === 404 && missing.data.detail === 'pixel not found');
};

void main();
