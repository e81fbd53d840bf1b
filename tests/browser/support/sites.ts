import { createServer, IncomingMessage, Server } from 'node:http';
import { AddressInfo } from 'node:net';

interface Page {
  body: string;
  headers?: Record<string, string>;
}

/**
 * All other servers of the tests in one: the shops (any host, with the pages that tests have added) and the tag delivery
 * network, which serves an identification tag for every pixel and counts how often it was loaded.
 */
export interface Sites {
  port: number;
  stop(): Promise<void>;
}

/** The fake identification tag: it counts its runs, and collects the events that it receives. */
const TAG = `
window.tagLoads = (window.tagLoads || 0) + 1;
window.tagHeard = window.tagHeard || [];
document.currentScript.dataset.assentCookies = 'tag_id tag_*';
document.cookie = 'tag_id=1;path=/';
try { localStorage.setItem('tag_state', '1') } catch {}
addEventListener('assent:track', (e) => tagHeard.push(['track', e.detail.action, e.detail.data]));
addEventListener('assent:change', (e) => tagHeard.push(['change', e.detail.state]));
`;

export const startSites = (): Promise<Sites> => {
  const pages = new Map<string, Page>();
  const loads = new Map<string, number>();
  /** Delayed paths, with the functions that release their requests. */
  const delayed = new Map<string, (() => void)[]>();

  const server: Server = createServer(async (request, response) => {
    const host = (request.headers.host || '').replace(/:\d+$/, '');
    const { pathname } = new URL(request.url || '/', 'http://any');
    const answer = (status: number, body: string, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'Cache-Control': 'no-cache', ...headers }).end(body);
    };
    const tag = pathname.match(/^\/pixels\/([\w-]+)\/p\.js$/);
    if (pathname === '/__delay') {
      delayed.set(await read(request), []);
      return answer(204, '');
    }
    if (pathname === '/__release') {
      const path = await read(request);
      delayed.get(path)?.forEach((release) => release());
      delayed.delete(path);
      return answer(204, '');
    }
    if (pathname === '/__put') {
      const { key, page } = JSON.parse(await read(request)) as { key: string; page: Page };
      pages.set(key, page);
      return answer(204, '');
    }
    if (pathname.startsWith('/__loads/')) return answer(200, String(loads.get(pathname.slice(9)) || 0));
    if (tag) loads.set(tag[1], (loads.get(tag[1]) || 0) + 1);
    const queue = delayed.get(pathname);
    if (queue) await new Promise<void>((release) => queue.push(release));
    if (tag) {
      return answer(200, TAG, { 'Content-Type': 'application/javascript' });
    }
    const page = pages.get(host + pathname);
    if (page) return answer(200, page.body, { 'Content-Type': 'text/html; charset=utf-8', ...page.headers });
    return answer(404, 'no such page');
  });

  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const stop = (): Promise<void> =>
        new Promise((done) => {
          server.closeAllConnections();
          server.close(() => done());
        });
      resolve({ port, stop });
    });
  });
};

const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};
