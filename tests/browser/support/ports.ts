import { createServer } from 'node:net';

/** Linux chooses the ports of outgoing connections from 32768 up: one of those may be taken before it is used. */
const FIRST = 12_000;
const AFTER_LAST = 32_000;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** Returns a free port of 127.0.0.1 for a program that is about to start. */
export const freePort = async (): Promise<number> => {
  const port = FIRST + Math.floor(Math.random() * (AFTER_LAST - FIRST));
  return (await isFree(port)) ? port : freePort();
};
