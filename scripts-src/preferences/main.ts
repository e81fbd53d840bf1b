import type { State } from '../consent-tag/choice';
import type { Kit, Opener } from '../consent-tag/preferences-context';
import { h } from '../shared/dom';
import { gpc } from '../shared/gpc';
import { heading } from '../shared/elements';
import { choices } from './choices';
import { notice } from './notice';
import { addStyle } from './style';
import { texts } from './texts';

/** Keeps the focus in the dialog: on its way round it would pass through the browser's own controls. */
const goRound = (dialog: HTMLElement, event: KeyboardEvent): void => {
  if (event.key !== 'Tab') return;
  const stops = dialog.querySelectorAll<HTMLElement>('a,button,input');
  const [from, to] = event.shiftKey ? [0, stops.length - 1] : [stops.length - 1, 0];
  if (!stops[from].matches(':focus')) return;
  event.preventDefault();
  stops[to].focus();
};

/** A modal dialog: the browser makes the page inert, closes on Esc and gives the focus back to where it came from. */
export const open: Opener = (kit: Kit): void => {
  const { frame } = kit;
  addStyle(frame.getRootNode() as ShadowRoot);
  frame.querySelector('dialog')?.remove();
  const title = gpc() ? texts.title : texts.prefsTitle;
  const dialog = h('dialog', { 'aria-label': title, onkeydown: (event: KeyboardEvent) => goRound(dialog, event) });
  const { hash } = kit.config;
  const give = async (state: State, purposes: string[]): Promise<void> => {
    // If the site has published another policy in the meantime, the banner already asks about that one.
    if ((await kit.answer(dialog, state, purposes)) || kit.config.hash !== hash) dialog.close();
  };
  dialog.append(
    heading(title, h('button', { 'aria-label': texts.close, onclick: () => dialog.close() }, '✕')),
    // Under Global Privacy Control there is nothing to choose; this says why.
    ...(gpc() ? [h('p', null, texts.gpc), h('p', null, notice(kit.config))] : choices(kit, give)).filter(Boolean) as Node[],
  );
  dialog.addEventListener('close', () => {
    dialog.remove();
    // What it came from may have gone with the answer.
    if (document.activeElement === document.body) kit.giveBack(frame);
  });
  frame.append(dialog);
  dialog.showModal();
};
