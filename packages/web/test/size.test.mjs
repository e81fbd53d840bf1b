import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { compile } from 'svelte/compiler';

const LIMIT = 1536;
const root = fileURLToPath(new URL('..', import.meta.url));
const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

const svelte = {
  name: 'svelte',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.svelte$/ }, ({ path }) => ({
      contents: compile(readFileSync(path, 'utf8'), { generate: 'client', filename: path }).js.code,
    })),
};

for (const [entry, target] of Object.entries(exports)) {
  if (!target.default || entry === './server') continue;
  test(`${entry} has at most ${LIMIT} bytes as brotli, with everything that it imports except the framework`, async (t) => {
    const { outputFiles } = await build({
      entryPoints: [root + target.default],
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      external: ['react', 'vue', 'svelte', 'svelte/*'],
      plugins: [svelte],
    });
    const size = brotliCompressSync(outputFiles[0].contents).length;
    t.diagnostic(`${entry}: ${size} bytes`);
    assert.ok(size <= LIMIT, `${size} bytes`);
  });
}
