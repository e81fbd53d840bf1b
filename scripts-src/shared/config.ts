/**
 * What the service puts in place of `__ASSENT_CONFIG__` when it delivers a script.
 * Every value has been validated there; the scripts trust it.
 */

export interface BaseConfig {
  /** Public address of the service, without a trailing slash. */
  base: string;
}

export interface TagConfig extends BaseConfig {
  /** Canonical pixel id, also when the script was asked for by an alias. */
  pixel: string;
  /** Hash of the policy that this script asks about. */
  hash: string;
  version: number;
  controller: string;
  /** The configured purposes, sorted. */
  purposes: string[];
  sharing: boolean;
  parties: string[];
  /** The site's own privacy policy. */
  site?: string;
  lang: string;
  dir: 'ltr' | 'rtl';
  texts: TagTexts;
  purposeTexts: { [purpose: string]: PurposeText };
  look?: Appearance;
}

export interface PurposeText {
  title: string;
  text: string;
}

export interface TagTexts {
  title: string;
  ask: string;
  promise: string;
  accept: string;
  decline: string;
  choose: string;
  notice: string;
  sitePolicy?: string;
  prefsTitle: string;
  save: string;
  acceptAll: string;
  declineAll: string;
  withdraw: string;
  close: string;
  sharedWith?: string;
  shared?: string;
  reopen: string;
  saved: string;
  failed: string;
  gpc: string;
}

export interface Palette {
  background?: string;
  text?: string;
  button?: string;
  button_text?: string;
  link?: string;
}

export type Corner = 'bottom-left' | 'bottom-right' | 'top-left' | 'top-right';

/**
 * The site owner's wishes. There is one button colour: accepting cannot be made more prominent
 * than declining, because nothing here could say so.
 */
export interface Appearance {
  position?: 'bottom' | 'bottom-left' | 'bottom-right' | 'top' | 'center';
  colors?: { light?: Palette; dark?: Palette };
  /** Corner radius in CSS pixels, 0 to 24. */
  radius?: number;
  /** A font-family list, or `inherit` for the page's own. */
  font?: string;
  button?: { show?: boolean; position?: Corner };
}

export interface PopupConfig extends BaseConfig {
  lang: string;
  dir: 'ltr' | 'rtl';
  texts: PopupTexts;
}

export interface PopupTexts {
  title: string;
  text: string;
  optOut: string;
  close: string;
  done: string;
  gpc: string;
}
