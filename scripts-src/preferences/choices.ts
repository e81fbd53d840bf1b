import type { State } from '../consent-tag/choice';
import type { PreferencesContext } from '../consent-tag/preferences-context';
import { h } from '../shared/dom';
import { actions, button, link, type Press } from '../shared/elements';
import { noticeLink } from './notice';
import { texts } from './texts';
import { yourDataLink } from './your-data';
import { receiptLink } from './your-receipt';

/** One switch per purpose, on if the purpose is permitted, and the buttons. */
export const choiceControls = (
  context: PreferencesContext,
  submit: (state: State, purposes: string[], event: Press) => void,
): (Node | string | undefined)[] => {
  const { config } = context;
  // A sentence that names the recipients of shared data.
  const shared = config.texts[9];
  const isAccepted = context.choice?.state === 'accepted';
  const switches: HTMLInputElement[] = [];
  const rows = config.shown.map(([purpose, title, text]) => {
    const control = h('input', {
      type: 'checkbox',
      role: 'switch',
      value: purpose,
      checked: context.permitted([purpose]),
      'aria-label': title,
      'aria-description': text,
    });
    switches.push(control);
    return h('label', null, h('span', null, h('b', null, title), h('span', null, text)), control);
  });
  const save = (event: Press): void => {
    const wanted = switches.filter(({ checked }) => checked).map(({ value }) => value);
    // Saving with all switches off is a refusal: a withdrawal after an acceptance, or else a decline.
    submit(wanted.length ? 'accepted' : isAccepted ? 'withdrawn' : 'declined', wanted, event);
  };
  const actionBar = actions(
    'x y',
    button(texts.acceptAll, (event) => submit('accepted', config.purposes, event)),
    button(texts.declineAll, (event) => submit('declined', [], event)),
    button(texts.save, save),
    isAccepted && button(texts.withdraw, (event) => submit('withdrawn', [], event)),
  );
  const showMessage = (words: string): void => {
    actionBar.querySelector('.m')!.textContent = words;
  };
  return [
    ...rows,
    shared && h('p', null, shared),
    h(
      'p',
      null,
      noticeLink(config),
      ' ',
      config.site && link(config.site, texts.sitePolicy),
      ' ',
      yourDataLink(config),
      ' ',
      receiptLink(context, showMessage),
    ),
    actionBar,
  ];
};
