import type { TagConfig } from '../shared/config';

declare const __ASSENT_CONFIG__: TagConfig;

/** The service writes the configuration of one pixel, in one language, over this name. It must occur once. */
export const config: TagConfig = __ASSENT_CONFIG__;
