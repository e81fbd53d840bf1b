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

test.describe('a stored choice', chromiumOnly(LACKS.noPage), () => {
  test('is parsed', () => {
    expect(parseChoice(JSON.stringify(choice()))).toEqual(choice());
  });

  test('is null if it is incomplete', () => {
    for (const text of [null, '', 'null', '1', '"x"', '[]', '{}']) expect(parseChoice(text) || null).toBeNull();
    expect(() => parseChoice('{'), 'the caller handles invalid JSON').toThrow();
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

  test('needs no receipt if it is a refusal', () => {
    expect(parseChoice(JSON.stringify(choice({ state: 'declined', receipt: undefined })))).not.toBeNull();
  });

  test('is valid for the configured days, on the same policy', () => {
    const current = (changes: Partial<Choice>): boolean => isCurrent(choice(changes), 'h', 182, NOW);
    expect(current({})).toBe(true);
    expect(current({ hash: 'other' })).toBe(false);
    expect(current({ time: NOW - 181 * DAY })).toBe(true);
    expect(current({ time: NOW - 183 * DAY })).toBe(false);
    expect(isCurrent(choice({ time: NOW - 6 * DAY }), 'h', 7, NOW)).toBe(true);
    expect(isCurrent(choice({ time: NOW - 8 * DAY }), 'h', 7, NOW)).toBe(false);
    expect(current({ time: NOW + 60e3 }), 'a clock may be set back by minutes').toBe(true);
    expect(current({ time: NOW + DAY }), 'but not by a day').toBe(false);
  });
});

test.describe('permission', chromiumOnly(LACKS.noPage), () => {
  test('needs every named purpose, and at least one', () => {
    const both = choice({ purposes: ['analytics', 'resolution'] });
    expect(permits(both, ['analytics'])).toBe(true);
    expect(permits(both, ['analytics', 'resolution'])).toBe(true);
    expect(permits(both, ['analytics', 'newsletter'])).toBe(false);
    expect(permits(both, [])).toBe(false);
    expect(permits(null, ['analytics'])).toBe(false);
    expect(permits(choice({ state: 'withdrawn' }), ['analytics'])).toBe(false);
  });

  test('covers only configured purposes, in their order, each once', () => {
    expect([...only(['a', 'b'], ['b', 'x', 'a', 'a'])]).toEqual(['a', 'b']);
    for (const nonsense of [undefined, null, 'a', {}, 1]) expect(only(['a'], nonsense)).toHaveLength(0);
  });

  test('is named in attributes, with spaces or commas between purposes', () => {
    expect(splitNames(' analytics,resolution  newsletter ')).toEqual(['analytics', 'resolution', 'newsletter']);
    expect(splitNames(undefined)).toEqual([]);
  });
});

test.describe('an acceptance after a check by the service', chromiumOnly(LACKS.noPage), () => {
  const accepted = choice({ purposes: ['analytics', 'resolution'] });
  const after = (check: Partial<Check>): Choice | null =>
    afterCheck(accepted, { permitted: false, reason: '', purposes: [], receipt_id: 'r2', ...check }, NOW + DAY);

  test('stays in force if it is permitted, with no more purposes than before', () => {
    const same = after({ permitted: true, reason: 'ok', purposes: ['analytics', 'newsletter', 'resolution'] })!;
    expect({ ...same, purposes: [...same.purposes] }).toEqual(accepted);
    expect(after({ permitted: true, reason: 'ok', purposes: ['analytics'] })?.purposes).toHaveLength(1);
    expect(after({ permitted: true, reason: 'ok', purposes: undefined })?.purposes, 'an answer without purposes').toHaveLength(0);
  });

  test('becomes a withdrawal with the receipt of the service', () => {
    const withdrawn = { ...accepted, state: 'withdrawn', purposes: [], receipt: 'r2', time: NOW + DAY };
    expect(after({ reason: 'declined_or_withdrawn' })).toEqual(withdrawn);
  });

  test('is no longer valid, but keeps its visitor, for every other reason', () => {
    for (const reason of ['policy_version_stale', 'consent_off', '']) {
      const next = after({ reason })!;
      expect(next.visitor).toBe(accepted.visitor);
      expect(isCurrent(next, 'h', 182, NOW), reason).toBe(false);
    }
  });

  test('is null if the service does not know the visitor', () => {
    expect(after({ reason: 'no_consent_record' })).toBeNull();
  });
});

test('a visitor id is random, and valid for the service', chromiumOnly(LACKS.noPage), () => {
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

  test('is a unique UUID of version 7', () => {
    const ids = new Set(Array.from({ length: 500 }, () => at(NOW)));
    expect(ids.size).toBe(500);
    for (const id of ids) {
      expect(id).toMatch(SHAPE);
      expect(parseInt(id.slice(0, 12), 16)).toBe(NOW);
    }
  });

  test('is greater than earlier ids', () => {
    expect(at(NOW) < at(NOW + 1)).toBe(true);
  });

  for (const time of [0, 1, -1, NOW + 0.7, 2 ** 47]) {
    test(`is valid when the clock says ${time}`, () => expect(at(time)).toMatch(SHAPE));
  }

  test('is valid and different for all random numbers', () => {
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

  test('are granted by their purposes', () => {
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
