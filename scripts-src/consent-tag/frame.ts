import { attach, h, mountHost } from '../shared/dom';
import { config } from './config';
import { attend } from './keyboard';
import { css } from './style';

/** Everything that is shown lies in one shadow root, made when first needed. */
export let frame: HTMLElement | undefined;
/** For screen readers, so it has to be there before it says something. Who sees, sees the question go. */
export const status = h('p', { className: 's', role: 'status' });

export const mounted = (): HTMLElement => {
  if (!frame) {
    frame = mountHost(css(), config.lang, config.dir);
    frame.append(status);
    attend(frame);
  }
  if (!frame.isConnected) attach(frame);
  return frame;
};
