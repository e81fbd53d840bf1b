/** The rules about a visitor's choice. Nothing here touches the page, so all of it can be tested as plain functions. */

export type State = 'accepted' | 'declined' | 'withdrawn';

export interface Choice {
  visitor: string;
  state: State;
  purposes: string[];
  /** The policy that was answered. */
  hash: string;
  /** Milliseconds since 1970, by the visitor's clock. */
  time: number;
  /** Made once per choice, so that a repeated request never makes a second receipt. */
  id: string;
  /** Missing while the service has not heard of it, which can only be so for a "no". */
  receipt?: string;
  /** Whether an acceptance came before. */
  yes?: boolean;
  /** What released scripts said they store, with the purposes that they needed: names → purposes. */
  stored?: { [names: string]: string };
}

const DAY_MS = 864e5;
/** How far a clock may have been set back between two pages. */
const SKEW_MS = 300e3;

/** What was remembered, or null when it is not whole. Storage is the page's: anything may stand there. */
export const parseChoice = (text: string | null): Choice | null => {
  // Nothing is the usual case on a first visit; an exception would cost it milliseconds.
  const choice = text ? (JSON.parse(text) as Choice) : null;
  return choice &&
    /^[\w-]{1,128}$/.test(choice.visitor) &&
    /^(accepted|declined|withdrawn)$/.test(choice.state) &&
    Array.isArray(choice.purposes) &&
    (choice.state !== 'accepted' || choice.receipt) &&
    choice.time > 0
    ? choice
    : null;
};

/** Whether a remembered choice still answers the question: same policy, at most so many days old, not from the future. */
export const isCurrent = (choice: Choice, hash: string, days: number, now: number): boolean =>
  choice.hash === hash && choice.time < now + SKEW_MS && choice.time > now - days * DAY_MS;

/** What the service says of a visitor's latest receipt. */
export interface Check {
  permitted: boolean;
  reason: string;
  purposes: string[];
  receipt_id: string;
}

/** What remains of an acceptance when the service has been asked anew; null: it knows nothing of this visitor. */
export const afterCheck = (choice: Choice, check: Check, now: number): Choice | null => {
  if (check.permitted) return { ...choice, purposes: only(choice.purposes, check.purposes) };
  if (check.reason === 'declined_or_withdrawn') {
    return { ...choice, state: 'withdrawn', purposes: [], receipt: check.receipt_id, time: now };
  }
  // Too old, or of a policy that is no longer in force: the same visitor is asked again.
  return check.reason === 'no_consent_record' ? null : { ...choice, hash: '' };
};

/** What of `wanted` is configured, in the configured order, each once. */
export const only = (configured: string[], wanted: unknown): string[] =>
  Object.assign(
    configured.filter((purpose) => Array.isArray(wanted) && wanted.includes(purpose)),
    // On some pages (Prototype.js) every array has a `toJSON` that makes a text of it.
    { toJSON: 0 },
  );

/** The purposes named in an attribute; separators are spaces and commas. */
export const splitNames = (attribute: string | undefined): string[] => attribute?.match(/[^\s,]+/g) || [];

/** Whether all that `needs` names has been accepted. What names nothing is never permitted. */
export const permits = (choice: Choice | null, needs: string[]): boolean =>
  !!choice &&
  choice.state === 'accepted' &&
  needs.length > 0 &&
  needs.every((purpose) => choice.purposes.includes(purpose));

/** So many random numbers of 32 bits. */
const random = (count: number): Uint32Array => crypto.getRandomValues(new Uint32Array(count));

/** A random id of 128 bits. */
export const randomId = (): string => random(4).join('-');

/**
 * A UUID of version 7 (RFC 9562) without dashes, which begins with its time, by whatever clock: however many choices the
 * service keeps, it stores the new ones side by side. It takes an id for that of one visitor and one answer, so the rest
 * only has to tell apart what one visitor says within a millisecond: 32 random bits, as decimal digits.
 */
export const choiceId = (): string =>
  (2 ** 49 + Date.now()).toString(16).slice(1, 13) + (70008e15 + 2e5 * random(1)[0]);
