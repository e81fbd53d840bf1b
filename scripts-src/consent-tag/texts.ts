import { config } from './config';

export let TITLE: string;
export let ASK: string;
export let PROMISE: string;
export let ACCEPT: string;
export let DECLINE: string;
export let CHOOSE: string;
export let NOTICE: string;
export let SITE_POLICY: string;
export let WITHDRAW: string;
export let SHARED: string | undefined;
export let SAVED: string;
export let FAILED: string;

/**
 * Takes what the tag says, apart from the purposes, out of its configuration. The texts come without names, which would be
 * a twentieth of the script.
 */
export const readTexts = (): void => {
  [TITLE, ASK, PROMISE, ACCEPT, DECLINE, CHOOSE, NOTICE, SITE_POLICY, WITHDRAW, SHARED, SAVED, FAILED] = config.texts;
};

readTexts();
