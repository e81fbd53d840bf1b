import { splitNames } from '../consent-tag/choice';
import { GATED_FRAMES, GATED_SCRIPTS } from '../shared/gated';
import { guard } from '../shared/guard';
import { switchFrame } from './frames';
import { load } from './load';
import { isStarted, type Started, start } from './scripts';
import type { Session } from './session';

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

/**
 * Starts permitted scripts, stops those that are no longer permitted, and shows frames or their placeholders. On pages that
 * are marked up for another consent tool, their markup is translated first.
 */
export const applyGate = async (session: Session): Promise<void> => {
  pending.forEach(({ needs, started, end }) => {
    if (!started || session.permitted(needs)) return;
    started.undo();
    end!();
  });
  const foreign = document.querySelector<HTMLElement>('[data-assent-compat]');
  if (foreign) await guard(async () => (await load('compat')).translate(foreign, session));
  document.querySelectorAll<HTMLElement>(GATED_SCRIPTS + GATED_FRAMES).forEach((element) => {
    const needs = splitNames(element.dataset.assent);
    const isPermitted = session.permitted(needs);
    if (element instanceof HTMLIFrameElement && !('src' in element.dataset)) return report(element, 'frame', element.src);
    if (!isPermitted && !(needs[0] && needs.every((purpose) => session.config.purposes.includes(purpose)))) {
      report(element, 'purpose', '' + needs);
    }
    if (element instanceof HTMLIFrameElement) switchFrame(element, isPermitted, session);
    else if (isPermitted && !isStarted(element) && !pending.has(element as HTMLScriptElement)) {
      const script = element as HTMLScriptElement;
      pending.set(script, { needs });
      queue = queue.then(() => run(script, session)).catch(() => {});
    }
  });
};

const reported = new WeakSet<Element>();

/** Tells the developer of an element that will never do what its attributes say. */
const report = (element: Element, code: 'frame' | 'purpose', detail: string): void => {
  if (reported.has(element)) return;
  reported.add(element);
  guard(async () => (await load('hints')).hint(code, detail, element));
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
