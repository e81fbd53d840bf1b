import { gated, GATED_FRAMES } from '../shared/gated';
import { guard } from '../shared/guard';
import { trusted } from '../shared/load';
import { config } from './config';
import { extra } from './modules';
import { choice, decide, noteStored, permitted } from './session';

/** Whether the page is marked up for another consent tool, whose markup a module translates before the visitor is asked. */
export const isForeign = document.querySelector('[data-assent-compat]');

/** Whether the page has released elements, which may have to be blocked again, or frames that wait. */
let isUsed: unknown = isForeign;

/**
 * Releases scripts and frames that are permitted now, and blocks those that are no longer permitted. Frames that wait are
 * given a placeholder; scripts that wait need nothing.
 */
export const applyGate = (): unknown => {
  isUsed = isUsed || document.querySelector(choice?.state === 'accepted' ? gated(config.base) : GATED_FRAMES);
  return isUsed && extra('applyGate', { permitted, noteStored, trusted, config, choice, decide });
};

/** Applies the gate to scripts and frames that single-page apps add later. */
export const watchGate = (): void =>
  new MutationObserver(() => void guard(applyGate)).observe(document, { childList: true, subtree: true });
