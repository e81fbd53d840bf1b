/**
 * Keeps the focused element of the page from being hidden under the banner: the page scrolls a little, and where it
 * cannot, the banner moves to the other side. `reach` makes the banner reachable first.
 */
export const uncover = (frame: HTMLElement, focused: Element, reach: (frame: HTMLElement) => void): void =>
  // Runs after the browser has scrolled to the focused element.
  void requestAnimationFrame(() => {
    // A component of the page may have opened a modal dialog.
    reach(frame);
    const panel = frame.querySelector<HTMLElement>('.p');
    for (let step = 0; panel && step < 3; step++) {
      const panelBox = panel.getBoundingClientRect();
      const box = focused.getBoundingClientRect();
      const upper = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      // Only an element that the banner covers needs this. The service's own host has no box.
      if (!upper || upper === focused || upper.shadowRoot !== panel.getRootNode() || box.height > innerHeight / 2) return;
      const isAbove = panelBox.top < innerHeight - panelBox.bottom;
      if (step === 1) panel.dataset.p = isAbove ? 'bottom' : 'top';
      // `instant`, because the position could not be measured during smooth scrolling.
      else scrollBy({ top: isAbove ? box.top - panelBox.bottom - 8 : box.bottom - panelBox.top + 8, behavior: 'instant' as ScrollBehavior });
    }
  });
