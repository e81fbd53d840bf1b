import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { send } from '../shared/http';
import { Choice, only } from './choice';
import { config } from './config';
import { extra } from './modules';
import { forgetVisitor, PENDING_KEY } from './storage';

/** The time in which a sent acceptance may be recorded: the tag waits 8 seconds, and the service drops requests after 4. */
export const MAX_PENDING_MS = 12e3;

/** Origin and path. The query may contain personal data, so it is not sent. */
const pageUrl = (): string => location.origin + location.pathname;

/** Requests are sent one after the other, so that the visitor's latest choice is also recorded last. */
let previous: Promise<Choice | null> = Promise.resolve(null);

/**
 * Records a choice. Resolves to the choice with its receipt, or to null if the service did not confirm that it has recorded
 * this choice on this policy. A refusal is returned without a receipt while an acceptance of another tab is pending: that
 * acceptance may be recorded later, so the refusal must be sent again.
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
    shown: { language: config.lang, script: config.build, automated: navigator.webdriver, ...choice.by },
    // A choice without an id can be sent again as a separate choice.
    choice_id: hasPendingAcceptance ? undefined : choice.id,
  });
  // The entry stays if there was no answer, or if another tab has overwritten it.
  guard(() => localStorage[PENDING_KEY] == now && delete localStorage[PENDING_KEY]);
  if (gpc() && !hasPendingAcceptance && [202, 204, 403].includes(status)) forgetVisitor();
  // The page is of another site, or the site has published another policy since the visitor was asked.
  if (status === 403 || (isAcceptance && status === 204)) await extra('refused', config, send, status);
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
