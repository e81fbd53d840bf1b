import type * as Compat from '../compat/main';
import type * as Controls from '../controls/main';
import type * as Hints from '../hints/main';
import type * as Placeholders from '../placeholders/main';
import type * as Recheck from '../recheck/main';
import type * as Share from '../share/main';
import type * as Signals from '../signals/main';

interface Modules {
  compat: typeof Compat;
  controls: typeof Controls;
  hints: typeof Hints;
  placeholders: typeof Placeholders;
  recheck: typeof Recheck;
  share: typeof Share;
  signals: typeof Signals;
}

const modules: Partial<Record<keyof Modules, Promise<unknown>>> = {};

/** Imports a module beside this one, once. After a failure the next call tries again. */
export const load = <K extends keyof Modules>(name: K): Promise<Modules[K]> => {
  const known = modules[name];
  if (known) return known as Promise<Modules[K]>;
  // The time makes the address unique, because some browsers cache a failed import permanently.
  const loading: Promise<Modules[K]> = import(import.meta.url.replace('/extras.', `/${name}.`) + Date.now());
  loading.catch(() => delete modules[name]);
  return (modules[name] = loading);
};
