import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { send } from '../shared/http';
import { Choice, only } from './choice';
import { config } from './config';
import { extra } from './modules';
import { forgetVisitor, PENDING_KEY } from './storage';

/** For so long an acceptance may be on its way: the tag waits 8 seconds, and the service drops what it has had for 4. */
export const MAX_PENDING_MS = 12e3;

/** Origin and path: the query may hold what the service has no business knowing. */
const pageUrl = (): string => location.origin + location.pathname;

/** Requests go out one after the other, so that what the visitor said last is also recorded last. */
let previous: Promise<Choice | null> = Promise.resolve(null);

/**
 * Records a choice. Resolves to the choice with its receipt, or to null when the service did not say, in so many words,
 * that it has recorded this choice on this policy. A "no" while an acceptance of another tab is on its way stays without a
 * receipt: that acceptance may be recorded later, so the "no" has to be said once more.
 */
export const record = (choice: Choice): Promise<Choice | null> =>
  (previous = previous.then(() => sendChoice(choice)).catch(() => null));

const sendChoice = async (choice: Choice): Promise<Choice | null> => {
  const isAcceptance = choice.state === 'accepted';
  const now = Date.now();
  let hasPendingAcceptance = false;
  guard(() => {
    if (isAcceptance) localStorage[PENDING_KEY] = now;
    else hasPendingAcceptance = now - localStorage[PENDING_KEY] < MAX_PENDING_MS;
  });
  const { status, json } = await send(`${config.base}/v1/consent/record`, {
    pixel_id: config.pixel,
    visitor_id: choice.visitor,
    url: pageUrl(),
    consent: choice.state,
    affirmative: isAcceptance,
    policy_version_hash: config.hash,
    purposes: choice.purposes,
    gpc: false,
    shown: { language: config.lang, script: config.build },
    // Without an id it is a choice of its own, and can be said again.
    choice_id: hasPendingAcceptance ? undefined : choice.id,
  });
  // Without an answer, or while another tab's is on its way, the mark stays.
  guard(() => localStorage[PENDING_KEY] == now && delete localStorage[PENDING_KEY]);
  if (gpc() && !hasPendingAcceptance && [202, 204, 403].includes(status)) forgetVisitor();
  // The site has published another policy since the visitor was asked.
  if (isAcceptance && status === 204) await extra('refresh', config, send);
  return hasPendingAcceptance
    ? choice
    : status === 202 && json.recorded === true && json.receipt_id && json.policy_version_hash === config.hash
      ? { ...choice, purposes: only(choice.purposes, json.purposes), receipt: '' + json.receipt_id }
      : null;
};

/** Reports that the popup was shown. The request is sent once, because the service would count a repeated request again. */
export const reportShown = (visitor: string): void => {
  guard(() => send(`${config.base}/v1/consent/shown`, { pixel_id: config.pixel, visitor_id: visitor, url: pageUrl() }, true));
};
