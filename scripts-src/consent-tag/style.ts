import type { Appearance, Palette } from '../shared/config';
import { BASE_CSS } from '../shared/style';

const CSS = `.p,dialog{position:fixed;inset:auto;width:min(42em,100% - 1.5em);margin:auto;padding:1.25em 1.25em 0;overflow:auto;overscroll-behavior:contain;scroll-padding:1em 0 5em;border:1px solid var(--e);border-radius:var(--r);background:var(--b);color:var(--f);box-shadow:0 1px 3px #0002,0 12px 40px #0003}
.p,.w,.s{z-index:2147483647}
.p{left:0;right:0;max-height:max(50vh,11em);animation:i .3s ease-out}
[data-p^=bottom]{bottom:max(.75em,env(safe-area-inset-bottom))}
[data-p^=top]{top:.75em}
[data-p=center]{top:0;bottom:0;height:fit-content}
.p[data-p*="-"]{width:min(27em,100% - 1.5em)}
[data-p$=left]{left:.75em;right:auto}
[data-p$=right]{right:.75em;left:auto}
h2{font-size:1.2em;line-height:1.3}
p,ul,label{margin-top:.6em}
ul{padding:0;list-style:none}
li+li{margin-top:.3em}
.n{font-size:.9em}
.n a{display:inline-block;min-height:24px;margin-inline-end:1.2em}
.m{font-weight:600}
:empty{margin:0}
.x{position:sticky;bottom:0;display:grid;grid-template-columns:repeat(3,1fr);gap:.6em;padding:.9em 0 1.25em;background:var(--b)}
.y{grid-template-columns:repeat(2,1fr)}
[aria-busy] .x{opacity:.6}
dialog{inset:0;max-width:34em;max-height:calc(100% - 1.5em)}
dialog::backdrop{background:#0b0f1a99}
.h{display:flex;gap:1em;justify-content:space-between;align-items:center}
.h button{min-width:44px}
label{display:flex;gap:1em;justify-content:space-between;align-items:center;padding:.2em 0 .8em;border-bottom:1px solid var(--e);cursor:pointer}
label span{display:block}
input{flex:none;appearance:none;width:46px;height:28px;border:2px solid;border-radius:28px;padding:2px;cursor:pointer}
input::before{content:"";display:block;width:0;border:10px solid;border-radius:50%;transition:margin .15s}
input:checked{color:var(--l);background:var(--l)}
input:checked::before{margin-inline-start:18px;color:var(--b)}
.w{position:fixed;min-height:0;width:44px;height:44px;padding:0 11px;border:1px solid var(--e);border-radius:50%;background:var(--b);color:var(--f);box-shadow:0 2px 10px #0003}
.w::before{content:"";display:block;height:12px;border:2px solid;border-radius:9px;background:radial-gradient(circle at 5px,currentColor 3px,#0000 3.5px)}
.s{position:fixed;inset:auto 0 1.25em;width:fit-content;margin:auto;padding:.6em 1em;border-radius:var(--r);background:var(--f);color:var(--b)}
.s:empty{padding:0}
@keyframes i{from{opacity:0;transform:translateY(8px)}}
@media(max-width:26em){.p,dialog{padding:1em 1em 0}.x{gap:.4em;padding-bottom:1em}.x button{padding:.4em;font-size:.9em}}
@media(prefers-reduced-motion:reduce){*,::before{animation:none!important;transition:none!important}}
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
