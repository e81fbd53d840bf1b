import { splitNames } from '../consent-tag/choice';
import { GATED } from '../shared/gated';
import { switchFrame } from './frames';
import { type Started, start } from './scripts';

/** The interface that the consent tag passes in. */
export interface Session {
  permitted(needs: string[]): boolean;
  /** Records what a released script stores. */
  noteStored(names: string | undefined, needs: string): void;
  /** Converts text to a trusted type; throws where the page does not allow our policy. */
  trusted(text: string, create?: string): string;
}

/** A script delays the following ones for at most this long. */
const TIMEOUT_MS = 5000;

/** Scripts run one after the other in document order, as the parser would have run them. */
let queue: Promise<void> = Promise.resolve();

/** A script in the queue, or one that may not have run yet. */
interface Pending {
  needs: string[];
  started?: Started;
  /** Lets the next script run. */
  end?(): void;
}
const pending = new Map<HTMLScriptElement, Pending>();

/** Starts permitted scripts, stops those that are no longer permitted, and shows frames or their placeholders. */
export const applyGate = (session: Session): void => {
  pending.forEach(({ needs, started, end }) => {
    if (!started || session.permitted(needs)) return;
    started.undo();
    end!();
  });
  document.querySelectorAll<HTMLElement>(GATED).forEach((element) => {
    const needs = splitNames(element.dataset.assent);
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
  // While it was queued, the visitor may have changed the choice, or the page may have removed the script.
  if (!session.permitted(entry.needs) || !script.isConnected) return void pending.delete(script);
  const { assent, assentCookies, assentType } = script.dataset;
  session.noteStored(assentCookies, assent!);
  return new Promise((done) => {
    const end = (entry.end = (): void => {
      if (pending.get(script) === entry) pending.delete(script);
      done();
    });
    const started = (entry.started = start(script, session.trusted, end));
    setTimeout(done, TIMEOUT_MS);
    // No event reports that an inline module has run.
    if (!started.element.src && assentType !== 'module') end();
    if (!started.element.src || started.element.async) done();
  });
};
