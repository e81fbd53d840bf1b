import type { Appearance, Palette } from '../shared/config';
import { BASE_CSS } from '../shared/style';

const CSS = `.p{left:0;right:0;max-height:max(50vh,11em)}
[data-p^=bottom]{bottom:max(.75em,env(safe-area-inset-bottom))}
[data-p^=top]{top:.75em}
[data-p=center]{top:0;bottom:0;height:fit-content}
.p[data-p*="-"]{max-width:27em}
[data-p$=left]{left:.75em;right:auto}
[data-p$=right]{right:.75em;left:auto}
.p,dialog{padding-bottom:0;scroll-padding:1em 0 5em;overflow-wrap:anywhere}
dialog{inset:0;max-height:calc(100% - 1.5em)}
dialog::backdrop{background:#000a}
li{margin-top:.3em;list-style:none}
.n a{display:inline-block;min-height:24px;margin-inline-end:1em}
:empty{margin:0}
.x{position:sticky;bottom:0;display:grid;grid-template-columns:repeat(3,1fr);gap:.5em;padding:1em 0;background:linear-gradient(#0000,var(--b) 1em)}
.y{grid-template-columns:1fr 1fr}
[aria-busy] .x{opacity:.6}
.h,label{display:flex;gap:1em;justify-content:space-between;align-items:center}
label{padding:.75em 0;border-bottom:1px solid var(--k)}
label span{display:block}
input{flex:none;appearance:none;width:46px;height:28px;border:2px solid;border-radius:14px;padding:2px}
input::before{content:"";display:block;width:0;border:10px solid;border-radius:14px}
input:checked{color:var(--l);background:var(--l)}
input:checked::before{margin-inline-start:18px;color:var(--b)}
.w{padding:10px;border-radius:50%;background:var(--b);color:var(--f)}
.w::before{content:"";display:block;height:9px;border:2px solid;border-left-width:10px;border-radius:14px}
.s{inset:auto 0 1em;width:fit-content;background:var(--f);color:var(--b)}
.s:empty{opacity:0}
@media(max-width:26em){.x{font-size:.9em;gap:.3em}.x button{padding:.5em 0}}
@media(forced-colors:active){.x{background:Canvas}}
`;

const VARIABLES: { [name in keyof Palette]: string } = { background: 'b', text: 'f', button: 'k', button_text: 't', link: 'l' };

const palette = (colors: Palette = {}): string =>
  (Object.keys(colors) as (keyof Palette)[]).map((name) => `--${VARIABLES[name]}:${colors[name]};`).join('');

/** The style sheet with the site owner's wishes after ours. */
export const css = ({ colors = {}, radius, font }: Appearance): string => {
  const family = font === 'inherit' ? getComputedStyle(document.body).fontFamily : font;
  return `${BASE_CSS}${CSS}.a{${palette(colors.light)}${radius === undefined ? '' : `--r:${radius}px;`}${
    family ? `font-family:${family}` : ''
  }}@media(prefers-color-scheme:dark){.a{${palette(colors.dark)}}}`;
};
