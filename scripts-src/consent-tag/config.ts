import type { TagConfig } from '../shared/config';

declare const __ASSENT_CONFIG__: TagConfig;

/**
 * The configuration of one pixel, in one language. `build.rs` moves this name to the end of the script, where the service
 * replaces it. It must occur once.
 */
export const config: TagConfig = __ASSENT_CONFIG__;
