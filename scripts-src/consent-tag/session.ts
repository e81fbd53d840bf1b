import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { send } from '../shared/http';
import { Choice, choiceId, isCurrent, only, permits, randomId, State } from './choice';
import { config } from './config';
import { extra } from './modules';
import { MAX_PENDING_MS, record } from './record';
import { forgetVisitor, loadChoice, mayHaveWithdrawn, OPENED_KEY, saveChoice } from './storage';

/** The choice in force on this page; null while there is none. An acceptance is here only after its 202. */
export let choice: Choice | null = null;

/** An acceptance that the service has to be asked about, because it may have been withdrawn elsewhere: it permits nothing. */
export let unconfirmed: Choice | undefined;

/** In memory only, until a choice is made. A new policy is answered by the visitor who answered the old one. */
let visitorId: string;
export const visitor = (): string => visitorId || (visitorId = randomId());

/** The acceptance of this page that waits for its answer; overruled, it is no longer here, and its answer has nothing to say. */
let pending: Choice | undefined;
/**
 * An acceptance whose answer did not come; saying the same again is the same choice, as long as nothing else has been
 * said in between: the service may have recorded it.
 */
let failed: Choice | undefined;

const subscribers: (() => void)[] = [];
export const subscribe = (subscriber: () => void): void => {
  subscribers.push(subscriber);
};

const isValid = (remembered: Choice): boolean => isCurrent(remembered, config.hash, config.days, Date.now());

/** Asked anew each time, because a page can stay open for longer than a choice holds. */
export const permitted = (needs: string[]): boolean => !gpc() && permits(choice, needs) && isValid(choice!);

/** Puts a choice in force. What it does not permit stops before anything else happens. */
const setChoice = (next: Choice | null, toConfirm?: Choice): void => {
  choice = next;
  unconfirmed = toConfirm;
  // One that fails (on a page that has bent the browser's functions) must not keep a "no" from the others.
  subscribers.forEach(guard);
};

const setAndSave = (next: Choice): void => {
  saveChoice(next);
  setChoice(next);
};

/** Notes what a released script stores. */
export const noteStored = (names: string | undefined, needs: string): void => {
  if (!choice || !names) return;
  choice = { ...choice, stored: { ...choice.stored, [names]: needs } };
  saveChoice(choice);
};

/**
 * Takes a decision of the visitor. A "no" holds at once, whatever the network does; a "yes" holds when the service
 * has recorded it. Resolves to whether the decision is in force.
 */
export const decide = async (state: State, wanted: string[]): Promise<boolean> => {
  const purposes = only(config.purposes, wanted);
  if (gpc() || (state === 'accepted' && !purposes.length)) return false;
  const before = choice || loadChoice();
  const earlier = before || pending || failed;
  // Where nothing has been said there is nothing to take back, and nobody to tell of it.
  if (state === 'withdrawn' && !earlier) return true;
  const next: Choice = {
    visitor: visitor(),
    state,
    purposes,
    hash: config.hash,
    time: Date.now(),
    id: choiceId(),
    stored: before?.stored,
    yes: earlier && (earlier.state === 'accepted' || earlier.yes),
  };

  if (state !== 'accepted') {
    pending = failed = undefined;
    setAndSave(next);
    reportRefusal(next);
    return true;
  }

  pending = next;
  // What is no longer among the purposes stops now, even if the rest cannot be recorded.
  if (choice?.state === state) setAndSave({ ...choice, purposes: only(choice.purposes, purposes) });
  if ('' + failed?.purposes === '' + purposes) next.id = failed!.id;
  const recorded = await record(next);
  if (pending !== next || gpc()) return false;
  pending = undefined;
  failed = recorded ? undefined : next;
  // A choice made earlier does not apply to another policy.
  if (next.hash !== config.hash) restore();
  if (recorded) setAndSave({ ...recorded, stored: (choice || recorded).stored });
  return !!recorded;
};

/** Tells the service of a "no" that already holds here. Without a receipt, later pages try again. */
const reportRefusal = async (refusal: Choice): Promise<void> => {
  const recorded = await record(refusal);
  if (choice !== refusal) return;
  // Forgotten, under Global Privacy Control.
  if (gpc() && !loadChoice()) choice = null;
  else if (recorded) {
    saveChoice((choice = recorded));
    if (!recorded.receipt) setTimeout(() => choice === refusal && reportRefusal(refusal), MAX_PENDING_MS);
  }
};

/**
 * Global Privacy Control after a yes: it is taken back, with its own id, so that two tabs make one receipt of it, and
 * forgotten once the service has heard of that. Whoever has not accepted before has nothing to say to the service.
 */
const applyGpc = (earlier: Choice | null): void => {
  pending = failed = undefined;
  visitorId = '';
  if (!earlier || (earlier.state !== 'accepted' && (earlier.receipt || !earlier.yes))) return setChoice(null);
  const refusal: Choice = { ...earlier, state: 'withdrawn', purposes: [], receipt: undefined, yes: true };
  setAndSave(refusal);
  reportRefusal(refusal);
};

/** Applies the service's answer about an unconfirmed choice; null if the service does not know this visitor. */
const applyCheck = (checked: Choice, next: Choice | null): void => {
  // The visitor may have said something else meanwhile.
  if (unconfirmed !== checked) return;
  if (next) saveChoice(next);
  else {
    forgetVisitor();
    visitorId = '';
  }
  restore(true);
};

/** Looks again, when the visitor comes back to the page, whether what it goes by still holds. */
export const recheck = (): void => {
  if (!document.hidden && (unconfirmed || gpc() || mayHaveWithdrawn() || (choice && !isValid(choice)))) restore();
};

/**
 * Takes over what is remembered: at the start, when the page comes back from the back/forward cache, and when another
 * tab has decided. What a marked browser remembers comes into force only once the service has confirmed it.
 */
export const restore = (confirmed?: boolean): void => {
  const stored = loadChoice();
  if (gpc()) return applyGpc(stored);
  const last = pending || choice;
  // What was said before the last word of this page does not undo it: not an acceptance that waits for its answer, and
  // not a "no" that another tab has written over.
  if (stored && last && stored.time < last.time) {
    if (pending) return;
    if (last.state !== 'accepted') return void decide(last.state, []);
  }
  if (stored) visitorId = stored.visitor;
  const next = stored && isValid(stored) ? stored : null;
  if (next) next.purposes = only(config.purposes, next.state === 'accepted' && next.purposes);
  // The acceptance that this overrules may be recorded after it; so it is said again.
  if (next && pending) record({ ...next, visitor: pending.visitor, id: choiceId() });
  pending = failed = undefined;
  if (!confirmed && next?.state === 'accepted' && mayHaveWithdrawn()) {
    setChoice(null, next);
    // No choice is in force until the service has answered.
    extra('verify', config, next, OPENED_KEY, send, applyCheck);
  } else {
    setChoice(next);
    if (next && !next.receipt) reportRefusal(next);
  }
};
