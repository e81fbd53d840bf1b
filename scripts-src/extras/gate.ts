import { words } from '../consent-tag/choice';
import { WAITING } from '../shared/waiting';
import { switchFrame } from './frames';
import { type Started, start } from './scripts';

/** What the consent tag hands over. */
export interface Session {
  permitted(needs: string[]): boolean;
  /** Notes what a released script stores. */
  noteStored(names: string | undefined, needs: string): void;
  /** A text as a page wants it that demands Trusted Types; throws where the page does not allow it. */
  trusted(text: string, create?: string): string;
}

/** A script holds up those after it for so long. */
const PATIENCE_MS = 5000;

/** Scripts run one after the other, in the order of the document, as the parser would have run them. */
let queue: Promise<void> = Promise.resolve();

/** A script in the queue, or one that may not have run yet. */
interface Pending {
  needs: string[];
  started?: Started;
  /** Lets the next one run. */
  end?(): void;
}
const pending = new Map<HTMLScriptElement, Pending>();

/** Releases what may run now, takes back what may no longer, and gives the frames that may not stay their placeholder. */
export const applyGate = (session: Session): void => {
  pending.forEach(({ needs, started, end }) => {
    if (!started || session.permitted(needs)) return;
    started.undo();
    end!();
  });
  document.querySelectorAll<HTMLElement>(WAITING).forEach((element) => {
    const needs = words(element.dataset.assent);
    const isPermitted = session.permitted(needs);
    if (element instanceof HTMLIFrameElement) switchFrame(element, isPermitted, session);
    else if (isPermitted && !pending.has(element as HTMLScriptElement)) {
      const script = element as HTMLScriptElement;
      pending.set(script, { needs });
      queue = queue.then(() => run(script, session)).catch(() => {});
    }
  });
};

/** Resolves when the next script may run. */
const run = (script: HTMLScriptElement, session: Session): Promise<void> | void => {
  const entry = pending.get(script)!;
  // The visitor may have changed their mind while it stood in the queue, and the page may have dropped it.
  if (!session.permitted(entry.needs) || !script.isConnected) return void pending.delete(script);
  const { assent, assentCookies, assentType } = script.dataset;
  session.noteStored(assentCookies, assent!);
  return new Promise((done) => {
    const end = (entry.end = (): void => {
      if (pending.get(script) === entry) pending.delete(script);
      done();
    });
    const started = (entry.started = start(script, session.trusted, end));
    setTimeout(done, PATIENCE_MS);
    // Of an inline module nobody says whether it has run.
    if (!started.element.src && assentType !== 'module') end();
    if (!started.element.src || started.element.async) done();
  });
};
