import { ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startHttpsFront } from '../support/https-site';
import { freePort } from '../support/ports';

export interface WordPress {
  folder: string;
  port: number;
  /** The same site over https. */
  securePort: number;
  stop(): Promise<void>;
}

const BUILD = resolve(__dirname, '../../../packages/wordpress/build');
const DEBIAN = '/usr/share/wordpress';

/** Debian installs MariaDB's server in a folder that is not in every user's PATH. */
const PATH = `${process.env.PATH}:/usr/sbin`;
/** MariaDB runs as root only if that is requested. */
const asRoot = process.getuid!() === 0 ? ['--user=root'] : [];

const config = (socket: string): string => `<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:${socket}');
define('WP_HOME', 'http://wordpress.example');
define('WP_SITEURL', 'http://wordpress.example');
define('FS_METHOD', 'direct');
define('DISABLE_WP_CRON', true);
define('WP_DEBUG', true);
define('WP_DEBUG_DISPLAY', false);
define('WP_DEBUG_LOG', __DIR__ . '/debug.log');
if (($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? '') === 'https') {
    $_SERVER['HTTPS'] = 'on';
}
$table_prefix = 'wp_';
require_once __DIR__ . '/wp-settings.php';
`;

const stop = (child: ChildProcess): Promise<void> =>
  new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    child.once('exit', () => done());
    child.kill('SIGKILL');
  });

const until = async (condition: () => Promise<boolean> | boolean, name: string): Promise<void> => {
  const deadline = Date.now() + 90_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`${name} did not start`);
    await new Promise((done) => setTimeout(done, 100));
  }
};

/** Installs Debian's WordPress with the plugin into a temporary folder, and serves it with PHP and MariaDB. */
export const startWordPress = async (): Promise<WordPress> => {
  const home = mkdtempSync('/tmp/assent-wordpress-');
  const folder = join(home, 'site');
  const data = join(home, 'data');
  const socket = join(home, 'socket');
  const children: ChildProcess[] = [];
  const fronts: (() => Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    await Promise.all([...fronts.map((end) => end()), ...children.map(stop)]);
    rmSync(home, { recursive: true, force: true });
  };
  try {
    execFileSync('mariadb-install-db', ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db', ...asRoot], { stdio: 'pipe', env: { ...process.env, PATH } });
    children.push(spawn('mariadbd', ['--no-defaults', `--datadir=${data}`, `--socket=${socket}`, `--pid-file=${home}/pid`, '--skip-networking', '--innodb-flush-log-at-trx-commit=0', ...asRoot], { stdio: 'ignore', env: { ...process.env, PATH } }));
    await until(() => existsSync(socket), 'MariaDB');
    execFileSync('mariadb', ['--no-defaults', `--socket=${socket}`, '--user=root', '--execute=CREATE DATABASE wordpress'], { stdio: 'pipe' });
    cpSync(DEBIAN, folder, { recursive: true, dereference: true });
    rmSync(join(folder, 'wp-config.php'), { force: true });
    writeFileSync(join(folder, 'wp-config.php'), config(socket));
    mkdirSync(join(folder, 'wp-content/mu-plugins'), { recursive: true });
    cpSync(join(__dirname, 'provider.php'), join(folder, 'wp-content/mu-plugins/provider.php'));
    execFileSync('php', [join(__dirname, 'install.php'), folder], { stdio: 'pipe' });
    execFileSync(BUILD, [join(folder, 'wp-content/plugins')], { stdio: 'pipe' });
    const port = await freePort();
    children.push(spawn('php', ['-S', `127.0.0.1:${port}`, '-t', folder], { env: { PATH, PHP_CLI_SERVER_WORKERS: '4' }, stdio: 'ignore' }));
    await until(() => fetch(`http://127.0.0.1:${port}/wp-login.php`, { redirect: 'manual' }).then(({ ok }) => ok, () => false), 'PHP');
    const front = await startHttpsFront('wordpress.example', port);
    fronts.push(front.stop);
    return { folder, port, securePort: front.port, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
};
