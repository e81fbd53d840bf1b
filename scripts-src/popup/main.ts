import type { PopupConfig } from '../shared/config';
import { h, mountHost } from '../shared/dom';
import { emit } from '../shared/events';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { loadOptOut, saveOptOut } from '../shared/opt-out';
import { whenActivated, whenParsed } from '../shared/ready';
import { CSS } from './style';

declare const __ASSENT_CONFIG__: PopupConfig;
const config: PopupConfig = __ASSENT_CONFIG__;
const { texts } = config;

/** Long enough to be read; what it says needs no answer. */
const SHOWN_MS = 8000;

const button = (label: string, onclick: () => void): HTMLElement => h('button', { onclick }, label);

const show = (): void => {
  const optOut = loadOptOut();
  const isGpcOn = gpc();
  // Who has opted out, or has read the notice, is left in peace.
  if (optOut && !isGpcOn) return;

  const text = h('p', { role: 'status' });
  const panel: HTMLElement = h('div', { className: 'p', role: 'dialog', 'aria-labelledby': 't' }, text);
  const close = (): void => panel.remove();

  if (isGpcOn) {
    // Identification is off, so there is nothing to opt out of, and nothing is stored: it goes by itself.
    panel.setAttribute('role', 'none');
    setTimeout(close, SHOWN_MS);
  } else {
    const actions = h(
      'div',
      { className: 'x' },
      button(texts.optOut, () => {
        saveOptOut('off');
        // The pixel and the tag stop at once, not only on the next page.
        emit('assent:change', { state: 'declined', purposes: [] });
        text.textContent = texts.done;
        actions.firstChild!.remove();
      }),
      button(texts.close, () => {
        if (!loadOptOut()) saveOptOut('seen');
        close();
      }),
    );
    panel.prepend(h('h2', { id: 't' }, texts.title));
    panel.append(actions);
    panel.onkeydown = ({ key }) => key === 'Escape' && close();
  }

  mountHost(CSS, config.lang, config.dir).append(panel);
  // Filled once it is on the page, so that screen readers announce it.
  text.textContent = isGpcOn ? texts.gpc : texts.text;
};

whenActivated(() => whenParsed(() => guard(show)));

// Says that this is a module, whatever a package.json in a folder above may say.
export {};
