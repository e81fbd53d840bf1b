import { isTrapped } from '../shared/dom';
import { extra } from './modules';

/** The element that had the focus before the popup. */
let previous: HTMLElement | null = null;
/** Whether the keyboard has been in the banner. */
let isEntered = false;

/** Restores the focus of the page, or else focuses the small button. */
export const restoreFocus = (frame: HTMLElement): void => {
  (previous?.isConnected ? previous : frame.querySelector<HTMLElement>('.w'))?.focus();
};

/** Makes the popup reachable by keyboard, and keeps it from covering focused elements of the page. */
export const watchKeyboard = (frame: HTMLElement & { onfocusin?: (event: FocusEvent) => void }): void => {
  frame.onfocusin = ({ relatedTarget }) => {
    isEntered = true;
    if (!frame.contains(relatedTarget as Node | null)) previous = relatedTarget as HTMLElement | null;
  };

  let latest: KeyboardEvent;
  // The first Tab enters the popup if the body or the document has the focus, or if the page keeps it in its own dialog.
  addEventListener(
    'keydown',
    (event) => {
      latest = event;
      const first = frame.querySelector<HTMLElement>('.p a');
      if (!first || isEntered || event.key !== 'Tab' || event.shiftKey) return;
      if (document.activeElement?.contains(document.body) || isTrapped()) {
        event.preventDefault();
        first.focus();
      }
      // If the visitor presses another key while the module loads, the next Tab tries again.
      extra('enter', frame, event, () => latest === event || (isEntered = false));
    },
    true,
  );

  addEventListener(
    'focusin',
    ({ target }) => {
      if (frame.querySelector('.p') || (target as Element).shadowRoot) extra('uncover', frame, target as Element);
    },
    true,
  );
};
