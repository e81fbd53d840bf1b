import { afterCheck, type Choice } from '../consent-tag/choice';
import type { TagConfig } from '../shared/config';
import { guard } from '../shared/guard';
import type { ask } from '../shared/http';

/** Asks the service for the state of a remembered choice and passes it to `settle`: null if the visitor is unknown. */
export const verify = async (
  { base, pixel }: TagConfig,
  doubtful: Choice,
  mark: string,
  read: typeof ask,
  settle: (doubtful: Choice, next: Choice | null) => void,
): Promise<void> => {
  const { status, json } = await read(`${base}/v1/consent/check?pixel_id=${pixel}&visitor_id=${doubtful.visitor}`);
  if (status !== 200) return;
  // Throws when the answer is not one of the service, before the mark goes.
  const next = afterCheck(doubtful, json, Date.now());
  // The page of the service may still be open: for a day a withdrawal there may be to come.
  guard(() => Date.now() - localStorage[mark] < 864e5 || localStorage.removeItem(mark));
  settle(doubtful, next);
};
