import { GATED } from '../shared/gated';
import { guard } from '../shared/guard';
import { trusted } from '../shared/load';
import { extra } from './modules';
import { choice, noteStored, permitted } from './session';

/** Whether something was released on this page, which may have to be blocked again. */
let isUsed: unknown;

/** Releases scripts and frames that are permitted now, and blocks those that are no longer permitted. */
export const applyGate = (): void => {
  isUsed = isUsed || (choice?.state === 'accepted' && document.querySelector(GATED));
  if (isUsed) extra('applyGate', { permitted, noteStored, trusted });
};

/** Applies the gate to scripts and frames that single-page apps add later. */
export const watchGate = (): void =>
  new MutationObserver(() => void guard(applyGate)).observe(document, { childList: true, subtree: true });
