import type { PreferencesConfig } from '../shared/config';

declare const __ASSENT_CONFIG__: PreferencesConfig;

/** All that this script says, apart from the purposes, in one language. */
export const { texts }: PreferencesConfig = __ASSENT_CONFIG__;
