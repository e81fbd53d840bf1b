import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { send } from '../shared/http';
import { Action, Choice, choiceId, isCurrent, only, permits, randomId, State } from './choice';
import { config } from './config';
import { extra } from './modules';
import { MAX_PENDING_MS, record } from './record';
import { forgetVisitor, loadChoice, mayHaveWithdrawn, saveChoice } from './storage';

/** The choice in force on this page; null if there is none. An acceptance is in force only after its 202. */
export let choice: Choice | null = null;

/** An acceptance that the service must confirm, because it may have been withdrawn elsewhere. It permits nothing. */
export let unconfirmed: Choice | undefined;

/** In memory only, until a choice is made. A choice on a new policy keeps the visitor id of the earlier choice. */
let visitorId: string;
export const visitor = (): string => visitorId || (visitorId = randomId());

/** The acceptance of this page that is being recorded. An overruled one is removed, and its answer is ignored. */
let pending: Choice | undefined;
/**
 * An acceptance without an answer. The service may have recorded it, so accepting the same purposes again by the same user
 * action sends the same choice id, unless there was another choice in between.
 */
let failed: Choice | undefined;

const subscribers: (() => void)[] = [];
export const subscribe = (subscriber: () => void): void => {
  subscribers.push(subscriber);
};

const isValid = (stored: Choice): boolean => isCurrent(stored, config.hash, config.days, Date.now());

/** Whether all purposes in `needs` are permitted now. A page can stay open for longer than a choice is valid. */
export const permitted = (needs: string[]): boolean => !gpc() && permits(choice, needs) && isValid(choice!);

/** Puts a choice in force, and immediately stops everything that it does not permit. */
const setChoice = (next: Choice | null, toConfirm?: Choice): void => {
  choice = next;
  unconfirmed = toConfirm;
  // A subscriber may fail on a page that has replaced the browser's functions. The others must still receive a refusal.
  subscribers.forEach(guard);
};

const setAndSave = (next: Choice): void => {
  saveChoice(next);
  setChoice(next);
};

/** Records the cookies and entries that a released script stores. */
export const noteStored = (names: string | undefined, needs: string): void => {
  if (!choice || !names) return;
  choice = { ...choice, stored: { ...choice.stored, [names]: needs } };
  // Another tab may have made a later choice, of which this page has not been notified yet.
  if (!(loadChoice()?.time! > choice.time)) saveChoice(choice);
};

/**
 * Makes a choice. If no user action is given, it counts as made by a script of the page. A refusal is in force at once,
 * whatever the network does; an acceptance is in force when the service has recorded it. Resolves to whether the choice is
 * in force.
 */
export const decide = async (state: State, wanted: string[], by?: Partial<Action> | false): Promise<boolean> => {
  const purposes = only(config.purposes, wanted);
  const isImpossible = gpc() || (state === 'accepted' && !purposes[0]);
  if (isImpossible || wanted[purposes.length]) extra('hint', 'choice', '' + wanted);
  if (isImpossible) return false;
  const before = choice || loadChoice();
  const earlier = before || pending || failed;
  // Without an earlier choice there is nothing to withdraw, and nothing to record.
  if (state === 'withdrawn' && !earlier) return true;
  const next: Choice = {
    visitor: before ? before.visitor : visitor(),
    state,
    purposes,
    hash: config.hash,
    time: Date.now(),
    id: choiceId(),
    by: by || { act: 'page' },
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
  // Purposes that are no longer accepted stop now, even if the rest cannot be recorded.
  if (choice?.state === state) setAndSave({ ...choice, purposes: only(choice.purposes, purposes) });
  if ('' + [failed?.by!.act, failed?.purposes] === '' + [next.by!.act, purposes]) next.id = failed!.id;
  const recorded = await record(next);
  if (pending !== next || gpc()) return false;
  pending = undefined;
  failed = recorded ? undefined : next;
  // A choice made earlier does not apply to another policy.
  if (next.hash !== config.hash) restore();
  if (recorded) setAndSave({ ...recorded, stored: (choice || recorded).stored });
  return !!recorded;
};

/** Records a refusal that is already in force here. Without a receipt, later pages try again. */
const reportRefusal = async (refusal: Choice): Promise<void> => {
  const recorded = await record(refusal);
  if (choice !== refusal) return;
  // Under Global Privacy Control the visitor was forgotten after the answer.
  if (gpc() && !loadChoice()) choice = null;
  else if (recorded) {
    saveChoice((choice = recorded));
    if (!recorded.receipt) setTimeout(() => choice === refusal && reportRefusal(refusal), MAX_PENDING_MS);
  }
};

/**
 * Applies Global Privacy Control. An earlier acceptance is withdrawn with its own choice id, so that two tabs create one
 * receipt, and forgotten after the service has answered. Nothing is sent for a visitor who has not accepted before.
 */
const applyGpc = (earlier: Choice | null | void): void => {
  pending = failed = undefined;
  visitorId = '';
  if (!earlier || (earlier.state !== 'accepted' && (earlier.receipt || !earlier.yes))) return setChoice(null);
  const refusal: Choice = { ...earlier, state: 'withdrawn', purposes: [], receipt: undefined, by: {}, yes: true };
  setAndSave(refusal);
  reportRefusal(refusal);
};

/** Applies the service's answer about an unconfirmed choice; null if the service does not know this visitor. */
const applyCheck = (checked: Choice, next: Choice | null): void => {
  // The visitor may have made another choice in the meantime.
  if (unconfirmed !== checked) return;
  if (next) saveChoice(next);
  else {
    forgetVisitor();
    visitorId = '';
  }
  restore(true);
};

/** Checks whether the choice of this page is still valid, when the visitor returns to the page. */
export const recheck = (): void => {
  if (!document.hidden && (unconfirmed || gpc() || mayHaveWithdrawn() || (choice && !isValid(choice)))) restore();
};

/**
 * Applies the stored choice: at the start, when the page is restored from the back/forward cache, and when another tab has
 * made a choice. If the visitor may have withdrawn on a page of the service, an acceptance is in force only after the
 * service has confirmed it.
 */
export const restore = (confirmed?: boolean): void => {
  const stored = loadChoice();
  if (gpc()) return applyGpc(stored);
  const last = pending || choice;
  // An older stored choice does not replace the latest choice of this page: neither an acceptance that is being recorded,
  // nor a refusal that another tab has overwritten.
  if (stored && last && stored.time < last.time) {
    if (pending) return;
    if (last.state !== 'accepted') return void decide(last.state, [], last.by || {});
  }
  if (stored) visitorId = stored.visitor;
  const next = stored && isValid(stored) ? stored : null;
  if (next) next.purposes = only(config.purposes, next.state === 'accepted' && next.purposes);
  // The acceptance that this choice overrules may be recorded after it, so this choice is sent again.
  if (next && pending) record({ ...next, visitor: pending.visitor, id: choiceId() });
  pending = failed = undefined;
  if (!confirmed && next?.state === 'accepted' && mayHaveWithdrawn()) {
    setChoice(null, next);
    // No choice is in force until the service has answered.
    extra('verify', config, next, send, applyCheck);
  } else {
    setChoice(next);
    if (next && !next.receipt) reportRefusal(next);
  }
};
