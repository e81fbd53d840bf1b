/**
 * Third-party scripts and frames that wait for a choice:
 * `<script type="text/plain" data-assent="analytics">` (with `src` or inline; `data-assent-type="module"` for modules)
 * and `<iframe data-assent="analytics" data-src="…">`. With several purposes, all of them are needed. Other elements, and
 * frames without `data-src`, are mistakes, which are reported. The identification tag does not wait.
 */
export const gated = (base: string): string => `[data-assent]:not([src^="${base}/pixels/"])`;
export const GATED_FRAMES = 'iframe[data-assent]';
/** Frames that show something of their own while they wait. */
export const FILLED_FRAMES = '[src]:not([src=""]):not([src="about:blank"]),[srcdoc]';
