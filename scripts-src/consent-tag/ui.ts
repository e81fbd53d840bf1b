import { gpc } from '../shared/gpc';
import { appear, h, mountHost } from '../shared/dom';
import { whenParsed } from '../shared/ready';
import { buildBanner, removeBanner } from './banner';
import { State } from './choice';
import { config } from './config';
import { showExplanation, showPreferences } from './preferences';
import { reportShown } from './record';
import { choice, decide, visitor } from './session';
import { firstInTab } from './storage';
import { css } from './style';

const { texts, look = {} } = config;

/** What is on the page at this moment; everything lies in one shadow root, made when first needed. */
let frame: HTMLElement | undefined;
let banner: HTMLElement | undefined;
let wayBack: HTMLElement | undefined;
/** Announced by screen readers, so it has to be there before it says something. */
const toast = h('p', { className: 's', role: 'status' });
let clearing: number | undefined;

const mounted = (): HTMLElement => {
  if (!frame) {
    frame = mountHost(css(look), config.lang, config.dir);
    frame.append(toast);
  }
  return frame;
};

/** Shows what fits the state of things: the question, the way back to it, or, under Global Privacy Control, nothing. */
export const applyUi = (): void => {
  if (!choice && !gpc()) {
    if (!banner) {
      appear(mounted(), (banner = buildBanner(closeBanner)));
      // Not before it has been painted, and never in the way of the page.
      requestAnimationFrame(() => setTimeout(() => firstInTab() && reportShown(visitor()), 400));
    }
    if (wayBack) wayBack.hidden = true;
  } else closeBanner();
};

const closeBanner = (): void => {
  if (banner) removeBanner(banner);
  banner = undefined;
  const button = look.button || {};
  if (gpc() || button.show === false) return;
  if (!wayBack) {
    wayBack = h('button', { className: 'w', title: texts.reopen, 'aria-label': texts.reopen, onclick: openPreferences });
    wayBack.dataset.p = button.position || 'bottom-left';
    mounted().append(wayBack);
  }
  wayBack.hidden = false;
};

/** The way back for everybody: to change one's mind, or to learn why nothing was asked. */
export const openPreferences = (): void => whenParsed(() => (gpc() ? showExplanation : showPreferences)(mounted()));

/**
 * Takes an answer given in `panel`: closes it when the answer holds, says so when it does not. While an acceptance is on
 * its way it cannot be given again, but it can be overruled by a "no".
 */
export const answer = async (panel: HTMLElement, state: State, purposes: string[]): Promise<void> => {
  if (panel.ariaBusy && state === 'accepted') return;
  const message = panel.querySelector('.m')!;
  message.textContent = toast.textContent = '';
  panel.ariaBusy = 'true';
  const holds = await decide(state, purposes);
  panel.ariaBusy = null;
  if (!holds) {
    message.textContent = texts.failed;
    return;
  }
  if (panel instanceof HTMLDialogElement) panel.close();
  toast.textContent = texts.saved;
  clearTimeout(clearing);
  clearing = setTimeout(() => (toast.textContent = ''), 4000);
};
