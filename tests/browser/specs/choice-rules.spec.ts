import { expect, test } from '@playwright/test';
import { afterCheck, Check, Choice, choiceId, isCurrent, only, parseChoice, permits, randomId, splitNames } from '../../../scripts-src/consent-tag/choice';
import { chromiumOnly, LACKS } from '../support/browsers';
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

test.describe('a remembered choice', chromiumOnly(LACKS.noPage), () => {
  test('is read back whole', () => {
    expect(parseChoice(JSON.stringify(choice()))).toEqual(choice());
  });

  test('is nothing when it is not whole', () => {
    for (const text of [null, '', 'null', '1', '"x"', '[]', '{}']) expect(parseChoice(text) || null).toBeNull();
    expect(() => parseChoice('{'), 'what is no JSON is for the reader of the storage').toThrow();
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

  test('answers the question for so many days, on the same policy', () => {
    const current = (changes: Partial<Choice>): boolean => isCurrent(choice(changes), 'h', 182, NOW);
    expect(current({})).toBe(true);
    expect(current({ hash: 'other' })).toBe(false);
    expect(current({ time: NOW - 181 * DAY })).toBe(true);
    expect(current({ time: NOW - 183 * DAY })).toBe(false);
    expect(isCurrent(choice({ time: NOW - 6 * DAY }), 'h', 7, NOW)).toBe(true);
    expect(isCurrent(choice({ time: NOW - 8 * DAY }), 'h', 7, NOW)).toBe(false);
    expect(current({ time: NOW + 60e3 }), 'clocks are set back a little').toBe(true);
    expect(current({ time: NOW + DAY }), 'but not by a day').toBe(false);
  });
});

test.describe('permission', chromiumOnly(LACKS.noPage), () => {
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
    expect([...only(['a', 'b'], ['b', 'x', 'a', 'a'])]).toEqual(['a', 'b']);
    for (const nonsense of [undefined, null, 'a', {}, 1]) expect(only(['a'], nonsense)).toHaveLength(0);
  });

  test('is named in attributes with spaces or commas', () => {
    expect(splitNames(' analytics,resolution  newsletter ')).toEqual(['analytics', 'resolution', 'newsletter']);
    expect(splitNames(undefined)).toEqual([]);
  });
});

test.describe('an acceptance about which the service has been asked anew', chromiumOnly(LACKS.noPage), () => {
  const accepted = choice({ purposes: ['analytics', 'resolution'] });
  const after = (check: Partial<Check>): Choice | null =>
    afterCheck(accepted, { permitted: false, reason: '', purposes: [], receipt_id: 'r2', ...check }, NOW + DAY);

  test('goes on when it is permitted, never with more than it was', () => {
    const same = after({ permitted: true, reason: 'ok', purposes: ['analytics', 'newsletter', 'resolution'] })!;
    expect({ ...same, purposes: [...same.purposes] }).toEqual(accepted);
    expect(after({ permitted: true, reason: 'ok', purposes: ['analytics'] })?.purposes).toHaveLength(1);
    expect(after({ permitted: true, reason: 'ok', purposes: undefined })?.purposes, 'an answer that names none').toHaveLength(0);
  });

  test('is a withdrawal from now on, which the service knows', () => {
    const withdrawn = { ...accepted, state: 'withdrawn', purposes: [], receipt: 'r2', time: NOW + DAY };
    expect(after({ reason: 'declined_or_withdrawn' })).toEqual(withdrawn);
  });

  test('answers no longer, but of the same visitor, for every other reason', () => {
    for (const reason of ['policy_version_stale', 'consent_off', '']) {
      const next = after({ reason })!;
      expect(next.visitor).toBe(accepted.visitor);
      expect(isCurrent(next, 'h', 182, NOW), reason).toBe(false);
    }
  });

  test('is nothing when the service knows nothing of the visitor', () => {
    expect(after({ reason: 'no_consent_record' })).toBeNull();
  });
});

test('a visitor id is random, and one that the service takes', chromiumOnly(LACKS.noPage), () => {
  const ids = new Set(Array.from({ length: 500 }, randomId));
  expect(ids.size).toBe(500);
  for (const id of ids) expect(id).toMatch(/^\d{1,10}(-\d{1,10}){3}$/);
});

test.describe('the id of a choice', chromiumOnly(LACKS.noPage), () => {
  const SHAPE = /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/;
  const at = (time: number): string => {
    const { now } = Date;
    Date.now = () => time;
    try {
      return choiceId();
    } finally {
      Date.now = now;
    }
  };

  test('is a UUID of version 7, of which no two are alike', () => {
    const ids = new Set(Array.from({ length: 500 }, () => at(NOW)));
    expect(ids.size).toBe(500);
    for (const id of ids) {
      expect(id).toMatch(SHAPE);
      expect(parseInt(id.slice(0, 12), 16)).toBe(NOW);
    }
  });

  test('comes after those that were made before it', () => {
    expect(at(NOW) < at(NOW + 1)).toBe(true);
  });

  for (const time of [0, 1, -1, NOW + 0.7, 2 ** 47]) {
    test(`is one also by a clock that says ${time}`, () => expect(at(time)).toMatch(SHAPE));
  }

  test('is one whatever the random numbers are, and another one for each', () => {
    const { getRandomValues } = crypto;
    const ids = [0, 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1].map((number) => {
      crypto.getRandomValues = ((numbers: Uint32Array) => numbers.fill(number)) as typeof getRandomValues;
      try {
        return at(NOW);
      } finally {
        crypto.getRandomValues = getRandomValues;
      }
    });
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(SHAPE);
  });
});

test.describe('the seven types of Consent Mode', chromiumOnly(LACKS.noPage), () => {
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
