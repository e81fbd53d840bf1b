import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { ask } from '../shared/http';
import { Choice, only } from './choice';
import { config } from './config';
import { extra } from './modules';
import { forget, PENDING } from './storage';

/** For so long an acceptance may be on its way: the tag waits 8 seconds, and the service drops what it has had for 4. */
export const LONGEST_MS = 12e3;

/** Origin and path: the query may hold what the service has no business knowing. */
const page = (): string => location.origin + location.pathname;

/** Requests go out one after the other, so that what the visitor said last is also recorded last. */
let previous: Promise<Choice | null> = Promise.resolve(null);

/**
 * Records a choice. Resolves to the choice with its receipt, or to null when the service did not say, in so many words,
 * that it has recorded this choice on this policy. A "no" while an acceptance of another tab is on its way stays without a
 * receipt: that acceptance may be recorded later, so the "no" has to be said once more.
 */
export const record = (choice: Choice): Promise<Choice | null> =>
  (previous = previous.then(() => send(choice)).catch(() => null));

const send = async (choice: Choice): Promise<Choice | null> => {
  const accepted = choice.state === 'accepted';
  const now = Date.now();
  let early = false;
  guard(() => {
    if (accepted) localStorage[PENDING] = now;
    else early = now - localStorage[PENDING] < LONGEST_MS;
  });
  const { status, json } = await ask(`${config.base}/v1/consent/record`, {
    pixel_id: config.pixel,
    visitor_id: choice.visitor,
    url: page(),
    consent: choice.state,
    affirmative: accepted,
    policy_version_hash: config.hash,
    purposes: choice.purposes,
    gpc: false,
    shown: { language: config.lang, script: config.build },
    // Without an id it is a choice of its own, and can be said again.
    choice_id: early ? undefined : choice.id,
  });
  // Without an answer, or while another tab's is on its way, the mark stays.
  guard(() => localStorage[PENDING] == now && delete localStorage[PENDING]);
  if (gpc() && !early && [202, 204, 403].includes(status)) forget();
  // The site has published another policy since the visitor was asked.
  if (accepted && status === 204) await extra('refresh', config, ask);
  return early
    ? choice
    : status === 202 && json.recorded === true && json.receipt_id && json.policy_version_hash === config.hash
      ? { ...choice, purposes: only(choice.purposes, json.purposes), receipt: '' + json.receipt_id }
      : null;
};

/** Reports that the popup was shown. The request is sent once, because the service would count a repeated request again. */
export const reportShown = (visitor: string): void => {
  guard(() => ask(`${config.base}/v1/consent/shown`, { pixel_id: config.pixel, visitor_id: visitor, url: page() }, true));
};
