import { reach } from './reach';

/**
 * What has the focus on the page must not lie hidden under the banner: the page scrolls a little, and where it cannot,
 * the banner goes to the other side.
 */
export const stepAside = (frame: HTMLElement, focused: Element): void =>
  // Once the browser has scrolled to what was focused.
  void requestAnimationFrame(() => {
    // A component of the page may have opened a modal dialog of its own.
    reach(frame);
    const panel = frame.querySelector<HTMLElement>('.p');
    for (let step = 0; panel && step < 3; step++) {
      const own = panel.getBoundingClientRect();
      const it = focused.getBoundingClientRect();
      const upper = document.elementFromPoint(it.left + it.width / 2, it.top + it.height / 2);
      // Our own host has no box to make way for.
      if (!upper || upper === focused || upper.shadowRoot !== panel.getRootNode() || it.height > innerHeight / 2) return;
      const isAbove = own.top < innerHeight - own.bottom;
      if (step === 1) panel.dataset.p = isAbove ? 'bottom' : 'top';
      // `instant`, because the page may ask for smooth scrolling, and then nothing could be measured.
      else scrollBy({ top: isAbove ? it.top - own.bottom - 8 : it.bottom - own.top + 8, behavior: 'instant' as ScrollBehavior });
    }
  });
