import { State } from './choice';
import { config } from './config';
import { status } from './frame';
import { decide } from './session';

/**
 * Makes the choice that a button of a panel stands for, and shows in the panel whether it was saved. Resolves to whether
 * it is in force. While an acceptance is being recorded, a second one is ignored, but a refusal overrules it.
 */
export const submit = async (panel: HTMLElement, state: State, purposes: string[]): Promise<boolean> => {
  if (panel.ariaBusy && state === 'accepted') return false;
  const message = panel.querySelector('.m')!;
  message.textContent = status.textContent = '';
  panel.ariaBusy = 'true';
  const isInForce = await decide(state, purposes);
  panel.ariaBusy = null;
  const [saved, failed] = config.texts.slice(-2);
  (isInForce ? status : message).textContent = isInForce ? saved : failed;
  return isInForce;
};
