import { HOST } from '../shared/dom';
import { extra } from './modules';

/** The key whose event in the popup this task handles, if any. The click that a key makes belongs to the same task. */
export let key: string;

type Handlers = Record<string, ((event: Event) => void) | undefined>;

/**
 * Stops an event of the popup before the page receives it: the page would see our host as the target and treat it as
 * its own element in shortcuts and guards. The `on…` handlers of our own elements are called from here.
 */
const handleEvent = (event: Event): void => {
  const path = event.composedPath() as HTMLElement[];
  const depth = path.findIndex(({ localName }) => localName === HOST);
  if (depth < 0) return;
  event.stopImmediatePropagation();
  // A listener that was called before this one has cancelled the event.
  if (event.defaultPrevented) extra('press', event, path[0]);
  for (const element of path.slice(0, depth) as unknown as Handlers[]) element['on' + event.type]?.(event);
  // Other events of this task, such as a change of the focus, have no key.
  const pressed = (event as KeyboardEvent).key;
  if (!pressed) return;
  key = pressed;
  setTimeout(() => (key = ''));
};

/** Called as early as possible, because listeners of one target are called in the order in which they were added. */
export const shield = (): void => {
  // Listening for raw pointer events is expensive in browsers, and the popup loads nothing. A `for` loop would also visit
  // inherited names, which takes twice as long.
  ['onfocusin', 'onfocusout', ...Object.keys(HTMLElement.prototype)].forEach(
    (name) => /^on(?!load|.*raw)/.test(name) && addEventListener(name.slice(2), handleEvent, true),
  );
};
