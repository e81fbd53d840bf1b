import { h } from '../shared/dom';
import { config } from './config';
import { button, links, message, sharing } from './parts';
import { choice, permitted } from './session';
import { answer } from './ui';

const { texts, purposes, purposeTexts } = config;

/** One switch per purpose, all off until the visitor has said otherwise. */
export const showPreferences = (frame: HTMLElement): void => {
  const accepted = !!choice && choice.state === 'accepted';
  const switches = purposes.map((purpose) =>
    h('input', {
      type: 'checkbox',
      role: 'switch',
      checked: permitted([purpose]),
      'aria-labelledby': `t-${purpose}`,
      'aria-describedby': `d-${purpose}`,
    }),
  );
  const give = (wanted: string[]): void => {
    // Nothing switched on is a "no"; for somebody who had accepted it takes the permission back.
    answer(dialog, wanted.length ? 'accepted' : accepted ? 'withdrawn' : 'declined', wanted);
  };
  const dialog = showDialog(
    frame,
    texts.prefsTitle,
    ...purposes.map((purpose, i) =>
      h(
        'label',
        null,
        h(
          'span',
          null,
          h('b', { id: `t-${purpose}` }, purposeTexts[purpose].title),
          h('span', { id: `d-${purpose}` }, purposeTexts[purpose].text),
        ),
        switches[i],
      ),
    ),
    sharing(),
    links(),
    message(),
    h(
      'div',
      { className: accepted ? 'x y' : 'x' },
      button(texts.acceptAll, () => give(purposes)),
      button(texts.declineAll, () => answer(dialog, 'declined', [])),
      button(texts.save, () => give(purposes.filter((_, i) => switches[i].checked))),
      accepted && button(texts.withdraw, () => answer(dialog, 'withdrawn', [])),
    ),
  );
};

/** Under Global Privacy Control there is nothing to choose; this says why. */
export const showExplanation = (frame: HTMLElement): void => {
  showDialog(frame, texts.title, h('p', null, texts.gpc), links());
};

/** A modal dialog: the browser makes the page inert, closes on Esc and gives the focus back to where it came from. */
const showDialog = (frame: HTMLElement, title: string, ...content: (Node | false)[]): HTMLDialogElement => {
  const open = frame.querySelector('dialog');
  if (open) open.remove();
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-labelledby': 'h' },
    h(
      'div',
      { className: 'h' },
      h('h2', { id: 'h' }, title),
      h('button', { 'aria-label': texts.close, onclick: () => dialog.close() }, '✕'),
    ),
    ...content,
  );
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('keydown', (event) => {
    if (event.key !== 'Tab') return;
    // Without this the focus would pass through the browser's own controls on its way round.
    const stops = dialog.querySelectorAll<HTMLElement>('a,button,input');
    const [from, to] = event.shiftKey ? [0, stops.length - 1] : [stops.length - 1, 0];
    if (stops[from].matches(':focus')) {
      event.preventDefault();
      stops[to].focus();
    }
  });
  frame.append(dialog);
  dialog.showModal();
  return dialog;
};
