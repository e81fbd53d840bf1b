import { ENVIRONMENT } from './global-setup';
import { OWN, Sent, Wanted } from './forwarder';

/** What pages have sent to the service, as the proxy before it has received it: the same in every browser. */

const call = async (path: string, body?: object): Promise<any> => {
  const init = body && { method: 'POST', body: JSON.stringify(body) };
  return (await fetch(`${process.env[ENVIRONMENT.base]}${OWN}${path}`, init)).json();
};

/** Requests that have a text in their address or body, in any case, in the order in which they came. */
export const sentWith = (text: string): Promise<Sent[]> => call(`/sent?text=${encodeURIComponent(text)}`);

interface Named {
  pixel: { id: string };
}

/** The choices that pages of this shop have sent, in order. */
export const sentChoices = async ({ pixel }: Named): Promise<any[]> =>
  (await sentWith(pixel.id)).filter(({ path }) => path === '/v1/consent/record').map(({ body }) => JSON.parse(body));

export interface HeldChoice {
  /** Waits until it is held. */
  asked(): Promise<void>;
  /** Lets it go, and gives the status with which the service has answered it. */
  release(): Promise<number>;
}

/** Holds the next choice of this shop with this answer until it is let go; the service hears of it only then. */
export const holdChoice = async ({ pixel }: Named, consent: 'accepted' | 'declined'): Promise<HeldChoice> => {
  const wanted: Wanted = { pixel: pixel.id, consent };
  const hold: number = await call('/hold', wanted);
  return { asked: () => call(`/asked?hold=${hold}`), release: () => call(`/release?hold=${hold}`) };
};

/**
 * The service records such choices of this shop, and the page never hears of it, until the returned function is called.
 * A browser itself sends once more what had no answer on a connection that it had used before.
 */
export const loseAnswers = async ({ pixel }: Named, consent: string): Promise<() => Promise<void>> => {
  const wanted: Wanted = { pixel: pixel.id, consent, losesAnswers: true };
  const hold: number = await call('/hold', wanted);
  return () => call(`/end?hold=${hold}`);
};

/** How many such choices of this shop the service has answered, with the answer handed back. */
export const answeredChoices = async ({ pixel }: Named, consent: string): Promise<number> =>
  (await sentWith(pixel.id)).filter(({ path, body, status }) => {
    return path === '/v1/consent/record' && status === 202 && JSON.parse(body).consent === consent;
  }).length;
