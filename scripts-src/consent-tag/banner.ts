import { h, veil } from '../shared/dom';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { ask } from '../shared/http';
import { loadScript } from '../shared/load';
import { answers, button, heading, link } from '../shared/parts';
import { whenParsed } from '../shared/ready';
import { answer } from './answer';
import { State } from './choice';
import { config } from './config';
import { frame, mounted } from './frame';
import { giveBack } from './keyboard';
import type { Opener } from './kit';
import { choice, permitted } from './session';

/** What is on the page at this moment. */
let banner: HTMLElement | undefined;
/** The hash of the policy that the banner asks about. */
let asked: string;
let wayBack: HTMLElement | undefined;

/** The question. It does not block the page, and the three answers are one as good as the other. */
const buildBanner = (): HTMLElement => {
  const [title, ask, promise, accept, decline, choose, notice, sitePolicy, withdraw, shared] = config.texts;
  const accepted = choice?.state === 'accepted';
  const reply = (label: string, state: State, purposes: string[]): HTMLElement =>
    button(label, () => answer(panel, state, purposes));
  const panel = h(
    'div',
    { className: 'p', role: 'dialog', 'aria-label': title, 'data-p': config.position, onkeydown: putAside },
    heading(title, link(`${config.base}/v1/policy/${config.pixel}?lang=${config.lang}`, notice)),
    h('p', null, ask),
    h('ul', { className: config.shown[3] ? 'n' : '' }, ...config.shown.map(([, title, text]) => h('li', null, h('b', null, title), h('span', null, ' – ' + text)))),
    shared && h('p', null, shared),
    h('p', null, promise, ' ', config.site && link(config.site, sitePolicy)),
    answers(
      'x',
      reply(accept, 'accepted', config.purposes),
      accepted ? reply(withdraw, 'withdrawn', []) : reply(decline, 'declined', []),
      button(choose, openPreferences),
    ),
  );
  return panel;
};

/**
 * Esc puts the question aside without answering it. Nothing has been permitted, so nothing runs, and the next page asks
 * again: silence is not a choice and must not be remembered as one.
 */
const putAside = ({ key }: KeyboardEvent): void => {
  if (key === 'Escape') closeBanner();
};

/** Asks, unless the question is there already. */
export const openBanner = (): boolean => {
  if (wayBack) wayBack.hidden = true;
  if (banner && asked === config.hash) return false;
  banner?.remove();
  asked = config.hash;
  veil(mounted());
  mounted().append((banner = buildBanner()));
  return true;
};

/** Takes the question away and leaves the way back to it. */
export const closeBanner = (): void => {
  const hadFocus = banner?.matches(':focus-within');
  banner?.remove();
  banner = undefined;
  if (config.corner) {
    if (!wayBack) {
      wayBack = h('button', { className: 'w', title: config.texts[0], 'data-p': config.corner, onclick: openPreferences });
      mounted().append(wayBack);
    }
    wayBack.hidden = false;
  }
  if (hadFocus) giveBack(frame!);
};

/** A script that takes longer is as good as missing: a "no" must not wait for it. */
const PATIENCE_MS = 2000;

/** Opens the choice by purpose. Comes with a script of its own, which most pages never need. */
let open: Opener | undefined;

const loadOpener = (): Promise<Opener> =>
  new Promise((done, fail) => {
    const script: HTMLScriptElement & { open?: Opener } = loadScript(`${config.base}/preferences.js?lang=${config.lang}`);
    script.onload = () => done(script.open!);
    script.onerror = fail;
    setTimeout(fail, PATIENCE_MS);
  });

/**
 * The way back for everybody: to change one's mind, or to learn why nothing was asked. Without its script the question is
 * there again, with the way to take a permission back.
 */
export const openPreferences = (): void =>
  whenParsed(async () => {
    try {
      open = open || (await loadOpener());
      open({ frame: mounted(), config, shared: config.texts[9], choice, permitted, ask, answer, giveBack });
    } catch {
      if (!gpc()) guard(() => openBanner() || (frame!.querySelector('.m')!.textContent = config.texts[11]));
    }
  });
