import { BASE_CSS } from '../shared/style';
import { config } from './config';

const CSS =
  '.p{inset:auto 0;max-height:max(11em,100% - 10em);padding-bottom:0;scroll-padding-bottom:5em;overflow-wrap:anywhere}' +
  '[data-p^=bottom]{bottom:max(.75em,env(safe-area-inset-bottom))}' +
  '[data-p^=top]{top:.75em}' +
  '[data-p=center]{inset:0;height:fit-content}' +
  '.p[data-p*="-"]{max-width:27em}' +
  '[data-p$=left]{left:.75em;right:auto}' +
  '[data-p$=right]{right:.75em;left:auto}' +
  'li{margin:.3em 0;list-style:none}' +
  '.x{position:sticky;bottom:0;display:flex;flex-wrap:wrap;gap:.5em;padding:.75em 0;background:var(--b)}' +
  '.x button{flex:1 0 6em}' +
  '.m{flex-basis:100%}' +
  '.m:empty{position:absolute}' +
  '[aria-busy] .x{opacity:.6}' +
  '.h{display:flex;gap:0 1em;justify-content:space-between;align-items:center}' +
  '.p .h{flex-wrap:wrap}' +
  '.w{padding:10px;border-radius:50%}' +
  '.w::before{content:"";display:block;border:12px solid;clip-path:path("M12 0 24 4q0 14-12 20Q0 18 0 4z")}' +
  '.s{position:fixed;clip-path:inset(50%)}' +
  // With four purposes or more, a phone shows the text of the gravest and only the titles of the others.
  '@media(max-width:30em){' +
  '.a{font-size:.875em;line-height:1.35}' +
  '.p{padding:.4em .75em 0}' +
  '.x{gap:.4em;padding:.5em 0}' +
  '.x button{flex-basis:5em;padding:.5em 0}' +
  '.n li+li{display:inline}' +
  '.n li+li+li::before{content:" · "}' +
  '.n li+li span{display:none}' +
  '}';

/** The style sheet, followed by the site owner's rules. */
export const css = (): string =>
  BASE_CSS + CSS + config.css.replace('$', () => getComputedStyle(document.body).fontFamily);
