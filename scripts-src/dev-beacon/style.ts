import { BASE_CSS } from '../shared/style';

export const CSS = `${BASE_CSS}.p{position:fixed;z-index:2147483647;inset:.75em .75em auto auto;width:min(24em,100% - 1.5em);max-height:60vh;overflow:auto;padding:1em;border:1px solid var(--e);border-radius:var(--r);background:var(--b);color:var(--f);box-shadow:0 12px 40px #0003;font-size:.9em}
.x{display:flex;justify-content:space-between;align-items:center}
.x button{min-height:28px;padding:0 .6em}
dl{display:grid;grid-template-columns:auto 1fr;gap:.25em 1em;margin-top:.5em}
dd{font-weight:600;overflow-wrap:anywhere}
`;
