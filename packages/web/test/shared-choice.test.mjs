import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { renewedCookie, sharedChoice } from '../dist/server.js';

// The tests of the packages for Python and PHP read the same table.
const table = readFileSync(new URL('../../tests/shared-choice.json', import.meta.url), 'utf8');
const { pixel, host, now, cases, wrong_hosts } = JSON.parse(table.replaceAll('HASH', 'e7'.repeat(32)));

const expected = ({ state, time, purposes, policy_hash, visitor_id, receipt_id }) => ({
  state,
  time,
  purposes,
  policyHash: policy_hash,
  visitor: visitor_id,
  receipt: receipt_id,
});

for (const { name, cookie, days, choice, renewed } of cases) {
  test(`the cookie: ${name}`, (t) => {
    t.mock.method(Date, 'now', () => now);
    const request = { headers: cookie === null ? {} : { cookie } };
    assert.deepEqual(sharedChoice(request, pixel, days), choice && expected(choice));
    assert.equal(renewedCookie(request, pixel, host, days), renewed);
  });
}

test('the headers may be those of Fetch', (t) => {
  t.mock.method(Date, 'now', () => now);
  const [{ cookie, choice, renewed }] = cases;
  const request = { headers: new Headers({ Cookie: cookie }) };
  assert.deepEqual(sharedChoice(request, pixel), expected(choice));
  assert.equal(renewedCookie(request, pixel, host), renewed);
});

test('the time is that of the clock', () => {
  const cookie = cases[0].cookie.replace(cases[0].choice.time, Date.now() - 60_000);
  const [, seconds] = renewedCookie({ headers: { cookie } }, pixel, host).match(/; Max-Age=(\d+);/);
  assert.ok(Math.abs(Number(seconds) - (182 * 86_400 - 60)) <= 10, seconds);
});

for (const wrong of wrong_hosts) {
  test(`what is not the name of a host is refused: ${JSON.stringify(wrong)}`, () => {
    assert.throws(() => renewedCookie({ headers: {} }, pixel, wrong), TypeError);
  });
}
