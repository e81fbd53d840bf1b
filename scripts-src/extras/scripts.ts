import { cancelScript } from '../shared/load';
import { createWriter, flush, runAs } from './document-write';

type Trusted = (text: string, create?: string) => string;

/** A script that was started. */
export interface Started {
  /** The element that runs. */
  element: HTMLScriptElement;
  /** Prevents the script from running if it has not run yet, and blocks it again. */
  undo(): void;
}

const copyAttributes = (from: HTMLScriptElement, to: HTMLScriptElement, trusted: Trusted): void => {
  for (const attribute of Array.from(from.attributes)) {
    const { name, value } = attribute;
    if (name === 'type') continue;
    const create = name === 'src' ? 'createScriptURL' : name.startsWith('on') ? 'createScript' : '';
    if (create) to.setAttribute(name, trusted(value, create));
    // The parser accepts names (`@load`) that `setAttribute` rejects in browsers before 2025.
    else to.setAttributeNode(attribute.cloneNode() as Attr);
  }
  // Browsers hide the nonce from the attributes.
  to.nonce = from.nonce;
};

/**
 * Creates a new element from a waiting one. The waiting element would never run if it was inserted with `innerHTML`
 * or cloned from a template, because it counts as started. Null on a page whose Trusted Types do not allow it.
 */
const recreate = (script: HTMLScriptElement, trusted: Trusted): HTMLScriptElement | null => {
  try {
    const fresh = document.createElement('script');
    copyAttributes(script, fresh, trusted);
    if (script.dataset.assentType) fresh.type = script.dataset.assentType;
    fresh.async = script.hasAttribute('async');
    fresh.text = trusted(script.text, 'createScript');
    return fresh;
  } catch {
    return null;
  }
};

const startedElements = new WeakSet<Element>();

/** Whether an element was started here. It looks like a waiting one once it has run. */
export const isStarted = (script: Element): boolean => startedElements.has(script);

/**
 * Makes an element that has run look like a waiting one, which has no effect on its script: a copy, such as in a framework's
 * cache of pages, is then subject to the gate too.
 */
const markAsWaiting = (script: HTMLScriptElement): void => {
  script.type = 'text/plain';
};

const onEnd = (element: HTMLScriptElement, run: (type: string) => void): void => {
  const end = ({ type }: Event): void => {
    markAsWaiting(element);
    run(type);
  };
  for (const type of ['load', 'error']) element.addEventListener(type, end, { once: true });
};

/** Starts a script at its position. `end` is called after it has run or failed to load, if the browser reports that. */
export const start = (script: HTMLScriptElement, trusted: Trusted, end: () => void): Started => {
  const fresh = recreate(script, trusted);
  startedElements.add(fresh || script);
  return fresh ? replace(script, fresh, trusted, end) : restart(script, end);
};

const replace = (script: HTMLScriptElement, fresh: HTMLScriptElement, trusted: Trusted, end: () => void): Started => {
  const writer = createWriter(fresh, trusted);
  const { onload, onerror } = script;
  Object.assign(fresh, { onload, onerror });
  Object.assign(script, { onload: null, onerror: null });
  onEnd(fresh, (type) => {
    flush(writer);
    script.dispatchEvent(new Event(type));
    end();
  });
  // Before a page has loaded, a framework may still hydrate it and count its elements. Later it may remove the
  // element that it created, which is therefore kept without its attributes.
  const keepsOriginal = document.readyState === 'complete';
  if (keepsOriginal) for (const { name } of Array.from(script.attributes)) if (name !== 'type') script.removeAttribute(name);
  runAs(writer, () => (keepsOriginal ? script.before(fresh) : script.replaceWith(fresh)));
  if (!fresh.src) markAsWaiting(fresh);
  const undo = (): void => {
    // No event reports that an inline module has run, so it is not started a second time on this page.
    if (fresh.src) {
      if (keepsOriginal) copyAttributes(fresh, script, trusted);
      else fresh.replaceWith(script);
      Object.assign(script, { onload, onerror });
    }
    cancelScript(fresh);
  };
  return { element: fresh, undo };
};

/** Inserts the element itself again, which starts it if it was never started. */
const restart = (script: HTMLScriptElement, end: () => void): Started => {
  const waiting = script.cloneNode();
  script.type = script.dataset.assentType || '';
  script.async = script.hasAttribute('async');
  onEnd(script, end);
  script.replaceWith(script);
  if (!script.src) markAsWaiting(script);
  const undo = (): void => {
    script.replaceWith(script.src ? waiting : '');
    cancelScript(script);
  };
  return { element: script, undo };
};
