import { takeBack } from '../shared/load';
import { flush, runAs, writerOf } from './write';

type Trusted = (text: string, create?: string) => string;

/** A script that was started. */
export interface Started {
  /** The element that runs. */
  element: HTMLScriptElement;
  /** Stops what has not run yet, and lets the script wait again. */
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
  // Browsers hide it from the attributes.
  to.nonce = from.nonce;
};

/**
 * A new element with everything of a waiting one, which never runs itself if it came by `innerHTML` or out of a template:
 * it counts as started. Null on a page whose Trusted Types do not allow it.
 */
const renew = (script: HTMLScriptElement, trusted: Trusted): HTMLScriptElement | null => {
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

const onEnd = (element: HTMLScriptElement, run: (type: string) => void): void => {
  for (const type of ['load', 'error']) element.addEventListener(type, () => run(type), { once: true });
};

/** Starts a script in its place. `end` is called when it has run or could not be loaded, if the browser says so. */
export const start = (script: HTMLScriptElement, trusted: Trusted, end: () => void): Started => {
  const fresh = renew(script, trusted);
  return fresh ? replace(script, fresh, trusted, end) : restart(script, end);
};

const replace = (script: HTMLScriptElement, fresh: HTMLScriptElement, trusted: Trusted, end: () => void): Started => {
  const writer = writerOf(fresh, trusted);
  const { onload, onerror } = script;
  Object.assign(fresh, { onload, onerror });
  Object.assign(script, { onload: null, onerror: null });
  onEnd(fresh, (type) => {
    flush(writer);
    script.dispatchEvent(new Event(type));
    end();
  });
  // Until a page has loaded, a framework may be about to count its elements; later it may take away the one that it knows,
  // which therefore stays behind, without its attributes.
  const stays = document.readyState === 'complete';
  if (stays) for (const { name } of Array.from(script.attributes)) if (name !== 'type') script.removeAttribute(name);
  runAs(writer, () => (stays ? script.before(fresh) : script.replaceWith(fresh)));
  const undo = (): void => {
    // Nobody says whether an inline module has run: it gets no second chance on this page.
    if (fresh.src) {
      if (stays) copyAttributes(fresh, script, trusted);
      else fresh.replaceWith(script);
      Object.assign(script, { onload, onerror });
    }
    takeBack(fresh);
  };
  return { element: fresh, undo };
};

/** The element itself, put in its place once more: it starts if it has never been started. */
const restart = (script: HTMLScriptElement, end: () => void): Started => {
  const waiting = script.cloneNode();
  script.type = script.dataset.assentType || '';
  script.async = script.hasAttribute('async');
  onEnd(script, end);
  script.replaceWith(script);
  const undo = (): void => {
    script.replaceWith(script.src ? waiting : '');
    takeBack(script);
  };
  return { element: script, undo };
};
