import type { State } from '../consent-tag/choice';
import type { Opener, PreferencesContext } from '../consent-tag/preferences-context';
import { h } from '../shared/dom';
import { heading, type Press } from '../shared/elements';
import { gpc } from '../shared/gpc';
import { choiceControls } from './choices';
import { noticeLink } from './notice';
import { addStyle } from './style';
import { texts } from './texts';

/** Keeps the focus in the dialog. Without this, Tab would leave the last element for the browser's own controls. */
const wrapFocus = (dialog: HTMLElement, event: KeyboardEvent): void => {
  if (event.key !== 'Tab') return;
  const focusable = dialog.querySelectorAll<HTMLElement>('a,button,input');
  const [from, to] = event.shiftKey ? [0, focusable.length - 1] : [focusable.length - 1, 0];
  if (!focusable[from].matches(':focus')) return;
  event.preventDefault();
  focusable[to].focus();
};

/** Shows a modal dialog. The browser makes the page inert, closes the dialog on Esc, and restores the focus. */
export const open: Opener = (context: PreferencesContext): void => {
  const { frame } = context;
  addStyle(frame.getRootNode() as ShadowRoot);
  frame.querySelector('dialog')?.remove();
  // The consent tag's own title already contains this mark.
  const mark = context.config.pixel.startsWith('test_') ? 'Test · ' : '';
  const title = mark + (gpc() ? texts.title : texts.prefsTitle);
  const dialog = h('dialog', { 'aria-label': title, onkeydown: (event: KeyboardEvent) => wrapFocus(dialog, event) });
  const { hash } = context.config;
  const submit = async (state: State, purposes: string[], event: Press): Promise<void> => {
    // If the site has published another policy in the meantime, the banner already shows that one.
    if ((await context.submit(dialog, state, purposes, event)) || context.config.hash !== hash) dialog.close();
  };
  dialog.append(
    heading(title, h('button', { 'aria-label': texts.close, onclick: () => dialog.close() }, '✕')),
    // Under Global Privacy Control there is nothing to choose. The text gives the reason.
    ...((gpc()
      ? [h('p', null, texts.gpc), h('p', null, noticeLink(context.config))]
      : choiceControls(context, submit)
    ).filter(Boolean) as Node[]),
  );
  dialog.addEventListener('close', () => {
    dialog.remove();
    // The element that had the focus may have been removed with the banner.
    if (document.activeElement === document.body) context.refocus(frame);
  });
  frame.append(dialog);
  dialog.showModal();
};
