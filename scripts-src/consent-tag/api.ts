import { emit } from '../shared/events';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { track } from '../shared/track';
import { openPreferences } from './banner';
import { config } from './config';
import { extra } from './modules';
import { choice, decide } from './session';

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
  /** Calls `listener` after every change. Returns a function that unsubscribes it. */
  on(event: 'change', listener: Listener): () => void {
    if (event === 'change') listeners.add(listener);
    else extra('hint', 'call', event);
    return () => listeners.delete(listener);
  },
  open: openPreferences,
  accept: (purposes: string[] = config.purposes): Promise<boolean> => decide('accepted', purposes),
  decline: (): Promise<boolean> => decide('declined', []),
  withdraw: (): Promise<boolean> => decide('withdrawn', []),
  track,
};

/** State and purposes of the last announcement. A page without a choice starts with nothing to announce. */
let last = 'null:';

/** Calls the listeners and dispatches `assent:change`, if state or purposes have changed. */
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

/** An earlier `window.assent`: a stub, the immediate pixel's, or another consent tag's. Only the last has `get`. */
type Earlier = { q?: Iterable<[keyof typeof methods, ...unknown[]]>; get?: unknown };
const page = window as unknown as { assent?: Earlier };

/** Whether another consent tag already runs on this page. */
export const isTaken = (): boolean => !!page.assent?.get;

/**
 * Sets `window.assent` to an object with the methods above that can also be called, `assent('track', action, data)`, so
 * that a page can queue calls before this script has loaded. Returns a function that runs the queued calls.
 */
export const installApi = (): (() => void) => {
  const queue = page.assent?.q || [];
  const call = (name: keyof typeof methods, ...args: unknown[]): unknown => {
    const method = methods[name] as ((...args: unknown[]) => unknown) | undefined;
    return method ? method(...args) : extra('hint', 'call', name);
  };
  page.assent = Object.assign(call, methods);
  return () => {
    for (const args of queue) guard(() => call(...args));
  };
};
