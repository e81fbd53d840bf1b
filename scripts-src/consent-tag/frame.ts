import { attach, h, isTrapped, mountHost } from '../shared/dom';
import { guard } from '../shared/guard';
import { config } from './config';
import { extra } from './modules';
import { watchKeyboard } from './keyboard';
import { css } from './style';

/** The frame that contains all visible elements, in one shadow root. It is created when it is first needed. */
export let frame: HTMLElement | undefined;
/** The status for screen readers, which announce only changes of an existing element. Others see the banner disappear. */
export const status = h('p', { className: 's', role: 'status' });

/** The timer of the next check; 0 if no check is scheduled. */
let scheduledCheck: unknown = 0;

/**
 * Schedules a check after the page has changed or was scrolled. A page may make everything but its own dialog inert, and at
 * its end the visitor cannot scroll content out from under the small button.
 */
const scheduleCheck = (): void => {
  scheduledCheck = scheduledCheck || setTimeout(guard, 200, checkReach);
};

/** Calls `reach` if visitors may be unable to reach the frame, or if the small button covers a control of the page. */
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

/** The time at which the banner or the preferences were last opened. */
export let openedAt: number;

/** The frame, attached to the page. Called whenever something is opened in it. */
export const mountedFrame = (): HTMLElement => {
  openedAt = Date.now();
  if (!frame) {
    frame = mountHost(css(), config.lang, config.dir, scheduleCheck);
    frame.append(status);
    watchKeyboard(frame);
    addEventListener('scroll', scheduleCheck, true);
  }
  if (!frame.isConnected) attach(frame);
  scheduleCheck();
  return frame;
};
