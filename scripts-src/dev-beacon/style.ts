import { BASE_CSS } from '../shared/style';

export const CSS = `${BASE_CSS}.p{inset:.75em .75em auto auto;max-width:26em;max-height:60vh;font-size:.85em}
.x{display:flex;justify-content:space-between;align-items:center}
dl{display:grid;grid-template-columns:auto 1fr;gap:.25em 1em;margin-top:.5em}
dd{font-weight:600;overflow-wrap:anywhere}
`;
