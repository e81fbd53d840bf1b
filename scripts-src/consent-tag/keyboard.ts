import { isTrapped } from '../shared/dom';
import { extra } from './modules';

/** Where the focus was before it came into the popup. */
let before: HTMLElement | null = null;
/** Whether the keyboard has been in the banner. */
let visited = false;
/** Gives the focus back to where it came from, else to the small button. */
export const giveBack = (frame: HTMLElement): void => {
  (before?.isConnected ? before : frame.querySelector<HTMLElement>('.w'))?.focus();
};

/** The popup and the keyboard. */
export const attend = (frame: HTMLElement & { onfocusin?: (event: FocusEvent) => void }): void => {
  frame.onfocusin = ({ relatedTarget }) => {
    visited = true;
    if (!frame.contains(relatedTarget as Node | null)) before = relatedTarget as HTMLElement | null;
  };

  let latest: KeyboardEvent;
  // The first Tab comes here while the body or the document has the focus, or the page keeps it in a dialog of its own.
  addEventListener(
    'keydown',
    (event) => {
      latest = event;
      const first = frame.querySelector<HTMLElement>('.p a');
      if (!first || visited || event.key !== 'Tab' || event.shiftKey) return;
      if (document.activeElement?.contains(document.body) || isTrapped()) {
        event.preventDefault();
        first.focus();
      }
      // While the module loads, the visitor may go on; then the next Tab tries again.
      extra('goOn', frame, event, () => latest === event || (visited = false));
    },
    true,
  );

  addEventListener(
    'focusin',
    ({ target }) => {
      if (frame.querySelector('.p') || (target as Element).shadowRoot) extra('stepAside', frame, target as Element);
    },
    true,
  );
};
