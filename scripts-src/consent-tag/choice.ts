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
  /** What released scripts said they store, with the purposes that they needed: names → purposes. */
  stored?: { [names: string]: string };
}

/** 26 weeks: never more than six months. */
const LONGEST_MS = 182 * 24 * 3600e3;
/** How far a clock may have been set back between two pages. */
const SKEW_MS = 300e3;

/** What was remembered, or null when it is not whole. Storage is the page's: anything may stand there. */
export const parseChoice = (text: string | null): Choice | null => {
  // The usual case on a first visit; an exception would cost it milliseconds.
  if (!text) return null;
  try {
    const choice = JSON.parse(text) as Choice;
    return /^[\w-]{1,128}$/.test(choice.visitor) &&
      /^(accepted|declined|withdrawn)$/.test(choice.state) &&
      Array.isArray(choice.purposes) &&
      (choice.state !== 'accepted' || choice.receipt) &&
      choice.time > 0
      ? choice
      : null;
  } catch {
    return null;
  }
};

/** Whether a remembered choice still answers the question: same policy, not too old, not from the future. */
export const isCurrent = (choice: Choice, hash: string, now: number): boolean =>
  choice.hash === hash && choice.time < now + SKEW_MS && choice.time > now - LONGEST_MS;

/** What of `wanted` is configured, in the configured order, each once. */
export const only = (configured: string[], wanted: unknown): string[] =>
  configured.filter((purpose) => Array.isArray(wanted) && wanted.includes(purpose));

/** The purposes named in an attribute; separators are spaces and commas. */
export const words = (attribute: string | undefined): string[] => (attribute || '').split(/[\s,]+/).filter(Boolean);

/** Whether all that `needs` names has been accepted. What names nothing is never permitted. */
export const permits = (choice: Choice | null, needs: string[]): boolean =>
  !!choice &&
  choice.state === 'accepted' &&
  needs.length > 0 &&
  needs.every((purpose) => choice.purposes.includes(purpose));

/** A random UUID (version 4). `crypto.randomUUID` is missing on pages without TLS. */
export const uuid = (): string =>
  '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (digit) =>
    (+digit ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (+digit / 4)))).toString(16),
  );
