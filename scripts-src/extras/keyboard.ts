import { hostOf, isTrapped } from '../shared/dom';

/**
 * Leads the keyboard into the popup, and from its end to the beginning of the page, because the host is at the end of the
 * document. Called for each Tab until the popup had the focus. The focus is not moved if another key was pressed since.
 */
export const enter = (frame: HTMLElement, tab: KeyboardEvent, isLatest: () => boolean): void =>
  // Runs after the page's listeners have received the key.
  void setTimeout(() => {
    const isInside = !!(frame.getRootNode() as ShadowRoot).activeElement;
    const { target } = tab as { target: EventTarget | null };
    // In an editor, Tab inserts a character.
    const isText = target instanceof HTMLElement && (target.isContentEditable || target.localName === 'textarea');
    // The browser has moved the focus elsewhere, or the page uses the key.
    if (!isInside && (!tab.defaultPrevented || (isText && !isTrapped()))) return;
    if (!isInside || isTrapped()) {
      if (!isLatest()) return;
      keepFocus(frame);
    }
    leaveAtEnd(frame);
  });

const FOCUS_EVENTS = ['focusout', 'blur'] as const;

/** Moves the focus into the popup and keeps it there, although the page's dialog takes the focus back. */
const keepFocus = (frame: HTMLElement): void => {
  const first = frame.querySelector<HTMLElement>('.p a');
  const hide = (event: FocusEvent): void => {
    if (!frame.querySelector('.p')) for (const type of FOCUS_EVENTS) removeEventListener(type, hide, true);
    // The page must not notice that its element has lost the focus.
    else if (event.relatedTarget === hostOf(frame)) event.stopImmediatePropagation();
  };
  for (const type of FOCUS_EVENTS) addEventListener(type, hide, true);
  const focusFirst = (): void => void ((frame.getRootNode() as ShadowRoot).activeElement || first?.focus());
  focusFirst();
  // A page may take the focus back shortly after the key.
  setTimeout(focusFirst, 50);
};

/** Moves the focus from the last element of the popup to the beginning of the page. */
const leaveAtEnd = (frame: HTMLElement): void => {
  const html = document.documentElement;
  frame.onkeydown = ({ key, shiftKey }) => {
    const focusable = frame.querySelectorAll<HTMLElement>('a,button:not([hidden])');
    if (key !== 'Tab' || shiftKey || !focusable[focusable.length - 1].matches(':focus')) return;
    frame.onkeydown = null;
    html.tabIndex = -1;
    html.focus({ preventScroll: true });
    html.removeAttribute('tabindex');
  };
};
