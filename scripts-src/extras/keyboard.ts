import { hostOf, isTrapped } from '../shared/dom';

/**
 * Leads the keyboard through the popup, which comes ahead of the page. Our place is at the end of the document: what follows
 * for this visitor is its beginning. Called for each Tab as long as the keyboard has not been in the popup. The focus is not
 * moved if another key has been pressed since.
 */
export const goOn = (frame: HTMLElement, tab: KeyboardEvent, isLatest: () => boolean): void =>
  // Once the page's listeners have heard of the key.
  void setTimeout(() => {
    const isInside = !!(frame.getRootNode() as ShadowRoot).activeElement;
    const { target } = tab as { target: EventTarget | null };
    // In an editor Tab is a character.
    const isText = target instanceof HTMLElement && (target.isContentEditable || target.localName === 'textarea');
    // Otherwise the key goes where the browser takes it.
    if (!isInside && (!tab.defaultPrevented || (isText && !isTrapped()))) return;
    if (!isInside || isTrapped()) {
      if (!isLatest()) return;
      hold(frame);
    }
    leadOut(frame);
  });

const LEAVING = ['focusout', 'blur'] as const;

/** Moves the focus into the question and keeps it there, although the page's dialog takes back what leaves it. */
const hold = (frame: HTMLElement): void => {
  const first = frame.querySelector<HTMLElement>('.p a');
  const hide = (event: FocusEvent): void => {
    if (!frame.querySelector('.p')) for (const type of LEAVING) removeEventListener(type, hide, true);
    // For the page the focus stays where it was.
    else if (event.relatedTarget === hostOf(frame)) event.stopImmediatePropagation();
  };
  for (const type of LEAVING) addEventListener(type, hide, true);
  const enter = (): void => void ((frame.getRootNode() as ShadowRoot).activeElement || first?.focus());
  enter();
  // A page may take it back a moment after the key.
  setTimeout(enter, 50);
};

/** At the last stop Tab goes to the beginning of the page. */
const leadOut = (frame: HTMLElement): void => {
  const html = document.documentElement;
  frame.onkeydown = ({ key, shiftKey }) => {
    const stops = frame.querySelectorAll<HTMLElement>('a,button:not([hidden])');
    if (key !== 'Tab' || shiftKey || !stops[stops.length - 1].matches(':focus')) return;
    frame.onkeydown = null;
    html.tabIndex = -1;
    html.focus({ preventScroll: true });
    html.removeAttribute('tabindex');
  };
};
