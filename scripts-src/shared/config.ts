/**
 * The values that replace `__ASSENT_CONFIG__` when the service delivers a script. The service has validated all of them;
 * the scripts trust them.
 */

export interface BaseConfig {
  /** Public address of the service, without a trailing slash. */
  base: string;
}

export interface TagConfig extends BaseConfig {
  /** Canonical pixel id, also if the script was requested by an alias. */
  pixel: string;
  /** Hash of the policy that this script asks about. */
  hash: string;
  version: number;
  /** The number of days for which an acceptance is valid. */
  days: number;
  /** Identifies this build of the script when a choice is recorded. */
  build: string;
  /** The configured purposes, sorted. */
  purposes: string[];
  /** The site's own privacy policy. */
  site?: string;
  lang: string;
  dir: 'ltr' | 'rtl';
  /**
   * The texts of the tag, apart from the purposes; null for unused ones. They are an array, because their names would take
   * up a twentieth of the script.
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
   * The site owner's style rules, which follow the tag's own; `$` stands for the page's font. There is one colour for all
   * buttons, so that accepting cannot be made more prominent than declining.
   */
  css: string;
  /** The position of the banner. */
  position: 'bottom' | 'bottom-left' | 'bottom-right' | 'top' | 'center';
  /** The corner of the small button that opens the preferences; null if the site has a control of its own. */
  corner: 'bottom-left' | 'bottom-right' | 'top-left' | 'top-right' | null;
  /**
   * The hosts whose subdomains share one choice, separated by commas: the site's, and its former one while it moves.
   * After a `-`, they no longer do, and the cookie is removed. A module deletes this field before it starts the tag.
   */
  share?: string;
}

/** The configuration of the reopened popup, which gets everything else from the consent tag. */
export interface PreferencesConfig {
  texts: PreferencesTexts;
}

/** The configuration of the module that asks the service again. */
export interface RecheckConfig {
  /** Asks the visitor to reload the page. */
  reload: string;
}

/** The configuration of the placeholders of gated frames. */
export interface PlaceholdersConfig {
  texts: {
    /** Names the provider. */
    from: string;
    /** Says why the frame waits. */
    why: string;
    /** Names the purposes. */
    asks: string;
    once: string;
    always: string;
    notice: string;
    failed: string;
  };
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
