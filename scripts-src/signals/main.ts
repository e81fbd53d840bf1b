import { type Choice, isCurrent, parseChoice, splitNames } from '../consent-tag/choice';
import type { BaseConfig, TagConfig } from '../shared/config';
import { explain } from '../shared/explain';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { type Types, VENDORS } from './vendors';

declare const __ASSENT_CONFIG__: BaseConfig;
const { base }: BaseConfig = __ASSENT_CONFIG__;

/** A vendor's interface may be defined by a script that loads later, in single-page apps much later. */
const PAUSE_MS = 50;
/** The time after which a missing vendor is reported, and looked for less often. */
const USUAL_WAIT_MS = 30e3;
const LONG_PAUSE_MS = 500;

/** The interval at which the end of a permission is checked on a page that stays open. */
const POLL_MS = 5e3;

/** The time in which the answer about an unconfirmed acceptance arrives: the tag loads a module, and waits 8 seconds. */
const ANSWER_MS = 12e3;

/** Google Consent Mode is part of the consent tag, and always on. */
const BUILT_IN = 'google';

/** The types that apply now. */
let current: Types;
/** The last signal that each vendor received. */
const sent = new Map<string, string>();
/** Deadline, by `performance.now()`, for an answer about the stored acceptance. Until then nothing is permitted. */
let answerUntil: number | undefined;

const notifyVendor = (name: string): void => {
  const vendor = VENDORS[name];
  if (vendor.forgets && answerUntil && performance.now() < answerUntil) return;
  const text = JSON.stringify(current);
  if (sent.get(name) === text) return;
  if (!sent.has(name)) vendor.deny?.();
  vendor.update(current);
  // A vendor whose interface has failed receives the next signal in any case.
  sent.set(name, text);
};

/** The vendors whose interface is awaited. */
const awaited = new Set<string>();

/** Notifies a vendor now, or as soon as its interface exists. */
const notify = (name: string, reportAt = performance.now() + USUAL_WAIT_MS): void => {
  if (VENDORS[name].isReady()) {
    awaited.delete(name);
    return void guard(() => notifyVendor(name));
  }
  awaited.add(name);
  if (performance.now() < reportAt) return void setTimeout(notify, PAUSE_MS, name, reportAt);
  if (reportAt) explain(base, 'signals', `“${name}” is named in data-assent-signals, but its script is not on this page: it receives no signal.`);
  setTimeout(notify, LONG_PAUSE_MS, name, 0);
};

let names: string[] | undefined;

/** The vendors that the page names and that are known. Unknown ones are reported. */
const vendors = (): string[] => {
  const all = splitNames(document.querySelector<HTMLElement>('[data-assent-signals]')?.dataset.assentSignals);
  return all.filter((name) => {
    if (VENDORS[name]) return true;
    if (name !== BUILT_IN) {
      const known = [BUILT_IN, ...Object.keys(VENDORS)].join(', ');
      explain(base, 'signals', `“${name}” in data-assent-signals is unknown: it receives no signal. Known are ${known}.`);
    }
    return false;
  });
};

/** The choice in force, with the tag's configuration and its function that applies the stored choice. */
let inForce: [choice: Choice | null, config: TagConfig, restore: () => void];

/**
 * Lets the tag apply the end of a permission, or Global Privacy Control that was switched on: no event reports either. A
 * timer for the end itself could be longer than timers can be, and stops while the computer sleeps.
 */
const checkEnd = (): void => {
  const [choice, { hash, days }, restore] = inForce;
  if (choice?.state === 'accepted' && (gpc() || !isCurrent(choice, hash, days, Date.now()))) restore();
};

/** Whether there is a stored acceptance that the tag does not apply because it may have been withdrawn elsewhere. */
const hasUnconfirmed = (choice: Choice | null, { pixel, hash, days }: TagConfig): boolean => {
  const key = `assent:${pixel}`;
  try {
    const stored = parseChoice(localStorage.getItem(key));
    return !choice && !gpc() && stored?.state === 'accepted' && isCurrent(stored, hash, days, Date.now()) && !!localStorage.getItem(key + '?');
  } catch {
    return false;
  }
};

const notifyAll = (): void => names!.forEach((name) => awaited.has(name) || notify(name));

/**
 * Passes the types of Google Consent Mode on to every vendor that the page names: a denial first, then every change. A
 * vendor whose script is not there yet receives the latest state when it arrives. A vendor that forgets the visitor after a
 * denial receives none until the service has answered, or has not answered in time.
 */
export const signal = (types: Types, ...about: typeof inForce): void => {
  const [choice, config] = about;
  current = types;
  inForce = about;
  if (!names) setInterval(checkEnd, POLL_MS);
  names = names || vendors();
  if (!hasUnconfirmed(choice, config)) answerUntil = undefined;
  else if (!answerUntil) {
    // Later requests, such as after the visitor returns to the page, do not extend the deadline.
    answerUntil = performance.now() + ANSWER_MS;
    setTimeout(notifyAll, ANSWER_MS + 1);
  }
  notifyAll();
};
