// Derived from scripts-src/consent-tag/api.ts by scripts/tag-types.mjs.

/** The value of `assent.get()`. */
export interface Snapshot {
  pixel: string;
  /** null: the visitor has not chosen yet. */
  state: 'accepted' | 'declined' | 'withdrawn' | null;
  purposes: string[];
  gpc: boolean;
  hash: string;
  version: number;
  visitor: string | null;
  receipt: string | null;
}

export interface Methods {
  get: () => Snapshot;
  on: (event: "change", listener: (now: Snapshot) => void) => () => void;
  open: () => void;
  accept: (purposes?: string[]) => Promise<boolean>;
  decline: () => Promise<boolean>;
  withdraw: () => Promise<boolean>;
  track: (action: unknown, data: unknown) => void;
}

/** The type of `window.assent`: its methods, and the same as a call, which is queued until the tag has loaded. */
export type Assent = Methods & (<Name extends keyof Methods>(name: Name, ...args: Parameters<Methods[Name]>) => unknown);
