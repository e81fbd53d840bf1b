import type * as Extras from '../extras/main';
import { guard } from '../shared/guard';
import { config } from './config';

type Extras = typeof Extras;

/** After this a module that did not come is asked for again. */
const PAUSE_MS = 1e4;

let loading: Promise<Extras> | undefined;
/** Some browsers remember for good that a module did not come from an address. */
let tries = 0;

const load = (): Promise<Extras> => {
  if (!loading) {
    loading = import(`${config.base}/extras.js?lang=${config.lang}&try=${tries++}`);
    loading.catch(() => setTimeout(() => (loading = undefined), PAUSE_MS));
  }
  return loading;
};

/**
 * Calls a function of the module with what few pages need, which the first call imports: an import needs no policy of pages
 * that demand Trusted Types. Without the module nothing happens.
 */
export const extra = <K extends keyof Extras>(name: K, ...args: Parameters<Extras[K]>): Promise<void> =>
  guard(async () => ((await load())[name] as (...args: unknown[]) => unknown)(...args));
