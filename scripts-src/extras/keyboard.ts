/**
 * Returns the keyboard focus to the beginning of the page after the popup. The focus was moved into the popup first,
 * but the popup is at the end of the document, so the browser would continue there.
 */
export const goOn = (frame: HTMLElement): void => {
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
