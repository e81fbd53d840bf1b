import { splitNames } from '../consent-tag/choice';
import type { BaseConfig } from '../shared/config';
import { guard } from '../shared/guard';
import { explain } from '../shared/explain';
import { type Types, VENDORS } from './vendors';

declare const __ASSENT_CONFIG__: BaseConfig;
const { base }: BaseConfig = __ASSENT_CONFIG__;

/** A vendor's interface may be defined by a script that loads later. */
const PAUSE_MS = 50;
const MAX_WAIT_MS = 30e3;

/** Google Consent Mode is part of the consent tag, and always on. */
const BUILT_IN = 'google';

/** The types that apply now. */
let current: Types;
/** The last signal that each vendor received. */
const sent = new Map<string, string>();

const notifyVendor = (name: string): void => {
  const vendor = VENDORS[name];
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
const notify = (name: string, until = performance.now() + MAX_WAIT_MS): void => {
  if (VENDORS[name].isReady()) {
    awaited.delete(name);
    guard(() => notifyVendor(name));
  } else if (performance.now() < until) {
    awaited.add(name);
    setTimeout(notify, PAUSE_MS, name, until);
  } else {
    awaited.delete(name);
    explain(base, 'signals', `“${name}” is named in data-assent-signals, but its script is not on this page: it receives no signal.`);
  }
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

/**
 * Passes the types of Google Consent Mode on to every vendor that the page names: a denial first, then every change. A
 * vendor whose script is not there yet receives the latest state when it arrives.
 */
export const signal = (types: Types): void => {
  current = types;
  names = names || vendors();
  for (const name of names) if (!awaited.has(name)) notify(name);
};
