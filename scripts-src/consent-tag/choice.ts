/** The rules about a visitor's choice. They do not depend on the page, so that they can be tested as plain functions. */

export type State = 'accepted' | 'declined' | 'withdrawn';

/** The user action that made a choice. A page can forge it; the service stores it with the receipt. */
export interface Action {
  /** `page`: a script of the page made the choice. */
  act: 'pointer' | 'keyboard' | 'assistive' | 'page';
  /** For how long the popup was open before the press. */
  seen?: 'under_1s' | 'under_5s' | 'longer';
}

export interface Choice {
  visitor: string;
  state: State;
  purposes: string[];
  /** The hash of the policy that the visitor was shown. */
  hash: string;
  /** Milliseconds since 1970, by the visitor's clock. */
  time: number;
  /** Generated once per choice, so that a repeated request does not create a second receipt. */
  id: string;
  /** The receipt id. Undefined for a refusal that the service has not recorded yet. */
  receipt?: string;
  /** Undefined for choices of earlier builds of this script; empty for the browser's signal. */
  by?: Partial<Action>;
  /** Whether the visitor had accepted before. */
  yes?: boolean;
  /** Names that released scripts have declared in `data-assent-cookies` → purposes of these scripts. */
  stored?: { [names: string]: string };
}

const DAY_MS = 864e5;
/** Tolerance for a clock that was set back between two pages. */
const SKEW_MS = 300e3;

/** Parses a stored choice; null if it is incomplete. The page can write anything to its storage. Throws on invalid JSON. */
export const parseChoice = (text: string | null): Choice | null => {
  // A first visit has no text. An exception there would cost milliseconds.
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

/** Whether a stored choice is still valid: made on this policy, at most `days` old, and not in the future. */
export const isCurrent = (choice: Choice, hash: string, days: number, now: number): boolean =>
  choice.hash === hash && choice.time < now + SKEW_MS && choice.time > now - days * DAY_MS;

/** The service's answer about a visitor's latest receipt. */
export interface Check {
  permitted: boolean;
  reason: string;
  purposes: string[];
  receipt_id: string;
}

/** Applies the service's answer to a stored acceptance; null if the service has no receipt of this visitor. */
export const afterCheck = (choice: Choice, check: Check, now: number): Choice | null => {
  if (check.permitted) return { ...choice, purposes: only(choice.purposes, check.purposes) };
  if (check.reason === 'declined_or_withdrawn') {
    return { ...choice, state: 'withdrawn', purposes: [], receipt: check.receipt_id, time: now };
  }
  // The acceptance has expired, or its policy is no longer in force: the same visitor is asked again.
  return check.reason === 'no_consent_record' ? null : { ...choice, hash: '' };
};

/** The configured purposes that `wanted` contains, in the configured order, each once. */
export const only = (configured: string[], wanted: unknown): string[] =>
  Object.assign(
    configured.filter((purpose) => Array.isArray(wanted) && wanted.includes(purpose)),
    // Prototype.js adds a `toJSON` to every array that returns a string.
    { toJSON: 0 },
  );

/** Splits the value of an attribute at spaces and commas. */
export const splitNames = (attribute: string | undefined): string[] => attribute?.match(/[^\s,]+/g) || [];

/** Whether all purposes in `needs` have been accepted. An empty list is never permitted. */
export const permits = (choice: Choice | null, needs: string[]): boolean =>
  !!choice &&
  choice.state === 'accepted' &&
  needs.length > 0 &&
  needs.every((purpose) => choice.purposes.includes(purpose));

/** Returns `count` random numbers of 32 bits. */
const random = (count: number): Uint32Array => crypto.getRandomValues(new Uint32Array(count));

/** A random id of 128 bits. */
export const randomId = (): string => random(4).join('-');

/**
 * A UUID of version 7 (RFC 9562) without dashes. It begins with the time, so that the service's index stores new choices
 * next to each other. The service compares ids only among the choices of one visitor, so the rest only distinguishes
 * choices within a millisecond: 32 random bits, as decimal digits. The shape is valid whatever the clock says.
 */
export const choiceId = (): string =>
  (2 ** 49 + Date.now()).toString(16).slice(1, 13) + (70008e15 + 2e5 * random(1)[0]);
