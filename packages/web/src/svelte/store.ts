import { type Readable, readable } from 'svelte/store';
import { type Consent, getConsent, NO_CONSENT, subscribe } from '../consent.js';

/** The visitor's choice. It is known one task after the first subscription, so that hydration finds the server's markup. */
export const consent: Readable<Consent> = readable(NO_CONSENT, (set) => {
  if (typeof document === 'undefined') return;
  const update = (): void => set(getConsent());
  const timer = setTimeout(update);
  const unsubscribe = subscribe(update);
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
});

/** The same store, by the name that the other frameworks use. */
export const useConsent = (): Readable<Consent> => consent;
