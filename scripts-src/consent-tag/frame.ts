import { attach, h, isTrapped, mountHost } from '../shared/dom';
import { guard } from '../shared/guard';
import { config } from './config';
import { extra } from './modules';
import { attend } from './keyboard';
import { css } from './style';

/** Everything that is shown lies in one shadow root, made when first needed. */
export let frame: HTMLElement | undefined;
/** For screen readers, so it has to be there before it says something. Who sees, sees the question go. */
export const status = h('p', { className: 's', role: 'status' });

/** A look at what the page has done that is due. */
let scheduledCheck: unknown = 0;

/**
 * Schedules a visibility check after the page has changed or was scrolled. A page may make everything but its own
 * dialog inert, and at its end the visitor cannot scroll content out from under the small button.
 */
const scheduleCheck = (): void => {
  scheduledCheck = scheduledCheck || setTimeout(guard, 200, checkReach);
};

const checkReach = (): void => {
  scheduledCheck = 0;
  const button = frame!.querySelector('.w:not([hidden])')?.getBoundingClientRect();
  if (
    !frame!.getClientRects()[0] ||
    isTrapped() ||
    (button && document.elementsFromPoint(button.left + 14, button.top + 30)[1]?.closest('a,button'))
  ) {
    extra('reach', frame!);
  }
};

export const mountedFrame = (): HTMLElement => {
  if (!frame) {
    frame = mountHost(css(), config.lang, config.dir, scheduleCheck);
    frame.append(status);
    attend(frame);
    addEventListener('scroll', scheduleCheck, true);
  }
  if (!frame.isConnected) attach(frame);
  scheduleCheck();
  return frame;
};
