/** Where the focus was before it came into the popup. */
let before: HTMLElement | null = null;
/** Whether the keyboard has been in the banner. */
let visited = false;
/** Whether it was led there ahead of the page, which is then still to come. */
let ahead = false;

/** Gives the focus back to where it came from, else to the small button. */
export const giveBack = (frame: HTMLElement): void => {
  (before?.isConnected ? before : frame.querySelector<HTMLElement>('.w'))?.focus();
};

/** The popup and the keyboard. */
export const attend = (frame: HTMLElement): void => {
  const html = document.documentElement;

  frame.addEventListener('focusin', ({ relatedTarget }) => {
    visited = true;
    if (!frame.contains(relatedTarget as Node | null)) before = relatedTarget as HTMLElement | null;
  });

  frame.addEventListener('keydown', (event) => {
    if (event.key !== 'Tab') return;
    const stops = frame.querySelectorAll<HTMLElement>('a,button:not([hidden])');
    if (ahead && !event.shiftKey && stops[stops.length - 1].matches(':focus')) {
      // Our place is at the end of the document: what follows for this visitor is its beginning.
      ahead = false;
      html.tabIndex = -1;
      html.focus({ preventScroll: true });
      html.removeAttribute('tabindex');
    }
  });

  // The first Tab comes here, also on a page that was opened at a fragment.
  document.addEventListener('keydown', (event) => {
    const first = frame.querySelector<HTMLElement>('.p a');
    if (!first || visited || event.key !== 'Tab' || event.shiftKey || document.activeElement !== document.body) return;
    event.preventDefault();
    ahead = true;
    first.focus();
  });

  // Once the browser has scrolled to what was focused.
  document.addEventListener('focusin', ({ target }) =>
    requestAnimationFrame(() => {
      const panel = frame.querySelector<HTMLElement>('.p');
      if (panel) stepAside(panel, target as Element);
    }),
  );
};

/**
 * What has the focus on the page must not lie hidden under the banner: the page scrolls a little, and where it cannot,
 * the banner goes to the other side.
 */
const stepAside = (panel: HTMLElement, focused: Element): void => {
  for (let step = 0; step < 3; step++) {
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
};
