/**
 * Third-party scripts and frames that wait for a choice:
 * `<script type="text/plain" data-assent="analytics">` (with `src` or inline; `data-assent-type="module"` for modules)
 * and `<iframe data-assent="analytics" data-src="…">`. With several purposes, all of them are needed. Other elements with
 * a type, and frames without `data-src`, are mistakes, which are reported. The identification tag has no type.
 */
export const GATED_SCRIPTS = '[data-assent][type],';
export const GATED_FRAMES = 'iframe[data-assent]';
