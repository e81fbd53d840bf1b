import { ask } from '../shared/http';
import { Choice, only } from './choice';
import { config } from './config';

/** Origin and path: the query may hold what the service has no business knowing. */
const page = (): string => location.origin + location.pathname;

/** Requests go out one after the other, so that what the visitor said last is also recorded last. */
let previous: Promise<Choice | null> = Promise.resolve(null);

/**
 * Records a choice. Resolves to the choice with its receipt, or to null when the service did not say, in so many words,
 * that it has recorded this choice on this policy.
 */
export const record = (choice: Choice): Promise<Choice | null> =>
  (previous = previous.then(() => send(choice)).catch(() => null));

const send = async (choice: Choice): Promise<Choice | null> => {
  const accepted = choice.state === 'accepted';
  const { status, json } = await ask(`${config.base}/v1/consent/record`, {
    pixel_id: config.pixel,
    visitor_id: choice.visitor,
    url: page(),
    consent: choice.state,
    affirmative: accepted,
    policy_version_hash: config.hash,
    purposes: choice.purposes,
    gpc: false,
    choice_id: choice.id,
  });
  return status === 202 && json.recorded === true && json.receipt_id && json.policy_version_hash === config.hash
    ? { ...choice, purposes: only(choice.purposes, json.purposes), receipt: '' + json.receipt_id }
    : null;
};

/** Counts that the question was seen. Its failure concerns nobody on this page. */
export const reportShown = (visitor: string): void => {
  ask(`${config.base}/v1/consent/shown`, { pixel_id: config.pixel, visitor_id: visitor, url: page() }).catch(() => {});
};
