import { ENVIRONMENT } from './global-setup';
import { ChoiceFilter, CONTROL_PATH, Sent } from './forwarder';

/** The requests that pages have sent, as received by the proxy, which works in every browser. */

const call = async (path: string, body?: object): Promise<any> => {
  const init = body && { method: 'POST', body: JSON.stringify(body) };
  return (await fetch(`${process.env[ENVIRONMENT.base]}${CONTROL_PATH}${path}`, init)).json();
};

/** Returns requests with a text in their address or body, ignoring case, in order of arrival. */
export const requestsWith = (text: string): Promise<Sent[]> => call(`/sent?text=${encodeURIComponent(text)}`);

interface Site {
  pixel: { id: string };
}

/** Returns the choices that pages of this shop have sent, in order. */
export const sentChoices = async ({ pixel }: Site): Promise<any[]> =>
  (await requestsWith(pixel.id)).filter(({ path }) => path === '/v1/consent/record').map(({ body }) => JSON.parse(body));

export interface DelayedChoice {
  /** Waits until the choice has arrived. */
  arrived(): Promise<void>;
  /** Releases the choice, and returns the status of the service's response. */
  release(): Promise<number>;
}

/** Delays the next choice of this shop with this state. The service receives it when it is released. */
export const delayChoice = async ({ pixel }: Site, consent: 'accepted' | 'declined'): Promise<DelayedChoice> => {
  const filter: ChoiceFilter = { pixel: pixel.id, consent };
  const delay: number = await call('/delay', filter);
  return { arrived: () => call(`/arrived?delay=${delay}`), release: () => call(`/release?delay=${delay}`) };
};

/**
 * The service records matching choices of this shop but the page gets no response, until the returned function is
 * called. Browsers themselves repeat a request that got no response on a reused connection.
 */
export const dropResponses = async ({ pixel }: Site, consent: string): Promise<() => Promise<void>> => {
  const filter: ChoiceFilter = { pixel: pixel.id, consent, dropsResponses: true };
  const delay: number = await call('/delay', filter);
  return () => call(`/end?delay=${delay}`);
};

/** Returns the number of matching choices of this shop whose response was returned. */
export const countAnsweredChoices = async ({ pixel }: Site, consent: string): Promise<number> =>
  (await requestsWith(pixel.id)).filter(({ path, body, status }) => {
    return path === '/v1/consent/record' && status === 202 && JSON.parse(body).consent === consent;
  }).length;
