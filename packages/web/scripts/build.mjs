// Builds dist/ and the package that npm would publish, assent-web.tgz.
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const run = (...command) => execFileSync(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] }).toString();

rmSync('dist', { recursive: true, force: true });
run('node_modules/.bin/tsc');
for (const file of readdirSync('src/svelte')) if (file !== 'store.ts') cpSync(`src/svelte/${file}`, `dist/svelte/${file}`);
const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', '--ignore-scripts'));
renameSync(filename, 'assent-web.tgz');
