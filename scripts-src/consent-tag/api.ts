import { emit } from '../shared/events';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { track } from '../shared/track';
import { openPreferences } from './banner';
import { config } from './config';
import { choice, decide } from './session';

/** What `assent.get()` tells the page. */
export interface Snapshot {
  pixel: string;
  /** null: not answered yet. */
  state: 'accepted' | 'declined' | 'withdrawn' | null;
  purposes: string[];
  gpc: boolean;
  hash: string;
  version: number;
  visitor: string | null;
  receipt: string | null;
}

const get = (): Snapshot => ({
  pixel: config.pixel,
  state: choice?.state || (gpc() ? 'declined' : null),
  purposes: [...(choice?.purposes || [])],
  gpc: gpc(),
  hash: config.hash,
  version: config.version,
  visitor: choice?.visitor || null,
  receipt: choice?.receipt || null,
});

type Listener = (now: Snapshot) => void;
const listeners = new Set<Listener>();

const methods = {
  get,
  /** Calls `listener` on every change; returns a function that ends that. */
  on(_change: 'change', listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  open: openPreferences,
  accept: (purposes: string[] = config.purposes): Promise<boolean> => decide('accepted', purposes),
  decline: (): Promise<boolean> => decide('declined', []),
  withdraw: (): Promise<boolean> => decide('withdrawn', []),
  track,
};

/** What the page knows; a page that has not been answered yet has not changed. */
let last = 'null:';

/** Tells the page and the tag, when something did change. */
export const announceChange = (): void => {
  const now = get();
  const next = now.state + ':' + now.purposes;
  if (next === last) return;
  last = next;
  listeners.forEach((listener) => {
    try {
      listener(get());
    } catch (error) {
      console.error(error);
    }
  });
  emit('assent:change', get());
};

/** What may stand in `window.assent` already: a stub, the immediate pixel's, or another tag's, which alone has `get`. */
type Earlier = { q?: Iterable<[keyof typeof methods, ...unknown[]]>; get?: unknown };
const page = window as unknown as { assent?: Earlier };

/** Whether another consent tag runs this page already. */
export const isTaken = (): boolean => !!page.assent?.get;

/**
 * Puts `window.assent` in place: an object with the methods above that can also be called, `assent('track', action, data)`,
 * so that a page may put calls in a queue before this script is there.
 */
export const installApi = (): (() => void) => {
  const queue = page.assent?.q || [];
  const call = (name: keyof typeof methods, ...args: unknown[]): unknown => {
    return (methods[name] as ((...args: unknown[]) => unknown) | undefined)?.(...args);
  };
  page.assent = Object.assign(call, methods);
  return () => {
    for (const args of queue) guard(() => call(...args));
  };
};
