import type { PopupConfig } from '../shared/config';
import { h, hideFirstFrame, mountHost } from '../shared/dom';
import { emit } from '../shared/events';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { loadOptOut, saveOptOut } from '../shared/opt-out';
import { whenActivated, whenParsed } from '../shared/ready';
import { CSS } from './style';

declare const __ASSENT_CONFIG__: PopupConfig;
const config: PopupConfig = __ASSENT_CONFIG__;
const { texts } = config;

/** The time for which a notice that needs no answer is shown. */
const SHOWN_MS = 8000;

const button = (label: string, onclick: () => void): HTMLElement => h('button', { onclick }, label);

const show = (): void => {
  const optOut = loadOptOut();
  const isGpcOn = gpc();
  // Visitors who have opted out or closed the notice do not see it again.
  if (optOut && !isGpcOn) return;

  const text = h('p', { role: 'status' });
  const panel: HTMLElement = h('div', { className: 'p', role: 'dialog', 'aria-labelledby': 't' }, text);
  const close = (): void => panel.remove();

  if (isGpcOn) {
    // Identification is off, so there is nothing to opt out of. Nothing is stored, and the notice closes after some seconds.
    panel.setAttribute('role', 'none');
    setTimeout(close, SHOWN_MS);
  } else {
    const actions = h(
      'div',
      { className: 'x' },
      button(texts.optOut, () => {
        saveOptOut('off');
        // The pixel and the tag stop immediately, not only on the next page.
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

  const frame = mountHost(CSS, config.lang, config.dir);
  hideFirstFrame(frame);
  frame.append(panel);
  // The text is set after the element was added, so that screen readers announce it.
  text.textContent = isGpcOn ? texts.gpc : texts.text;
};

whenActivated(() => whenParsed(() => guard(show)));

// Makes this file a module, whatever a package.json in a parent folder declares.
export {};
