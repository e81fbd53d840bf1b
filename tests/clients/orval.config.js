// Two clients of orval: functions that call with `fetch`, and Zod schemas that check what is answered.
const input = 'generated/openapi.json';

module.exports = {
  fetch: {
    input,
    output: { target: 'generated/orval/fetch.ts', client: 'fetch', baseUrl: process.env.ASSENT_BASE },
  },
  zod: { input, output: { target: 'generated/orval/zod.ts', client: 'zod' } },
};
