import { afterCheck, type Choice } from '../consent-tag/choice';
import type { TagConfig } from '../shared/config';
import { guard } from '../shared/guard';
import type { Send } from '../shared/http';

/** Asks the service for the state of a remembered choice and passes it to `settle`: null if the visitor is unknown. */
export const verify = async (
  { base, pixel }: TagConfig,
  choice: Choice,
  openedKey: string,
  send: Send,
  applyCheck: (choice: Choice, next: Choice | null) => void,
): Promise<void> => {
  const { status, json } = await send(`${base}/v1/consent/check?pixel_id=${pixel}&visitor_id=${choice.visitor}`);
  if (status !== 200) return;
  // Throws when the answer is not one of the service, before the mark goes.
  const next = afterCheck(choice, json, Date.now());
  // The page of the service may still be open: for a day a withdrawal there may be to come.
  guard(() => Date.now() - localStorage[openedKey] < 864e5 || localStorage.removeItem(openedKey));
  applyCheck(choice, next);
};
