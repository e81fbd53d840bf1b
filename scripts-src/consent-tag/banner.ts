import { h, hideFirstFrame } from '../shared/dom';
import { actions, button, heading, link } from '../shared/elements';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { send } from '../shared/http';
import { whenParsed } from '../shared/ready';
import { State } from './choice';
import { config } from './config';
import { frame, mountedFrame } from './frame';
import { restoreFocus } from './keyboard';
import { load } from './modules';
import type { Opener } from './preferences-context';
import { choice, permitted } from './session';
import { submit } from './submit';

/** The banner, while it is shown. */
let banner: HTMLElement | undefined;
/** The hash of the policy that the banner asks about. */
let bannerHash: string;
let reopenButton: HTMLElement | undefined;

/** Builds the banner. It does not block the page, and its three buttons look alike. */
const buildBanner = (): HTMLElement => {
  const [title, body, promise, accept, decline, choose, notice, sitePolicy, withdraw, shared] = config.texts;
  const isAccepted = choice?.state === 'accepted';
  const choiceButton = (label: string, state: State, purposes: string[]): HTMLElement =>
    button(label, (event) => submit(panel, state, purposes, event));
  const panel = h(
    'div',
    { className: 'p', role: 'dialog', 'aria-label': title, 'data-p': config.position, onkeydown: closeOnEscape },
    heading(title, link(`${config.base}/v1/policy/${config.pixel}?lang=${config.lang}`, notice)),
    h('p', null, body),
    h('ul', { className: config.shown[3] ? 'n' : '' }, ...config.shown.map(([, title, text]) => h('li', null, h('b', null, title), h('span', null, ' – ' + text)))),
    shared && h('p', null, shared),
    h('p', null, promise, ' ', config.site && link(config.site, sitePolicy)),
    actions(
      'x',
      choiceButton(accept, 'accepted', config.purposes),
      isAccepted ? choiceButton(withdraw, 'withdrawn', []) : choiceButton(decline, 'declined', []),
      button(choose, openPreferences),
    ),
  );
  return panel;
};

/**
 * Esc closes the banner without an answer. Nothing has been permitted, so nothing runs, and the next page asks again:
 * silence is not a choice and must not be remembered as one.
 */
const closeOnEscape = ({ key }: KeyboardEvent): void => {
  if (key === 'Escape') closeBanner();
};

/** Shows the banner. Returns false if the banner for this policy was already shown. */
export const openBanner = (): boolean => {
  if (reopenButton) reopenButton.hidden = true;
  if (banner && bannerHash === config.hash) return false;
  banner?.remove();
  bannerHash = config.hash;
  hideFirstFrame(mountedFrame());
  frame!.append((banner = buildBanner()));
  return true;
};

/** Removes the banner, and shows the small button that opens the preferences. */
export const closeBanner = (): void => {
  const hadFocus = banner?.matches(':focus-within');
  banner?.remove();
  banner = undefined;
  if (config.corner) {
    if (!reopenButton) {
      reopenButton = h('button', { className: 'w', title: config.texts[0], 'data-p': config.corner, onclick: openPreferences });
      mountedFrame().append(reopenButton);
    }
    reopenButton.hidden = false;
  }
  if (hadFocus) restoreFocus(frame!);
};

/** A module that takes longer counts as missing, because a refusal must not wait for it. */
const TIMEOUT_MS = 2000;

/** Opens the preferences. Imported from a module, which most pages never need. */
let open: Opener | undefined;

/**
 * Opens the preferences dialog, in which visitors change their choice or read why they were not asked. If its module
 * cannot be loaded, the banner is shown again, with a button to withdraw.
 */
export const openPreferences = (): void =>
  whenParsed(async () => {
    try {
      open = open || (await Promise.race([load('preferences'), new Promise<never>((_, fail) => setTimeout(fail, TIMEOUT_MS))])).open;
      open({ frame: mountedFrame(), config, choice, permitted, send, submit, refocus: restoreFocus });
    } catch {
      if (!gpc()) guard(() => openBanner() || (frame!.querySelector('.m')!.textContent = config.texts[11]));
    }
  });
