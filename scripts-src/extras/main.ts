import type * as Recheck from '../recheck/main';
import type { TagConfig } from '../shared/config';
import type { Send } from '../shared/http';
import type * as Share from '../share/main';
import type * as Signals from '../signals/main';
import { load } from './load';
import { reach } from './reach';

export { applyGate } from './gate';
export { enter } from './keyboard';
export { press } from './press';
export { reach };
export { remove } from './remove';

/** Notifies the vendors that the page names of the consent types, in order. */
export const signal = async (...about: Parameters<typeof Signals.signal>): Promise<void> => (await load('signals')).signal(...about);

/** Reads the choice of the other subdomains, and lets the tag start. */
export const share = async (...about: Parameters<typeof Share.share>): Promise<void> =>
  (await load('share').catch(async () => void (await hint('share'))))?.share(...about);

/** Keeps a focused element of the page from being hidden under the banner. */
export const uncover = async (...about: [frame: HTMLElement, focused: Element]): Promise<void> => (await load('controls')).uncover(...about, reach);

/** Explains to the page's developer, in the browser console, why something has no effect. */
export const hint = async (...about: [code: 'second' | 'call' | 'choice' | 'host' | 'share' | 'site', detail?: string]): Promise<void> => (await load('hints')).hint(...about);

/** Asks the service whether a stored choice is still valid. */
export const verify = async (...about: Parameters<typeof Recheck.verify>): Promise<void> => (await load('recheck')).verify(...about);

/** Loads the current policy after the service has refused an acceptance of an outdated one, or explains another refusal. */
export const refused = async (config: TagConfig, send: Send, status: number): Promise<void> =>
  status === 403 ? hint('site', config.pixel) : (await load('recheck')).refresh(config, send);
