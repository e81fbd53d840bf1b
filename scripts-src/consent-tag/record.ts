import { ask } from '../shared/http';
import { Choice, only } from './choice';
import { config } from './config';

/** Origin and path: the query may hold what the service has no business knowing. */
const page = (): string => location.origin + location.pathname;

/** Requests go out one after the other, so that what the visitor said last is also recorded last. */
let previous: Promise<unknown> = Promise.resolve();

/**
 * Records a choice. Resolves to the choice with its receipt when the service has it; to null when the service
 * refused it (asking again is no use); rejects when it could not be reached or answered nonsense.
 */
export const record = (choice: Choice): Promise<Choice | null> => {
  const turn = previous.then(() => send(choice));
  previous = turn.catch(() => {});
  return turn;
};

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
  if (status === 202 && json.recorded === true && json.receipt_id && json.policy_version_hash === config.hash) {
    return { ...choice, purposes: only(choice.purposes, json.purposes), receipt: '' + json.receipt_id, unsent: false };
  }
  if (status < 500 && status !== 202 && status !== 429) return null;
  throw status;
};

/** Counts that the question was seen. Its failure concerns nobody on this page. */
export const reportShown = (visitor: string): void => {
  ask(`${config.base}/v1/consent/shown`, { pixel_id: config.pixel, visitor_id: visitor, url: page() }).catch(() => {});
};
