/**
 * Shared by everything that shows something. The host and its frame have no box of their own (fixed children
 * only), so nothing on the page can move; `all: initial` keeps the page's styles out and the visitor's font size in.
 * One rule per line, no indentation: this string travels as it is.
 */
export const BASE_CSS = `:host{all:initial!important;display:contents!important}
*{box-sizing:border-box;margin:0;padding:0;font:inherit;color:inherit}
.a{display:contents;color-scheme:light dark;font:.9375em/1.5 system-ui,sans-serif;color:var(--f);--b:#fff;--f:#1c2130;--k:#e9edf6;--t:#1c2540;--l:#2f4bc0;--e:#1c213024;--r:14px}
@media(prefers-color-scheme:dark){.a{--b:#1b1e27;--f:#eef0f6;--k:#343a4b;--t:#f3f5fb;--l:#a9bdff;--e:#ffffff24}}
[hidden]{display:none!important}
b,h2{font-weight:650}
a{color:var(--l);text-underline-offset:.2em}
button{min-height:44px;padding:.5em .75em;border:1px solid transparent;border-radius:calc(var(--r)*.7);background:var(--k);color:var(--t);font-weight:600;line-height:1.2;cursor:pointer;overflow-wrap:anywhere}
button:hover{box-shadow:inset 0 0 0 1.5px}
:focus-visible{outline:3px solid var(--l);outline-offset:2px}
@media print{.a *{display:none}}
`;
