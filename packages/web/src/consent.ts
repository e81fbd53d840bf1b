import type { Snapshot } from './tag.js';

export type Purpose =
  | 'analytics'
  | 'resolution'
  | 'newsletter'
  | 'email_sharing'
  | 'phone_sharing'
  | 'partner_email'
  | 'partner_calls'
  | 'partner_sms';

/** One purpose, or several of which all are required. */
export type Purposes = Purpose | readonly Purpose[];

/** The visitor's choice. Nothing is permitted on a server, before hydration, or before the tag has loaded. */
export interface Consent {
  state: Snapshot['state'];
  purposes: readonly string[];
  visitor: string | null;
  receipt: string | null;
  /** Whether all of these purposes are permitted. */
  permits(purposes: Purposes): boolean;
  /** Opens the choice again, as soon as the tag has loaded. */
  open(): void;
}

export const listOf = (purposes: Purposes): readonly Purpose[] => (typeof purposes === 'string' ? [purposes] : purposes);

const open = (): void => void window.assent?.('open');

const consentOf = ({ state, purposes, visitor, receipt }: Omit<Snapshot, 'pixel' | 'gpc' | 'hash' | 'version'>): Consent => ({
  state,
  purposes,
  visitor,
  receipt,
  permits: (needed) => state === 'accepted' && listOf(needed).length > 0 && listOf(needed).every((name) => purposes.includes(name)),
  open,
});

/** The consent of a visitor about whom nothing is known. */
export const NO_CONSENT: Consent = consentOf({ state: null, purposes: [], visitor: null, receipt: null });

let last = NO_CONSENT;
let lastKey = '';

/** The choice at this moment. The same object is returned until the choice changes. */
export const getConsent = (): Consent => {
  const now = typeof window === 'undefined' ? undefined : window.assent?.get?.();
  if (!now) return NO_CONSENT;
  const key = JSON.stringify(now);
  if (key !== lastKey) [last, lastKey] = [consentOf(now), key];
  return last;
};

/** Calls the listener after every change. Returns a function that removes it. */
export const subscribe = (listener: () => void): (() => void) => {
  document.addEventListener('assent:change', listener);
  return () => document.removeEventListener('assent:change', listener);
};

/** Headers that identify the visitor to `permits` of `@assent/web/server`, for requests to your own server. */
export const visitorHeaders = (): Record<string, string> => {
  const { visitor } = getConsent();
  return visitor ? { 'Assent-Visitor': visitor } : {};
};
