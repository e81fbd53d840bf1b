import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { ask } from '../shared/http';
import { Choice, choiceId, isCurrent, only, permits, randomId, State } from './choice';
import { config } from './config';
import { extra } from './modules';
import { LONGEST_MS, record } from './record';
import { forget, isMarked, MARK, recall, remember } from './storage';

/** The choice in force on this page; null while there is none. An acceptance is here only after its 202. */
export let choice: Choice | null = null;

/** An acceptance that the service has to be asked about, because it may have been withdrawn elsewhere: it permits nothing. */
export let unsure: Choice | undefined;

/** In memory only, until a choice is made. A new policy is answered by the visitor who answered the old one. */
let visitorId: string;
export const visitor = (): string => visitorId || (visitorId = randomId());

/** The acceptance of this page that waits for its answer; overruled, it is no longer here, and its answer has nothing to say. */
let waiting: Choice | undefined;
/**
 * An acceptance whose answer did not come; saying the same again is the same choice, as long as nothing else has been
 * said in between: the service may have recorded it.
 */
let failed: Choice | undefined;

const watchers: (() => void)[] = [];
export const watch = (watcher: () => void): void => {
  watchers.push(watcher);
};

const isValid = (remembered: Choice): boolean => isCurrent(remembered, config.hash, config.days, Date.now());

/** Asked anew each time, because a page can stay open for longer than a choice holds. */
export const permitted = (needs: string[]): boolean => !gpc() && permits(choice, needs) && isValid(choice!);

/** Puts a choice in force. What it does not permit stops before anything else happens. */
const enforce = (next: Choice | null, doubtful?: Choice): void => {
  choice = next;
  unsure = doubtful;
  // One that fails (on a page that has bent the browser's functions) must not keep a "no" from the others.
  watchers.forEach(guard);
};

const keep = (next: Choice): void => {
  remember(next);
  enforce(next);
};

/** Notes what a released script stores. */
export const noteStored = (names: string | undefined, needs: string): void => {
  if (!choice || !names) return;
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
  const before = choice || recall();
  const said = before || waiting || failed;
  // Where nothing has been said there is nothing to take back, and nobody to tell of it.
  if (state === 'withdrawn' && !said) return true;
  const next: Choice = {
    visitor: visitor(),
    state,
    purposes,
    hash: config.hash,
    time: Date.now(),
    id: choiceId(),
    stored: before?.stored,
    yes: said && (said.state === 'accepted' || said.yes),
  };

  if (state !== 'accepted') {
    waiting = failed = undefined;
    keep(next);
    tell(next);
    return true;
  }

  waiting = next;
  // What is no longer among the purposes stops now, even if the rest cannot be recorded.
  if (choice?.state === state) keep({ ...choice, purposes: only(choice.purposes, purposes) });
  if ('' + failed?.purposes === '' + purposes) next.id = failed!.id;
  const recorded = await record(next);
  if (waiting !== next || gpc()) return false;
  waiting = undefined;
  failed = recorded ? undefined : next;
  // A choice made earlier does not apply to another policy.
  if (next.hash !== config.hash) resume();
  if (recorded) keep({ ...recorded, stored: (choice || recorded).stored });
  return !!recorded;
};

/** Tells the service of a "no" that already holds here. Without a receipt, later pages try again. */
const tell = async (no: Choice): Promise<void> => {
  const recorded = await record(no);
  if (choice !== no) return;
  // Forgotten, under Global Privacy Control.
  if (gpc() && !recall()) choice = null;
  else if (recorded) {
    remember((choice = recorded));
    if (!recorded.receipt) setTimeout(() => choice === no && tell(no), LONGEST_MS);
  }
};

/**
 * Global Privacy Control after a yes: it is taken back, with its own id, so that two tabs make one receipt of it, and
 * forgotten once the service has heard of that. Whoever has not accepted before has nothing to say to the service.
 */
const obey = (earlier: Choice | null): void => {
  waiting = failed = undefined;
  visitorId = '';
  if (!earlier || (earlier.state !== 'accepted' && (earlier.receipt || !earlier.yes))) return enforce(null);
  const no: Choice = { ...earlier, state: 'withdrawn', purposes: [], receipt: undefined, yes: true };
  keep(no);
  tell(no);
};

/** Applies the service's answer about an unconfirmed choice; null if the service does not know this visitor. */
const settle = (doubtful: Choice, next: Choice | null): void => {
  // The visitor may have said something else meanwhile.
  if (unsure !== doubtful) return;
  if (next) remember(next);
  else {
    forget();
    visitorId = '';
  }
  resume(true);
};

/** Looks again, when the visitor comes back to the page, whether what it goes by still holds. */
export const review = (): void => {
  if (!document.hidden && (unsure || gpc() || isMarked() || (choice && !isValid(choice)))) resume();
};

/**
 * Takes over what is remembered: at the start, when the page comes back from the back/forward cache, and when another
 * tab has decided. What a marked browser remembers comes into force only once the service has confirmed it.
 */
export const resume = (confirmed?: boolean): void => {
  const stored = recall();
  if (gpc()) return obey(stored);
  const last = waiting || choice;
  // What was said before the last word of this page does not undo it: not an acceptance that waits for its answer, and
  // not a "no" that another tab has written over.
  if (stored && last && stored.time < last.time) {
    if (waiting) return;
    if (last.state !== 'accepted') return void decide(last.state, []);
  }
  if (stored) visitorId = stored.visitor;
  const next = stored && isValid(stored) ? stored : null;
  if (next) next.purposes = only(config.purposes, next.state === 'accepted' && next.purposes);
  // The acceptance that this overrules may be recorded after it; so it is said again.
  if (next && waiting) record({ ...next, visitor: waiting.visitor, id: choiceId() });
  waiting = failed = undefined;
  if (!confirmed && next?.state === 'accepted' && isMarked()) {
    enforce(null, next);
    // No choice is in force until the service has answered.
    extra('verify', config, next, MARK, ask, settle);
  } else {
    enforce(next);
    if (next && !next.receipt) tell(next);
  }
};
