/** Declarations of what the consent tag adds to a page: `window.assent`, its queue, its event and its attributes. */

declare namespace Assent {
  /** A purpose that a visitor can permit. */
  type Purpose =
    | 'analytics'
    | 'resolution'
    | 'newsletter'
    | 'email_sharing'
    | 'phone_sharing'
    | 'partner_email'
    | 'partner_calls'
    | 'partner_sms';

  /** The choice of this page's visitor. */
  interface Snapshot {
    pixel: string;
    /** Null until the visitor has chosen. Without a choice, `declined` under Global Privacy Control. */
    state: 'accepted' | 'declined' | 'withdrawn' | null;
    /** The permitted purposes. Empty unless `state` is `accepted`. */
    purposes: Purpose[];
    /** Whether the browser sends Global Privacy Control. */
    gpc: boolean;
    /** The hash of the policy in force. */
    hash: string;
    version: number;
    /** The visitor id. Null until the visitor has chosen. */
    visitor: string | null;
    /** The receipt id of the choice. */
    receipt: string | null;
  }

  type Listener = (now: Snapshot) => void;
  type Unsubscribe = () => void;

  /** The calls that work before the tag has loaded. `on` returns a function that removes the listener in either case. */
  interface Call {
    (name: 'on', change: 'change', listener: Listener): Unsubscribe;
    (name: 'track', action: string, data?: unknown): void;
    (name: 'open'): void;
    (name: 'accept', purposes?: Purpose[]): void;
    (name: 'decline' | 'withdraw'): void;
  }

  /** `window.assent` before the tag has loaded. */
  interface Queue extends Call {
    q?: ArrayLike<unknown>[];
  }

  /** `window.assent` once the tag has loaded. */
  interface Api extends Call {
    get(): Snapshot;
    /** Calls the listener after every change of state or purposes. */
    on(change: 'change', listener: Listener): Unsubscribe;
    /** Opens the choice again. */
    open(): void;
    /** Accepts the given purposes, or all. Resolves to whether the acceptance is in force. */
    accept(purposes?: Purpose[]): Promise<boolean>;
    decline(): Promise<boolean>;
    withdraw(): Promise<boolean>;
    /** Passes an event to the identification tag, if it is permitted. */
    track(action: string, data?: unknown): void;
  }

  /** A value of `data-assent-signals`; several are separated by spaces. */
  type Signal = 'google' | 'uet' | 'clarity' | 'meta' | 'shopify' | 'wordpress';

  /** Attributes of the tag's script element. */
  interface TagAttributes {
    /** The name of the Google data layer; `dataLayer` without it. */
    'data-assent-layer'?: string;
    'data-assent-signals'?: Signal | (string & {});
    /** `name=purpose` pairs, separated by spaces. May be empty. */
    'data-assent-compat'?: string;
    /** The name under which the other tool stored the answer, if it is not the usual one. */
    'data-assent-compat-cookie'?: string;
  }

  /** Attributes of a gated script with `type="text/plain"`. */
  interface ScriptAttributes {
    /** The purposes that it needs, separated by spaces. */
    'data-assent': Purpose | (string & {});
    'data-assent-type'?: 'module' | (string & {});
    /** The cookies and storage entries that it writes, separated by spaces. */
    'data-assent-cookies'?: string;
  }

  /** Attributes of a gated frame. */
  interface FrameAttributes {
    /** The purposes that it needs, separated by spaces. */
    'data-assent': Purpose | (string & {});
    /** The address that is loaded after consent. */
    'data-src': string;
    /** Leaves the frame as the page made it. */
    'data-assent-placeholder'?: 'none';
  }

  /** An attribute of any element that opens the choice again. */
  interface OpenAttributes {
    'data-assent-open'?: '' | boolean;
  }
}

interface Window {
  assent: Assent.Api;
}

/** The API, or the queue before the tag has loaded, in which `get` is undefined. */
declare const assent: Assent.Api;

interface DocumentEventMap {
  /** A change of state or purposes. It bubbles to the window. */
  'assent:change': CustomEvent<Assent.Snapshot>;
}

interface WindowEventMap {
  'assent:change': CustomEvent<Assent.Snapshot>;
}
