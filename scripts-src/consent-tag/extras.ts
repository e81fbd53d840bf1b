import type * as Extras from '../extras/main';
import { guard } from '../shared/guard';
import { config } from './config';

type Extras = typeof Extras;

let loading: Promise<Extras> | undefined;

/**
 * Calls a function of the `extras` module, which the first call imports. An import needs no Trusted Types policy.
 * Without the module nothing happens.
 */
export const extra = <K extends keyof Extras>(name: K, ...args: Parameters<Extras[K]>): Promise<void> =>
  guard(async () => {
    if (!loading) {
      // The time makes the address unique, because some browsers cache a failed import permanently.
      loading = import(`${config.base}/extras.js?lang=${config.lang}&${Date.now()}`);
      loading.catch(() => setTimeout(() => (loading = undefined), 1e4));
    }
    return ((await loading)[name] as (...args: unknown[]) => unknown)(...args);
  });
