import { h } from '../shared/dom';
import { config } from './config';
import { button, links, message, sharing } from './parts';
import { answer, openPreferences } from './ui';

const { texts, purposes, purposeTexts, look = {} } = config;

/** The question. It does not block the page, and the three answers are one as good as the other. */
export const buildBanner = (close: () => void): HTMLElement => {
  const panel: HTMLElement = h(
    'div',
    { className: 'p', role: 'dialog', 'aria-labelledby': 't' },
    h('h2', { id: 't' }, texts.title),
    h('p', null, texts.ask.replace('{controller}', () => config.controller)),
    h(
      'ul',
      null,
      ...purposes.map((purpose) => h('li', null, h('b', null, purposeTexts[purpose].title), ` – ${purposeTexts[purpose].text}`)),
    ),
    sharing(),
    h('p', null, texts.promise),
    links(),
    message(),
    h(
      'div',
      { className: 'x' },
      button(texts.accept, () => answer(panel, 'accepted', purposes)),
      button(texts.decline, () => answer(panel, 'declined', [])),
      button(texts.choose, openPreferences),
    ),
  );
  panel.dataset.p = look.position || 'bottom';
  attend(panel, close);
  return panel;
};

/** Where the focus was before it came into the banner. */
let before: HTMLElement | null = null;
/** Whether the keyboard has been here, or has no more reason to come. */
let visited = false;

export const removeBanner = (panel: HTMLElement): void => {
  const focused = panel.matches(':focus-within');
  panel.remove();
  visited = true;
  if (focused && before) before.focus();
};

/** The banner and the keyboard. */
const attend = (panel: HTMLElement, close: () => void): void => {
  panel.addEventListener('focusin', ({ relatedTarget }) => {
    if (!panel.contains(relatedTarget as Node | null)) before = relatedTarget as HTMLElement | null;
    visited = true;
  });

  // Esc puts the question aside without answering it. Nothing has been permitted, so nothing runs, and the next
  // page asks again: silence is not a choice and must not be remembered as one.
  panel.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') close();
  });

  // The first Tab comes here, also on a page that was opened at a fragment.
  document.addEventListener('keydown', (event) => {
    if (visited || event.key !== 'Tab' || event.shiftKey || document.activeElement !== document.body) return;
    event.preventDefault();
    panel.querySelector('a')!.focus();
  });

  // Once the browser has scrolled to what was focused.
  document.addEventListener('focusin', ({ target }) => requestAnimationFrame(() => stepAside(panel, target as Element)));
};

/**
 * What has the focus on the page must not lie hidden under the banner: the page scrolls a little, and where it cannot,
 * the banner goes to the other side.
 */
const stepAside = (panel: HTMLElement, focused: Element): void => {
  const isAbove = (): boolean => panel.getBoundingClientRect().top < innerHeight - panel.getBoundingClientRect().bottom;
  const scroll = (): void => {
    const own = panel.getBoundingClientRect();
    const it = focused.getBoundingClientRect();
    const top = isAbove() ? it.top - own.bottom - 8 : it.bottom - own.top + 8;
    // `instant`, because the page may ask for smooth scrolling, and then nothing could be measured.
    scrollBy({ top, behavior: 'instant' as ScrollBehavior });
  };
  const changeSides = (): void => {
    panel.dataset.p = isAbove() ? 'bottom' : 'top';
  };
  for (const move of [scroll, changeSides, scroll]) {
    const { left, top, width, height } = focused.getBoundingClientRect();
    const upper = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!upper || upper.shadowRoot !== panel.getRootNode() || height > innerHeight / 2) return;
    move();
  }
};
