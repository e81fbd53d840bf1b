import { emit } from './events';

type Track = [action: unknown, data: unknown];

/** What happens to `assent('track', …)`: kept until the identification tag is there, handed over, or dropped. */
type Mode = 'wait' | 'pass' | 'drop';

/** A page that tracks in a loop must not fill the memory of a visitor who has not answered. */
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
  // In `drop` mode `track` lets each of them go.
  for (const call of queued.splice(0)) track(...call);
};
