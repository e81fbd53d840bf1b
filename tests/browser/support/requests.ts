import { ENVIRONMENT } from './global-setup';
import { OWN, Sent, Wanted } from './forwarder';

/** The requests that pages have sent, as received by the proxy, which works in every browser. */

const call = async (path: string, body?: object): Promise<any> => {
  const init = body && { method: 'POST', body: JSON.stringify(body) };
  return (await fetch(`${process.env[ENVIRONMENT.base]}${OWN}${path}`, init)).json();
};

/** Requests with a text in their address or body, ignoring case, in order of arrival. */
export const sentWith = (text: string): Promise<Sent[]> => call(`/sent?text=${encodeURIComponent(text)}`);

interface Named {
  pixel: { id: string };
}

/** The choices that pages of this shop have sent, in order. */
export const sentChoices = async ({ pixel }: Named): Promise<any[]> =>
  (await sentWith(pixel.id)).filter(({ path }) => path === '/v1/consent/record').map(({ body }) => JSON.parse(body));

export interface HeldChoice {
  /** Waits until the choice is held. */
  asked(): Promise<void>;
  /** Releases the choice, and returns the status of the service's response. */
  release(): Promise<number>;
}

/** Holds the next choice of this shop with this answer; the service receives it when it is released. */
export const holdChoice = async ({ pixel }: Named, consent: 'accepted' | 'declined'): Promise<HeldChoice> => {
  const wanted: Wanted = { pixel: pixel.id, consent };
  const hold: number = await call('/hold', wanted);
  return { asked: () => call(`/asked?hold=${hold}`), release: () => call(`/release?hold=${hold}`) };
};

/**
 * The service records matching choices of this shop but the page gets no response, until the returned function is
 * called. Browsers themselves repeat a request that got no response on a reused connection.
 */
export const loseAnswers = async ({ pixel }: Named, consent: string): Promise<() => Promise<void>> => {
  const wanted: Wanted = { pixel: pixel.id, consent, losesAnswers: true };
  const hold: number = await call('/hold', wanted);
  return () => call(`/end?hold=${hold}`);
};

/** The number of matching choices of this shop whose response was returned. */
export const answeredChoices = async ({ pixel }: Named, consent: string): Promise<number> =>
  (await sentWith(pixel.id)).filter(({ path, body, status }) => {
    return path === '/v1/consent/record' && status === 202 && JSON.parse(body).consent === consent;
  }).length;
