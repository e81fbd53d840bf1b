import { afterCheck, type Choice } from '../consent-tag/choice';
import type { TagConfig } from '../shared/config';
import { guard } from '../shared/guard';
import type { Send } from '../shared/http';

/** Asks the service for the state of a stored choice and passes it to `applyCheck`: null if the visitor is unknown. */
export const verify = async (
  { base, pixel }: TagConfig,
  choice: Choice,
  send: Send,
  applyCheck: (choice: Choice, next: Choice | null) => void,
): Promise<void> => {
  const { status, json } = await send(`${base}/v1/consent/check?pixel_id=${pixel}&visitor_id=${choice.visitor}`);
  if (status !== 200) return;
  // Throws on an invalid answer, before the entry is removed.
  const next = afterCheck(choice, json, Date.now());
  const openedKey = `assent:${pixel}?`;
  // The service's page may still be open, so a withdrawal there is expected for a day.
  guard(() => Date.now() - localStorage[openedKey] < 864e5 || localStorage.removeItem(openedKey));
  applyCheck(choice, next);
};
