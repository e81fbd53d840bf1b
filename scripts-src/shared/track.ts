import { emit } from './events';

type Track = [action: unknown, data: unknown];

/** Calls of `assent('track', …)` are queued until the identification tag has loaded, passed on, or dropped. */
type Mode = 'wait' | 'pass' | 'drop';

/** Bounds the memory if a page tracks in a loop before the visitor has chosen. */
const MAX_QUEUED = 100;

let mode: Mode = 'wait';
const queued: Track[] = [];

export const track = (action: unknown, data: unknown): void => {
  if (mode === 'pass') emit('assent:track', { action, data });
  else if (mode === 'wait' && queued.length < MAX_QUEUED) queued.push([action, data]);
};

export const setTracking = (next: Mode): void => {
  mode = next;
  if (mode === 'wait') return;
  // In `drop` mode, `track` discards each call.
  for (const call of queued.splice(0)) track(...call);
};
