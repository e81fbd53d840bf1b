import { reach } from './reach';

/**
 * Keeps the focused element of the page from being hidden under the banner: the page scrolls a little, and where it
 * cannot, the banner moves to the other side.
 */
export const stepAside = (frame: HTMLElement, focused: Element): void =>
  // Runs after the browser has scrolled to the focused element.
  void requestAnimationFrame(() => {
    // A component of the page may have opened a modal dialog.
    reach(frame);
    const panel = frame.querySelector<HTMLElement>('.p');
    for (let step = 0; panel && step < 3; step++) {
      const own = panel.getBoundingClientRect();
      const it = focused.getBoundingClientRect();
      const upper = document.elementFromPoint(it.left + it.width / 2, it.top + it.height / 2);
      // Nothing to do unless the banner covers the element, or if the element is our own host, which has no box.
      if (!upper || upper === focused || upper.shadowRoot !== panel.getRootNode() || it.height > innerHeight / 2) return;
      const isAbove = own.top < innerHeight - own.bottom;
      if (step === 1) panel.dataset.p = isAbove ? 'bottom' : 'top';
      // `instant`, because the position could not be measured during smooth scrolling.
      else scrollBy({ top: isAbove ? it.top - own.bottom - 8 : it.bottom - own.top + 8, behavior: 'instant' as ScrollBehavior });
    }
  });
