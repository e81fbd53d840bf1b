import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedChoice } from '../dist/server.js';

const HASH = 'e7'.repeat(32);
const cookie = (state, time, { pixel = 'p', purposes = '', receipt = 'r-1', visitor = 'v-1' } = {}) =>
  `assent=1.${pixel}.${state}.${time}.${purposes}.${HASH}.${visitor}.${receipt}.c1`;
const read = (...cookies) => sharedChoice({ headers: { cookie: cookies.join('; ') } }, 'p');

test('a choice is read as the tag writes it', () => {
  const choice = { state: 'accepted', time: 5, purposes: ['analytics', 'resolution'], policyHash: HASH, visitor: 'v-1', receipt: 'r-1' };
  const written = cookie('accepted', 5, { purposes: 'analytics~resolution' });
  assert.deepEqual(read('other=1', written, 'assent2=x'), choice);
  assert.deepEqual(sharedChoice({ headers: new Headers({ Cookie: written }) }, 'p'), choice);
  assert.deepEqual(read(cookie('declined', 5, { receipt: '' })), { ...choice, state: 'declined', purposes: [], receipt: null });
});

test('of several, the latest counts, and of two of the same time the refusal', () => {
  const [yes, no] = [cookie('accepted', 5, { purposes: 'analytics' }), cookie('withdrawn', 5)];
  for (const cookies of [[yes, no], [no, yes]]) assert.equal(read(...cookies).state, 'withdrawn');
  const later = cookie('accepted', 6, { purposes: 'analytics' });
  for (const cookies of [[later, no], [no, later]]) assert.equal(read(...cookies).state, 'accepted');
});

test('what is not a choice of the pixel is ignored', () => {
  assert.equal(sharedChoice({ headers: {} }, 'p'), null);
  const ok = cookie('accepted', 5);
  for (const bad of [cookie('accepted', 5, { pixel: 'q' }), ok.replace('=1.', '=2.'), ok + '.more', ok.replace('accepted', 'granted'), 'assent=', 'assent', ok.replace('.5.', '.x.')]) {
    assert.equal(read(bad), null, bad);
  }
});
