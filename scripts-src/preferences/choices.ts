import type { State } from '../consent-tag/choice';
import type { Kit } from '../consent-tag/preferences-context';
import { h } from '../shared/dom';
import { answers, button, link } from '../shared/elements';
import { notice } from './notice';
import { texts } from './texts';
import { yourData } from './your-data';
import { yourReceipt } from './your-receipt';

/** One switch per purpose, all off until the visitor has said otherwise, and the answers. */
export const choices = (kit: Kit, give: (state: State, purposes: string[]) => void): (Node | string | undefined)[] => {
  const { config, shared } = kit;
  const accepted = kit.choice?.state === 'accepted';
  const switches: HTMLInputElement[] = [];
  const rows = config.shown.map(([purpose, title, text]) => {
    const control = h('input', {
      type: 'checkbox',
      role: 'switch',
      value: purpose,
      checked: kit.permitted([purpose]),
      'aria-label': title,
      'aria-description': text,
    });
    switches.push(control);
    return h('label', null, h('span', null, h('b', null, title), h('span', null, text)), control);
  });
  const save = (): void => {
    const wanted = switches.filter(({ checked }) => checked).map(({ value }) => value);
    // Nothing switched on is a "no"; for somebody who had accepted it takes the permission back.
    give(wanted.length ? 'accepted' : accepted ? 'withdrawn' : 'declined', wanted);
  };
  const panel = answers(
    'x y',
    button(texts.acceptAll, () => give('accepted', config.purposes)),
    button(texts.declineAll, () => give('declined', [])),
    button(texts.save, save),
    accepted && button(texts.withdraw, () => give('withdrawn', [])),
  );
  const say = (words: string): void => {
    panel.querySelector('.m')!.textContent = words;
  };
  return [
    ...rows,
    shared && h('p', null, shared),
    h(
      'p',
      null,
      notice(config),
      ' ',
      config.site && link(config.site, texts.sitePolicy),
      ' ',
      yourData(config),
      ' ',
      yourReceipt(kit, say),
    ),
    panel,
  ];
};
