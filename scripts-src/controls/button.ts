/** Interactive elements of a page. */
const INTERACTIVE = 'a[href],button,input,select,textarea,summary,label,[role=button],[role=link],[onclick]';
const STEP_PX = 6;
/** The maximum distance that the button may move, as a fraction of the window's height. */
const MAX_SHIFT = 0.6;

/** Whether the button covers an interactive element. */
const covers = (button: HTMLElement): boolean => {
  const { left, top, width, height } = button.getBoundingClientRect();
  const host = (button.getRootNode() as ShadowRoot).host;
  const fractions = [0.02, 0.25, 0.5, 0.75, 0.98];
  return fractions.some((x) =>
    fractions.some((y) =>
      document
        .elementsFromPoint(left + x * width, top + y * height)
        .some((element) => element !== host && element.closest(INTERACTIVE)),
    ),
  );
};

/** Buttons that return to their edge once they cover nothing. */
const watched = new WeakSet<HTMLElement>();

/**
 * Moves the small button away from its edge while it covers an interactive element: at the end of a page the visitor
 * cannot scroll that element free. A transform does not count as a layout shift.
 */
export const clearControls = (button: HTMLElement): void => {
  if (!watched.has(button)) {
    watched.add(button);
    addEventListener('scroll', () => button.hasAttribute('style') && clearControls(button), { capture: true, passive: true });
  }
  button.removeAttribute('style');
  if (button.hidden || !covers(button)) return;
  const inwards = button.dataset.p!.startsWith('top') ? 1 : -1;
  for (let shift = STEP_PX; shift < MAX_SHIFT * innerHeight; shift += STEP_PX) {
    button.style.transform = `translateY(${inwards * shift}px)`;
    if (!covers(button)) return;
  }
  button.removeAttribute('style');
};
