import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { createConsentServer } from '../dist/server.js';

let server, service, answer, calls;

before(async () => {
  server = createServer((request, response) => {
    calls.push(request.url);
    answer(response);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  service = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  calls = [];
  answer = (response) => response.end(JSON.stringify({ permitted: true, reason: 'ok', expires_at: '2999-01-01T00:00:00Z' }));
});

const visitor = { headers: { 'assent-visitor': 'visitor 1' } };

test('a permission is cached, per visitor and purpose', async () => {
  const { permits } = createConsentServer({ service, pixel: 'p' });
  assert.equal(await permits(visitor, 'analytics'), true);
  assert.equal(await permits(visitor, 'analytics'), true);
  assert.deepEqual(calls, ['/v1/consent/check?pixel_id=p&visitor_id=visitor+1&required_purpose=analytics']);
  await permits(visitor, 'resolution');
  await permits({ headers: new Headers({ 'Assent-Visitor': 'other' }) }, 'analytics');
  assert.equal(calls.length, 3);
});

test('a refusal is not cached, and an expired permission is not used again', async () => {
  const { permits } = createConsentServer({ service, pixel: 'p' });
  answer = (response) => response.end('{"permitted":false,"reason":"declined_or_withdrawn","expires_at":null}');
  assert.equal(await permits(visitor, 'analytics'), false);
  answer = (response) => response.end('{"permitted":true,"reason":"ok","expires_at":"2020-01-01T00:00:00Z"}');
  assert.equal(await permits(visitor, 'analytics'), true);
  assert.equal(await permits(visitor, 'analytics'), true);
  assert.equal(calls.length, 3);
});

test('the age of a permission counts from the question, not from a late answer', async () => {
  const { permits } = createConsentServer({ service, pixel: 'p', maxAge: 200 });
  const permitted = answer;
  answer = (response) => setTimeout(() => permitted(response), 250);
  assert.equal(await permits(visitor, 'analytics'), true);
  answer = (response) => response.end('{"permitted":false,"reason":"declined_or_withdrawn","expires_at":null}');
  assert.equal(await permits(visitor, 'analytics'), false);
});

test('without a visitor nothing is permitted, and nothing is requested', async () => {
  const { permits } = createConsentServer({ service, pixel: 'p' });
  assert.equal(await permits({ headers: {} }, 'analytics'), false);
  assert.deepEqual(calls, []);
});

const FAILURES = {
  'an error of the service': (response) => response.writeHead(503).end('{"permitted":true}'),
  'an answer that is not JSON': (response) => response.end('<html>'),
  'an answer of another form': (response) => response.end('{"permitted":"yes"}'),
  'a closed connection': (response) => response.destroy(),
  'no answer in time': () => {},
};
for (const [name, failure] of Object.entries(FAILURES)) {
  test(`${name} permits nothing`, async () => {
    answer = failure;
    const { permits } = createConsentServer({ service, pixel: 'p', timeout: 300 });
    assert.equal(await permits(visitor, 'analytics'), false);
  });
}
