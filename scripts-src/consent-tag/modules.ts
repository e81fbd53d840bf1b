import type * as Extras from '../extras/main';
import type * as Preferences from '../preferences/main';
import { guard } from '../shared/guard';
import { config } from './config';

interface Modules {
  extras: typeof Extras;
  preferences: typeof Preferences;
}

/**
 * Imports a module that most pages never need. An import needs no Trusted Types policy. The time makes the address
 * unique, because some browsers cache a failed import permanently.
 */
export const load = <K extends keyof Modules>(name: K): Promise<Modules[K]> =>
  import(`${config.base}/${name}.js?lang=${config.lang}&${Date.now()}`);

let extras: Promise<typeof Extras> | undefined;

/** Calls a function of the `extras` module, which the first call imports. If it cannot be loaded, nothing happens. */
export const extra = <K extends keyof typeof Extras>(name: K, ...args: Parameters<(typeof Extras)[K]>): Promise<void> =>
  guard(async () => {
    if (!extras) {
      extras = load('extras');
      extras.catch(() => setTimeout(() => (extras = undefined), 1e4));
    }
    return ((await extras)[name] as (...args: unknown[]) => unknown)(...args);
  });
