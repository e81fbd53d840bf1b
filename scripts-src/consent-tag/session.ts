import { gpc } from '../shared/gpc';
import { Choice, isCurrent, only, permits, State, uuid } from './choice';
import { config } from './config';
import { record } from './record';
import { recall, remember } from './storage';

/** The choice in force on this page; null while there is none. An acceptance is here only after its 202. */
export let choice: Choice | null = null;

/** In memory only, until a choice is remembered. A new policy is answered by the visitor who answered the old one. */
let visitorId: string;
export const visitor = (): string => visitorId || (visitorId = uuid());

/** Counts decisions: an answer that arrives after a later decision has nothing to say. */
let turn = 0;
/**
 * An acceptance whose answer did not come; saying the same again is the same choice, as long as nothing else has been
 * said in between: the service may have recorded it.
 */
let failed: Choice | undefined;

const watchers: (() => void)[] = [];
export const watch = (watcher: () => void): void => {
  watchers.push(watcher);
};

export const permitted = (needs: string[]): boolean => permits(choice, needs);

/** Puts a choice in force. What it does not permit stops before anything else happens. */
const enforce = (next: Choice | null): void => {
  choice = next;
  for (const watcher of watchers) {
    // One that fails (on a page that has bent the browser's functions) must not keep a "no" from the others.
    try {
      watcher();
    } catch {}
  }
};

const keep = (next: Choice): void => {
  remember(next);
  enforce(next);
};

const declared = (): Choice['stored'] => (choice ? choice.stored : undefined);

/** Notes what a released script stores. */
export const noteStored = (names: string, needs: string): void => {
  if (!choice) return;
  choice = { ...choice, stored: { ...choice.stored, [names]: needs } };
  remember(choice);
};

/**
 * Takes a decision of the visitor. A "no" holds at once, whatever the network does; a "yes" holds when the service
 * has recorded it. Resolves to whether the decision is in force.
 */
export const decide = async (state: State, wanted: string[]): Promise<boolean> => {
  const purposes = only(config.purposes, wanted);
  if (gpc() || (state === 'accepted' && !purposes.length)) return false;
  const mine = ++turn;
  const before = choice;
  const next: Choice = {
    visitor: visitor(),
    state,
    purposes,
    hash: config.hash,
    time: Date.now(),
    id: uuid(),
    stored: declared(),
  };

  if (state !== 'accepted') {
    failed = undefined;
    keep(next);
    tell(next);
    return true;
  }

  // What is no longer among the purposes stops now, even if the rest cannot be recorded.
  if (before && before.state === state) keep({ ...before, purposes: only(before.purposes, purposes) });
  if (failed && String(failed.purposes) === String(purposes)) next.id = failed.id;
  const recorded = await record(next);
  if (mine !== turn || gpc()) return false;
  failed = recorded ? undefined : next;
  if (recorded) keep({ ...recorded, stored: declared() });
  return !!recorded;
};

/** Tells the service of a "no" that already holds here. Without a receipt, later pages try again. */
const tell = async (no: Choice): Promise<void> => {
  const recorded = await record(no);
  if (recorded && choice && choice.id === no.id) {
    choice = { ...recorded, stored: choice.stored };
    remember(choice);
  }
};

/**
 * Takes over what is remembered: at the start, when the page comes back from the back/forward cache, and when another
 * tab has decided.
 */
export const resume = (): void => {
  const stored = gpc() ? null : recall();
  if (stored) visitorId = stored.visitor;
  const next = stored && isCurrent(stored, config.hash, Date.now()) ? stored : null;
  if (next) next.purposes = only(config.purposes, next.purposes);
  turn++;
  failed = undefined;
  enforce(next);
  if (next && !next.receipt) tell(next);
};
