import { emit } from './events';

type Track = [action: unknown, data: unknown];

/** Calls of `assent('track', …)` are passed on or dropped. Without a mode, they are queued. */
type Mode = 'pass' | 'drop' | false | undefined;

/** Bounds the memory if a page tracks in a loop before the visitor has chosen. */
const MAX_QUEUED = 100;

let mode: Mode;
const queued: Track[] = [];

export const track = (action: unknown, data: unknown): void => {
  if (mode === 'pass') emit('assent:track', { action, data });
  else if (!mode && queued.length < MAX_QUEUED) queued.push([action, data]);
};

export const setTracking = (next: Mode): void => {
  mode = next;
  if (!mode) return;
  // In `drop` mode, `track` discards each call.
  for (const call of queued.splice(0)) track(...call);
};
