// openapi-typescript describes, openapi-fetch calls: once per kind of route.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from '../generated/schema';

const baseUrl = process.argv[2];
const anyone = createClient<paths>({ baseUrl });

const refused = (problem: components['schemas']['Problem'] | undefined, sentence: string): void =>
  assert.equal(problem?.detail, sentence);

const main = async (): Promise<void> => {
  const plans = await anyone.GET('/v1/plans');
  assert.equal(plans.data?.plans[0].monthly_cents, 100);

  const email = 'fetch@example.com';
  const opened = await anyone.POST('/v1/accounts', { body: { email, display_name: 'Fetch' } });
  assert(opened.data?.verification_url, JSON.stringify(opened.error));
  const again = await anyone.POST('/v1/accounts', { body: { email, display_name: 'Fetch' } });
  assert.equal(again.response.status, 409);
  refused(again.error, 'email already registered');
  assert.equal((await fetch(opened.data.verification_url)).status, 200);
  const { account_id, signup_token } = opened.data;
  const issued = await anyone.POST('/v1/api-keys', {
    params: { query: { account_id } },
    headers: { 'x-signup-token': signup_token },
  });
  assert(issued.data);

  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${issued.data.api_key}` } });
  const path = { pixel_id: '' };
  const created = await client.POST('/v1/pixels', { body: { domain: 'fetch.example' } });
  assert(created.data);
  path.pixel_id = created.data.pixel_id;
  const renamed = await client.PATCH('/v1/pixels/{pixel_id}', { params: { path }, body: { domain: 'renamed.example' } });
  assert.equal(renamed.data?.domain, 'renamed.example');
  const page = await client.POST('/v1/pixels', { body: { domain: 'fetch.example/cart' } });
  refused(page.error as components['schemas']['Problem'], 'domain must be a host, not a page');

  const wrong = { controller_name: 'Fetch', purposes: 'analytics' } as unknown as components['schemas']['ConsentRequest'];
  const unread = await client.POST('/v1/pixels/{pixel_id}/consent', { params: { path }, body: wrong });
  refused(unread.error, 'invalid request');
  assert.deepEqual(unread.error?.errors?.[0].loc, ['body', 'purposes']);
  const configured = await client.POST('/v1/pixels/{pixel_id}/consent', {
    params: { path },
    body: { controller_name: 'Fetch', purposes: ['analytics'] },
  });
  assert(configured.data);
  const saved = await anyone.POST('/v1/consent/record', {
    body: {
      pixel_id: path.pixel_id,
      visitor_id: 'visitor-1',
      url: 'https://renamed.example/',
      consent: 'accepted',
      affirmative: true,
      policy_version_hash: configured.data.policy_hash,
      purposes: ['analytics'],
    },
  });
  assert.equal(saved.response.status, 202);
  assert(saved.data);
  const { receipt, signature } = saved.data;
  const verdict = await anyone.POST('/v1/consent/verify', { body: { receipt, signature } });
  assert.equal(verdict.data?.valid, true);
  // What is also sent as CSV has a type once the media types are named.
  const reader = createClient<paths, 'application/json' | 'application/problem+json'>({
    baseUrl,
    headers: { Authorization: `Bearer ${issued.data.api_key}` },
  });
  const log = await reader.GET('/v1/pixels/{pixel_id}/consent', { params: { path } });
  assert.deepEqual([log.data?.events.length, log.data?.next], [1, null]);
  const stats = await reader.GET('/v1/pixels/{pixel_id}/consent/stats', { params: { path } });
  assert.equal(stats.data?.totals.accepted, 1);
  const lines = await client.GET('/v1/pixels/{pixel_id}/consent/export', { params: { path }, parseAs: 'text' });
  assert.equal(String(lines.data).trim().split('\n').length, 2);
  const notice = await anyone.GET('/v1/policy/{pixel}', { params: { path: { pixel: path.pixel_id } }, parseAs: 'text' });
  assert.match(String(notice.data), /<html/);

  const gone = await client.DELETE('/v1/pixels/{pixel_id}', { params: { path } });
  assert.equal(gone.response.status, 204);
  const missing = await client.GET('/v1/pixels/{pixel_id}', { params: { path } });
  assert.equal(missing.response.status, 404);
  refused(missing.error, 'pixel not found');
  refused((await anyone.GET('/v1/whoami')).error, 'api key required');
};

void main();
