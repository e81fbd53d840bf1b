import type * as Extras from '../extras/main';
import { guard } from '../shared/guard';
import { config } from './config';

type Extras = typeof Extras;

let loading: Promise<Extras> | undefined;

/**
 * Calls a function of the module with what few pages need, which the first call imports: an import needs no policy of pages
 * that demand Trusted Types. Without the module nothing happens.
 */
export const extra = <K extends keyof Extras>(name: K, ...args: Parameters<Extras[K]>): Promise<void> =>
  guard(async () => {
    if (!loading) {
      // With the time, because some browsers remember for good that a module did not come from an address.
      loading = import(`${config.base}/extras.js?lang=${config.lang}&${Date.now()}`);
      loading.catch(() => setTimeout(() => (loading = undefined), 1e4));
    }
    return ((await loading)[name] as (...args: unknown[]) => unknown)(...args);
  });
