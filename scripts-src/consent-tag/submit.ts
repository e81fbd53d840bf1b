import type { Press } from '../shared/elements';
import { State } from './choice';
import { config } from './config';
import { openedAt, status } from './frame';
import { decide } from './session';
import { key } from './shield';

/**
 * Makes the choice that a button of a panel stands for, and shows in the panel whether it was saved. Resolves to
 * whether it is in force. While an acceptance is being recorded, a second one is ignored, but a refusal overrules it.
 * The event shows how the button was pressed: assistive technology makes trusted clicks without a pointer, whose
 * `detail` is 0, and without a key.
 */
export const submit = async (panel: HTMLElement, state: State, purposes: string[], event?: Press): Promise<boolean> => {
  if (panel.ariaBusy && state === 'accepted') return false;
  const message = panel.querySelector('.m')!;
  message.textContent = status.textContent = '';
  panel.ariaBusy = 'true';
  const elapsed = Date.now() - openedAt;
  const isInForce = await decide(
    state,
    purposes,
    event?.isTrusted && {
      act: event.detail ? 'pointer' : key || event.key ? 'keyboard' : 'assistive',
      seen: elapsed < 1e3 ? 'under_1s' : elapsed < 5e3 ? 'under_5s' : 'longer',
    },
  );
  panel.ariaBusy = null;
  const [saved, failed] = config.texts.slice(-2);
  (isInForce ? status : message).textContent = isInForce ? saved : failed;
  return isInForce;
};
