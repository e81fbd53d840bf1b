import { ChildProcess, spawn } from 'node:child_process';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { AddressInfo } from 'node:net';
import { extname, join, resolve } from 'node:path';
import { freePort } from '../support/ports';

export interface App {
  port: number;
  stop(): Promise<void>;
}

/** The command that serves a built application; the others are folders of files. */
const SERVERS: Record<string, string[]> = {
  next: ['node_modules/next/dist/bin/next', 'start'],
  nuxt: ['.output/server/index.mjs'],
  sveltekit: ['build/index.js'],
};

export const APPS = ['vite-react', 'vite-vue', 'sveltekit', 'astro', 'next', 'nuxt'];

const APPS_FOLDER = resolve(__dirname, '../../../packages/web/apps');
const TYPES: Record<string, string> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' };

export const startApp = (name: string): Promise<App> => {
  const folder = join(APPS_FOLDER, name);
  return SERVERS[name] ? startServer(folder, SERVERS[name]) : serveFiles(join(folder, 'dist'));
};

const startServer = async (cwd: string, command: string[]): Promise<App> => {
  const port = await freePort();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, HOST: '127.0.0.1', HOSTNAME: '127.0.0.1', PORT: String(port), NEXT_TELEMETRY_DISABLED: '1' };
  const log: string[] = [];
  const child = spawn('node', command, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => log.push(data.toString()));
  const deadline = Date.now() + 60_000;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await end(child);
      throw new Error(`${cwd} did not start:\n${log.join('').slice(-4000)}`);
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  return { port, stop: () => end(child) };
};

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/`).then(
    ({ ok }) => ok,
    () => false,
  );

const end = (child: ChildProcess): Promise<void> =>
  new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    child.once('exit', () => done());
    child.kill('SIGKILL');
  });

/** Serves the files of a folder; unknown paths are its `index.html`, as single-page applications need it. */
const serveFiles = (folder: string): Promise<App> => {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://any');
    const candidates = [pathname, join(pathname, 'index.html'), '/index.html'].map((path) => join(folder, path));
    const file = candidates.find((path) => existsSync(path) && statSync(path).isFile());
    if (!file) return void response.writeHead(404).end();
    response.writeHead(200, { 'Content-Type': TYPES[extname(file)] || 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  return new Promise((done) => {
    server.listen(0, '127.0.0.1', () => {
      const stop = (): Promise<void> =>
        new Promise((stopped) => {
          server.closeAllConnections();
          server.close(() => stopped());
        });
      done({ port: (server.address() as AddressInfo).port, stop });
    });
  });
};
