import { words } from './choice';
import { noteStored, permitted } from './session';

/**
 * Other people's scripts and frames that wait for a choice:
 * `<script type="text/plain" data-assent="analytics">` (with `src` or inline; `data-assent-type="module"` for modules)
 * and `<iframe data-assent="analytics" data-src="…">`. Several purposes mean that all of them are needed.
 */
const WAITING = 'script[type="text/plain"][data-assent],iframe[data-assent][data-src]';

const isPermitted = (element: HTMLElement): boolean => permitted(words(element.dataset.assent));

/** Scripts that are in the line below, so that none runs twice. */
const taken = new WeakSet<Element>();
/** One after the other, in the order of the document, as the parser would have run them. */
let line: Promise<void> = Promise.resolve();
let observer: MutationObserver | undefined;

/** Releases what may run now, and empties the frames that may not stay. */
export const applyGate = (): void => {
  document.querySelectorAll<HTMLElement>(WAITING).forEach((element) => {
    if (element instanceof HTMLIFrameElement) switchFrame(element);
    else if (!taken.has(element) && isPermitted(element)) {
      taken.add(element);
      line = line.then(() => runScript(element as HTMLScriptElement)).catch(() => {});
    }
  });
  // Single-page apps add more later.
  if (!observer) (observer = new MutationObserver(onAdded)).observe(document, { childList: true, subtree: true });
};

const onAdded = (mutations: MutationRecord[]): void => {
  for (const { addedNodes } of mutations) {
    for (const node of addedNodes) {
      if (node instanceof Element && (node.matches(WAITING) || node.querySelector(WAITING))) return applyGate();
    }
  }
};

const runScript = (old: HTMLScriptElement): Promise<void> | void => {
  // The visitor may have changed their mind while it stood in line.
  if (!isPermitted(old)) {
    taken.delete(old);
    return;
  }
  const script = document.createElement('script');
  for (const { name, value } of old.attributes) if (name !== 'type') script.setAttribute(name, value);
  if (old.dataset.assentType) script.type = old.dataset.assentType;
  // The attribute is emptied by the browser; the property still has it.
  script.nonce = old.nonce;
  script.text = old.text;
  script.async = old.hasAttribute('async');
  const { assent, assentCookies } = old.dataset;
  if (assentCookies) noteStored(assentCookies, assent!);
  const finished = script.src && !script.async && new Promise<any>((done) => (script.onload = script.onerror = done));
  old.replaceWith(script);
  return finished || undefined;
};

const switchFrame = (frame: HTMLIFrameElement): void => {
  const { src } = frame.dataset;
  const shown = frame.getAttribute('src') === src;
  if (isPermitted(frame)) {
    if (!shown) frame.src = src!;
  } else if (shown) {
    // Put back without its address, the same element starts empty, and the history gains no entry.
    const next = frame.nextSibling;
    const parent = frame.parentNode!;
    frame.remove();
    frame.removeAttribute('src');
    parent.insertBefore(frame, next);
  }
};
