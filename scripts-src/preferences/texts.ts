import type { PreferencesConfig } from '../shared/config';

declare const __ASSENT_CONFIG__: PreferencesConfig;

/** The texts of this script in one language, apart from the purposes. */
export const { texts }: PreferencesConfig = __ASSENT_CONFIG__;
