import { guard } from '../shared/guard';
import { takeBack } from '../shared/load';
import { words } from './choice';
import { noteStored, permitted } from './session';

/**
 * Other people's scripts and frames that wait for a choice:
 * `<script type="text/plain" data-assent="analytics">` (with `src` or inline; `data-assent-type="module"` for modules)
 * and `<iframe data-assent="analytics" data-src="…">`. Several purposes mean that all of them are needed.
 */
const WAITING = 'script[type="text/plain"][data-assent],iframe[data-assent][data-src]';

const isPermitted = (element: HTMLElement): boolean => permitted(words(element.dataset.assent));

/** One after the other, in the order of the document, as the parser would have run them. */
let line: Promise<void> = Promise.resolve();
/** Scripts in that line, and others that may not have run yet, each with what takes it back. */
const loading = new Map<HTMLElement, () => void>();

/** Releases what may run now, takes back what may no longer, and empties the frames that may not stay. */
export const applyGate = (): void => {
  loading.forEach((back, script) => isPermitted(script) || back());
  document.querySelectorAll<HTMLElement>(WAITING).forEach((element) => {
    if (element instanceof HTMLIFrameElement) switchFrame(element);
    else if (!loading.has(element) && isPermitted(element)) {
      loading.set(element, () => {});
      line = line.then(() => runScript(element as HTMLScriptElement)).catch(() => {});
    }
  });
};

/** Single-page apps add more later. */
export const watchGate = (): void => new MutationObserver(onAdded).observe(document, { childList: true, subtree: true });

const onAdded = (mutations: MutationRecord[]): void => {
  for (const { addedNodes } of mutations) {
    for (const node of addedNodes as NodeListOf<HTMLElement>) {
      if (node.matches?.(WAITING) || node.querySelector?.(WAITING)) return void guard(applyGate);
    }
  }
};

/**
 * Runs a script in its place: it has never been started, so it starts when it is put there anew. Everything about it
 * stays as the page wrote it, its nonce too, and a page that demands Trusted Types has nothing to object to.
 * Resolves when the next may run.
 */
const runScript = (script: HTMLScriptElement): Promise<void> | void => {
  // The visitor may have changed their mind while it stood in line, and the page may have dropped it.
  if (!isPermitted(script) || !script.isConnected) return void loading.delete(script);
  const { assent, assentCookies, assentType } = script.dataset;
  noteStored(assentCookies, assent!);
  const fresh = script.cloneNode();
  script.type = assentType || '';
  script.async = script.hasAttribute('async');
  return new Promise((done) => {
    const end = (): void => {
      loading.delete(script);
      done();
    };
    script.addEventListener('load', end);
    script.addEventListener('error', end);
    loading.set(script, () => {
      // Of an inline module nobody says whether it has run; it gets no second chance on this page.
      script.replaceWith(script.src ? fresh : '');
      takeBack(script);
      end();
    });
    script.replaceWith(script);
    if (!script.src && !assentType) end();
    if (!script.src || script.async) done();
  });
};

const switchFrame = (frame: HTMLIFrameElement): void => {
  const { src } = frame.dataset;
  const shown = frame.getAttribute('src') === src;
  if (isPermitted(frame)) {
    if (!shown) frame.src = src!;
  } else if (shown) {
    // Put there anew without its address, the same element starts empty, and the history gains no entry.
    frame.removeAttribute('src');
    frame.replaceWith(frame);
  }
};
