/**
 * Third-party scripts and frames that wait for a choice:
 * `<script type="text/plain" data-assent="analytics">` (with `src` or inline; `data-assent-type="module"` for modules)
 * and `<iframe data-assent="analytics" data-src="…">`. With several purposes, all of them are needed. A frame without
 * `data-src` is a mistake, which is reported.
 */
export const GATED_SCRIPTS = 'script[type="text/plain"][data-assent],';
export const GATED_FRAMES = 'iframe[data-assent]';
