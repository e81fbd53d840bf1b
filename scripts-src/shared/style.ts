/**
 * The style shared by all visible elements. The host has no box, and the frame, in the top layer, has an empty one (all its
 * children are fixed), so the page does not shift. `all: initial` excludes the styles of page and browser, but keeps the
 * visitor's font size. This string is not minified.
 *
 * Variables: b background, f text, k buttons and edges, t text of buttons, l links and active switches, r radius.
 */
export const BASE_CSS =
  ':host{all:initial!important;display:contents!important}' +
  '*{box-sizing:border-box;margin:0;padding:0;font:inherit;color:inherit}' +
  '.a{all:initial;position:fixed;z-index:2147483647;will-change:opacity;color-scheme:light dark;font:.9375em/1.5 system-ui,sans-serif;--b:#fff;--f:#1c2130;--k:#e6eaf5;--t:var(--f);--l:#2f4bc0;--r:12px}' +
  '@media(prefers-color-scheme:dark){.a{--b:#1b1e27;--f:#eef0f6;--k:#363c4e;--l:#a9bdff}}' +
  '.i{opacity:0;pointer-events:none}' +
  '.p,.w{position:fixed;margin:auto;padding:1em;overflow:auto;border:1px solid var(--k);border-radius:var(--r);background:var(--b);color:var(--f);box-shadow:0 8px 40px #0003}' +
  '.p{width:min(42em,100% - 1.5em)}' +
  'p,ul{margin-top:.4em}' +
  'b,h2,button,.m{font-weight:600}' +
  'a{color:var(--l);display:inline-block;min-height:24px}' +
  'button{min-width:44px;min-height:44px;padding:.5em;border:1px solid var(--k);border-radius:var(--r);background:var(--k);color:var(--t);cursor:pointer}' +
  'button:hover{border-color:var(--t)}' +
  ':focus-visible{outline:3px solid var(--l);outline-offset:2px}' +
  '@media print{*{display:none}}';
