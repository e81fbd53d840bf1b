/**
 * The style of a placeholder. The variables are those of the popup, so that the site owner's rules, which follow, apply to
 * both. A box that is too small for its text scrolls, also where the frame itself may not (`scrolling="no"`).
 */
export const css =
  'html{overflow:hidden}' +
  '.a{margin:0;height:100vh;overflow:auto;box-sizing:border-box;display:flex;padding:.75em;color-scheme:light dark;font:.9375em/1.45 system-ui,sans-serif;--b:#fff;--f:#1c2130;--k:#e6eaf5;--t:var(--f);--l:#2f4bc0;--r:12px;background:var(--b);color:var(--f);box-shadow:inset 0 0 0 1px var(--k);overflow-wrap:anywhere;text-align:center}' +
  '@media(prefers-color-scheme:dark){.a{--b:#1b1e27;--f:#eef0f6;--k:#363c4e;--l:#a9bdff}}' +
  'div[role]{margin:auto;max-width:34em}' +
  'p{margin:0 0 .5em}' +
  '.t,.m,button{font-weight:600}' +
  '.m:empty{display:none}' +
  'a{color:var(--l);display:inline-block;min-height:24px}' +
  '.x{display:flex;flex-wrap:wrap;gap:.5em;justify-content:center}' +
  '[aria-busy] .x{opacity:.6}' +
  'button{min-width:44px;min-height:44px;padding:.4em .8em;border:1px solid var(--k);border-radius:var(--r);background:var(--k);color:var(--t);font:inherit;font-weight:600;cursor:pointer}' +
  'button:hover{border-color:var(--t)}' +
  ':focus-visible{outline:3px solid var(--l);outline-offset:2px}' +
  '@media(max-height:11em){.a{font-size:.8125em;padding:.4em}}';
