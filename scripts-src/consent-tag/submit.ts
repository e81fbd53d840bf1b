import { State } from './choice';
import { config } from './config';
import { status } from './frame';
import { decide } from './session';

/**
 * Takes an answer that was given in a panel, and says there when it does not hold. While an acceptance is on its way it
 * cannot be given again, but it can be overruled by a "no".
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
