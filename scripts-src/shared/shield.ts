/** The name of our host element. */
export const HOST = 'assent-ui';

type Handlers = Record<string, ((event: Event) => void) | undefined>;

/**
 * Stops an event of the popup before the page receives it: the page would see our host as the target and treat it as
 * its own element in shortcuts and guards. The `on…` handlers of our own elements are called from here.
 */
const hear = (event: Event): void => {
  const path = event.composedPath() as Element[];
  const depth = path.findIndex(({ localName }) => localName === HOST);
  if (depth < 0) return;
  event.stopImmediatePropagation();
  if (event.defaultPrevented) onCancelled(event, path[0] as HTMLElement);
  for (const element of path.slice(0, depth) as unknown as Handlers[]) element['on' + event.type]?.(event);
};

/** Handles an event of the popup that an earlier listener has cancelled. */
type OnCancelled = (event: Event, target: HTMLElement) => void;
let onCancelled: OnCancelled;

/**
 * Installs the listeners. Called as early as possible, because listeners of one target run in the order in which they
 * were added.
 */
export const shield = (cancelled: OnCancelled): void => {
  onCancelled = cancelled;
  const listen = (name: string): void => addEventListener(name.slice(2), hear, true);
  ['onfocusin', 'onfocusout'].forEach(listen);
  // Listening for raw pointer events is expensive in browsers.
  for (const name in HTMLElement.prototype) if (/^on(?!.*raw)/.test(name)) listen(name);
};
