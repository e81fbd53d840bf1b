import { h } from '../shared/dom';

/** The style of the dialog, in addition to that of the consent tag, whose frame contains it. */
const CSS = `dialog{position:fixed;inset:0;margin:auto;width:min(42em,100% - 1.5em);max-height:calc(100% - 1.5em);padding:1em 1em 0;overflow:auto;scroll-padding-bottom:9em;overflow-wrap:anywhere;border:1px solid var(--k);border-radius:var(--r);background:var(--b);color:var(--f);box-shadow:0 8px 40px #0003}
dialog::backdrop{background:#000a}
.h button{border:0;background:none;color:inherit}
.x.y button{flex-basis:35%;padding:.5em}
label{display:flex;gap:0 1em;justify-content:space-between;align-items:center;padding:.75em 0;border-bottom:1px solid var(--k);cursor:pointer}
label span{display:block}
input{flex:none;appearance:none;width:46px;height:28px;border:2px solid;border-radius:14px;padding:2px}
input::before{content:"";display:block;width:0;border:10px solid;border-radius:14px}
input:checked{color:var(--l);background:var(--l)}
input:checked::before{margin-inline-start:18px;color:var(--b)}
@media print{dialog{display:none}}
`;

let styledRoot: ShadowRoot | undefined;

/** Adds the style to a shadow root, once. */
export const addStyle = (root: ShadowRoot): void => {
  if (styledRoot === root) return;
  styledRoot = root;
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  } catch {
    // Safari before 16.4 and Firefox before 101 have no constructed style sheets.
    root.append(h('style', null, CSS));
  }
};
