import { splitNames } from '../consent-tag/choice';
import { guard } from '../shared/guard';
import { switchFrame } from './frames';
import { load } from './load';
import { report } from './report';
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

let latest: Session | undefined;

/** Whether another tab has made a later choice, of which a busy page has not been notified yet. */
const isOutdated = ({ choice, config }: Session): boolean => {
  let isLater = false;
  guard(() => (isLater = JSON.parse(localStorage['assent:' + config.pixel]).time > choice!.time));
  return isLater;
};

/**
 * Starts permitted scripts, stops those that are no longer permitted, and shows frames or their placeholders. On pages that
 * are marked up for another consent tool, their markup is translated first.
 */
export const applyGate = async (session: Session): Promise<void> => {
  // The tag observes only added elements, but a framework may change the address or purpose of an existing frame.
  if (!latest) new MutationObserver(() => void guard(() => applyGate(latest!))).observe(document, { attributeFilter: ['data-src', 'data-assent'], subtree: true });
  latest = session;
  pending.forEach(({ needs, started, end }) => {
    if (!started || session.permitted(needs)) return;
    started.undo();
    end!();
  });
  const foreign = document.querySelector<HTMLElement>('[data-assent-compat]');
  if (foreign) await guard(async () => (await load('compat')).translate(foreign, session));
  const { base, purposes } = session.config;
  document.querySelectorAll<HTMLElement>('[data-assent]').forEach((element) => {
    const needs = splitNames(element.dataset.assent);
    const isPermitted = session.permitted(needs);
    if (element instanceof HTMLIFrameElement) {
      if (!('src' in element.dataset)) return report(element, 'frame', element.src);
      switchFrame(element, isPermitted, session);
    } else if (element.matches('script[type="text/plain"]')) {
      const script = element as HTMLScriptElement;
      if (isPermitted && !isStarted(script) && !pending.has(script)) {
        pending.set(script, { needs });
        queue = queue.then(() => run(script, session)).catch(() => {});
      }
      // The identification tag was loaded after consent, and declares what it stores.
    } else if (!isStarted(element) && !element.getAttribute('src')?.startsWith(base + '/pixels/')) {
      return report(element, 'kind', element.localName);
    }
    if (!isPermitted && !(needs[0] && needs.every((purpose) => purposes.includes(purpose)))) report(element, 'purpose', '' + needs);
  });
};

/** Resolves when the next script may run. */
const run = (script: HTMLScriptElement, session: Session): Promise<void> | void => {
  const entry = pending.get(script)!;
  // While it was queued, the visitor may have changed the choice, or the page may have removed the script.
  if (!session.permitted(entry.needs) || !script.isConnected || isOutdated(latest!)) return void pending.delete(script);
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
