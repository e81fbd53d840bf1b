import { ChildProcess, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { freePort } from './ports';

/** The log key of the public log. */
export const LOG_KEY = '2b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfe';

export interface Service {
  base: string;
  port: number;
  stop(): Promise<void>;
}

/** The folder with the templates and `Rocket.toml`. */
const ROOT = resolve(__dirname, '../../..');

export const binary = (): string => resolve(process.env.ASSENT_BIN || join(ROOT, 'target/debug/assent'));

interface Settings {
  databaseUrl: string;
  cdnBase: string;
  /** The address that browsers use, if it is that of a proxy. */
  publicBase?: string;
  /** Additional settings of the service. */
  more?: Record<string, string>;
}

/** Starts the real service on a free port and waits until it is healthy. */
export const startService = async (settings: Settings): Promise<Service> => {
  const port = await freePort();
  const base = `http://localhost:${port}`;
  const log: string[] = [];
  const child = spawn(binary(), ['serve'], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: settings.databaseUrl,
      ROCKET_ADDRESS: '127.0.0.1',
      ROCKET_PORT: String(port),
      BASE_URL: settings.publicBase ?? base,
      RECEIPT_SECRETS: 'browser-tests-only-0123456789abcdef0123456789abcdef',
      RATE_LIMITS: 'off',
      TAG_CDN_BASE: settings.cdnBase,
      ...settings.more,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => log.push(data.toString()));

  const stop = (): Promise<void> => end(child);
  const deadline = Date.now() + 60_000;
  while (!(await isHealthy(base))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`the service did not start:\n${log.join('').slice(-4000)}`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return { base, port, stop };
};

const isHealthy = (base: string): Promise<boolean> =>
  fetch(`${base}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

const end = (child: ChildProcess): Promise<void> =>
  new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    const last = setTimeout(() => child.kill('SIGKILL'), 8_000);
    child.once('exit', () => {
      clearTimeout(last);
      done();
    });
    child.kill('SIGTERM');
  });
