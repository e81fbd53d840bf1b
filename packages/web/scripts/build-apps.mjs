// Installs the applications from their lock files, unpacks assent-web.tgz into them as npm would, and builds them.
// `node scripts/build-apps.mjs [APP...]`
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';

const APPS = ['vite-react', 'vite-vue', 'sveltekit', 'astro', 'next', 'nuxt'];
const root = fileURLToPath(new URL('..', import.meta.url));
const quiet = { NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1', ASTRO_TELEMETRY_DISABLED: '1', NUXT_TELEMETRY_DISABLED: '1', CI: '1' };

const run = (cwd, command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env: { ...process.env, ...quiet }, encoding: 'utf8' });
  if (status === 0) return;
  console.error(`${command} ${args.join(' ')} failed in ${cwd}:\n${stdout}\n${stderr}`);
  process.exit(1);
};

/** Installs what the lock file names, unless that is what is installed. */
const install = (cwd) => {
  const mark = `${cwd}/node_modules/.lock-hash`;
  const hash = createHash('sha256').update(readFileSync(`${cwd}/package-lock.json`)).digest('hex');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) return;
  run(cwd, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
  writeFileSync(mark, hash);
};

const seconds = (since) => ((performance.now() - since) / 1000).toFixed(0);

for (const app of process.argv.length > 2 ? process.argv.slice(2) : APPS) {
  const cwd = `${root}apps/${app}`;
  const started = performance.now();
  install(cwd);
  const installed = seconds(started);
  const target = `${cwd}/node_modules/@assent/web`;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  run(target, 'tar', '--extract', '--gzip', '--strip-components=1', '--file', `${root}assent-web.tgz`);
  // Bundlers cache what they have read of packages.
  for (const cache of ['.vite', '.cache']) rmSync(`${cwd}/node_modules/${cache}`, { recursive: true, force: true });
  const building = performance.now();
  run(cwd, 'npm', 'run', 'build');
  console.log(`  ${app}: installed in ${installed} s, built in ${seconds(building)} s`);
}
