import { expect, test } from '@playwright/test';
import { Choice, isCurrent, only, parseChoice, permits, uuid, words } from '../../../scripts-src/consent-tag/choice';
import { consentTypes } from '../../../scripts-src/consent-tag/consent-types';

const DAY = 24 * 3600e3;
const NOW = Date.UTC(2026, 10, 21);

const choice = (changes: Partial<Choice> = {}): Choice => ({
  visitor: 'v-1',
  state: 'accepted',
  purposes: ['analytics'],
  hash: 'h',
  time: NOW,
  id: 'i',
  receipt: 'r',
  ...changes,
});

test.describe('a remembered choice', () => {
  test('is read back whole', () => {
    expect(parseChoice(JSON.stringify(choice()))).toEqual(choice());
  });

  test('is nothing when it is not whole', () => {
    for (const text of [null, '', '{', 'null', '1', '"x"', '[]', '{}']) expect(parseChoice(text)).toBeNull();
    for (const changes of [
      { visitor: '' },
      { visitor: 'a b' },
      { visitor: 'x'.repeat(129) },
      { state: 'maybe' as Choice['state'] },
      { purposes: 'analytics' as unknown as string[] },
      { receipt: undefined },
      { time: 0 },
      { time: 'yesterday' as unknown as number },
    ]) {
      expect(parseChoice(JSON.stringify(choice(changes))), JSON.stringify(changes)).toBeNull();
    }
  });

  test('needs no receipt when it is a "no"', () => {
    expect(parseChoice(JSON.stringify(choice({ state: 'declined', receipt: undefined })))).not.toBeNull();
  });

  test('answers the question for half a year, on the same policy', () => {
    const current = (changes: Partial<Choice>): boolean => isCurrent(choice(changes), 'h', NOW);
    expect(current({})).toBe(true);
    expect(current({ hash: 'other' })).toBe(false);
    expect(current({ time: NOW - 181 * DAY })).toBe(true);
    expect(current({ time: NOW - 183 * DAY })).toBe(false);
    expect(current({ time: NOW + 60e3 }), 'clocks are set back a little').toBe(true);
    expect(current({ time: NOW + DAY }), 'but not by a day').toBe(false);
  });
});

test.describe('permission', () => {
  test('needs every purpose that is named, and at least one', () => {
    const both = choice({ purposes: ['analytics', 'resolution'] });
    expect(permits(both, ['analytics'])).toBe(true);
    expect(permits(both, ['analytics', 'resolution'])).toBe(true);
    expect(permits(both, ['analytics', 'newsletter'])).toBe(false);
    expect(permits(both, [])).toBe(false);
    expect(permits(null, ['analytics'])).toBe(false);
    expect(permits(choice({ state: 'withdrawn' }), ['analytics'])).toBe(false);
  });

  test('takes only what is configured, in its order, each once', () => {
    expect(only(['a', 'b'], ['b', 'x', 'a', 'a'])).toEqual(['a', 'b']);
    for (const nonsense of [undefined, null, 'a', {}, 1]) expect(only(['a'], nonsense)).toEqual([]);
  });

  test('is named in attributes with spaces or commas', () => {
    expect(words(' analytics,resolution  newsletter ')).toEqual(['analytics', 'resolution', 'newsletter']);
    expect(words(undefined)).toEqual([]);
  });
});

test('a visitor id is a random UUID of version 4', () => {
  const ids = new Set(Array.from({ length: 500 }, uuid));
  expect(ids.size).toBe(500);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test.describe('the seven types of Consent Mode', () => {
  const granted = (...purposes: string[]): string[] =>
    Object.entries(consentTypes(purposes))
      .filter(([, value]) => value === 'granted')
      .map(([type]) => type)
      .sort();

  test('are all denied without a purpose', () => {
    expect(Object.keys(consentTypes([]))).toHaveLength(7);
    expect(granted()).toEqual([]);
  });

  test('follow the purposes', () => {
    const always = ['functionality_storage', 'security_storage'];
    expect(granted('analytics')).toEqual(['analytics_storage', ...always].sort());
    expect(granted('resolution')).toEqual(['ad_storage', 'personalization_storage', ...always].sort());
    expect(granted('newsletter')).toEqual(always);
    expect(granted('email_sharing')).toEqual(['ad_user_data', ...always].sort());
    expect(granted('phone_sharing')).toEqual(['ad_user_data', ...always].sort());
    for (const purpose of ['partner_email', 'partner_calls', 'partner_sms']) {
      expect(granted(purpose)).toEqual(['ad_personalization', ...always].sort());
    }
  });
});
