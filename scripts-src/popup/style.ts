import { BASE_CSS } from '../shared/style';

export const CSS = `${BASE_CSS}.p{inset:auto .75em max(.75em,env(safe-area-inset-bottom)) auto;max-width:24em;max-height:50vh}
.x{display:grid;grid-template-columns:1fr 1fr;gap:.5em;margin-top:1em}
`;
