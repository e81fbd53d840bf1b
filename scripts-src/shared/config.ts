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
  /** For how many days an acceptance lasts. */
  days: number;
  /** What this script calls itself when it says what it showed. */
  build: string;
  /** The configured purposes, sorted. */
  purposes: string[];
  /** The site's own privacy policy. */
  site?: string;
  lang: string;
  dir: 'ltr' | 'rtl';
  /**
   * The texts of the tag, apart from the purposes; null for unused ones. They are an array, because names would make up a
   * twentieth of the script.
   */
  texts: [
    title: string,
    ask: string,
    promise: string,
    accept: string,
    decline: string,
    choose: string,
    notice: string,
    sitePolicy: string,
    withdraw: string,
    shared: string,
    saved: string,
    failed: string,
  ];
  /** Key, title and text of each purpose, the gravest first: the order in which they are shown. */
  shown: [string, string, string][];
  /**
   * The site owner's wishes, as rules that come after ours; `$` stands for the page's own font. There is one button
   * colour: accepting cannot be made more prominent than declining, because nothing here could say so.
   */
  css: string;
  /** Where the question stands. */
  position: 'bottom' | 'bottom-left' | 'bottom-right' | 'top' | 'center';
  /** Where the small button sits that opens the choice again; null when the site has its own way back. */
  corner: 'bottom-left' | 'bottom-right' | 'top-left' | 'top-right' | null;
}

/** For the script of the reopened popup, which gets everything else from the consent tag. */
export interface PreferencesConfig {
  texts: PreferencesTexts;
}

/** The configuration of the `extras` module. */
export interface ExtrasConfig {
  /** Asks the visitor to reload the page. */
  reload: string;
}

export interface PreferencesTexts {
  title: string;
  prefsTitle: string;
  notice: string;
  sitePolicy: string;
  acceptAll: string;
  declineAll: string;
  save: string;
  withdraw: string;
  yourData: string;
  receipt: string;
  downloading: string;
  failed: string;
  close: string;
  gpc: string;
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
