import { BASE_CSS } from '../shared/style';

export const CSS = `${BASE_CSS}.p{position:fixed;z-index:2147483647;inset:auto .75em max(.75em,env(safe-area-inset-bottom)) auto;width:min(24em,100% - 1.5em);max-height:50vh;overflow:auto;padding:1em;border:1px solid var(--e);border-radius:var(--r);background:var(--b);color:var(--f);box-shadow:0 1px 3px #0002,0 12px 40px #0003;animation:i .3s ease-out}
h2{font-size:1.1em}
p{margin-top:.4em}
.x{display:grid;grid-template-columns:1fr 1fr;gap:.6em;margin-top:.9em}
@keyframes i{from{opacity:0;transform:translateY(8px)}}
@media(prefers-reduced-motion:reduce){*{animation:none!important}}
`;
