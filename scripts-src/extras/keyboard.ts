/**
 * The keyboard was led into the popup ahead of the page. Our place is at the end of the document: what follows for this
 * visitor is its beginning.
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
