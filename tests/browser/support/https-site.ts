import { request as sendRequest } from 'node:http';
import { createServer } from 'node:https';
import { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';

/** A site with one page, over HTTPS, with a certificate of its own authority. */
export interface HttpsSite {
  port: number;
  /** The authority that a client must trust, PEM. */
  certificate: string;
  /** Sets the line in the head of the page. */
  paste(line: string): void;
  /** Sets the status of every response from now on. */
  setStatus(status: number): void;
  stop(): Promise<void>;
}

export const startHttpsSite = async (host: string): Promise<HttpsSite> => {
  const { authority, cert, key } = await certify(host);
  let head = '';
  let statusCode = 200;
  const server = createServer({ cert, key }, (_request, response) => {
    response.writeHead(statusCode, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' });
    response.end(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Ann’s bread</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">
${head}</head><body><main><h1>Ann’s bread</h1><p>Fresh every morning.</p></main></body></html>`);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const paste = (line: string): void => {
        head = line;
      };
      const setStatus = (status: number): void => {
        statusCode = status;
      };
      const stop = (): Promise<void> =>
        new Promise((done) => {
          server.closeAllConnections();
          server.close(() => done());
        });
      resolve({ port, certificate: authority, paste, setStatus, stop });
    });
  });
};

/** Serves what a server on this machine serves, over HTTPS. */
export const startHttpsFront = async (host: string, target: number): Promise<{ port: number; stop(): Promise<void> }> => {
  const { cert, key } = await certify(host);
  const server = createServer({ cert, key }, (request, response) => {
    const headers = { ...request.headers, 'x-forwarded-proto': 'https' };
    const passed = sendRequest({ host: '127.0.0.1', port: target, method: request.method, path: request.url, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const stop = (): Promise<void> =>
    new Promise((done) => {
      server.closeAllConnections();
      server.close(() => done());
    });
  return { port: (server.address() as AddressInfo).port, stop };
};

/** Creates a certificate for a host, and the authority that issues it. */
const certify = async (host: string): Promise<{ authority: string; cert: string; key: string }> => {
  const common = { keyType: 'ec', algorithm: 'sha256' } as const;
  const authority = await generate([{ name: 'commonName', value: 'Authority of the tests' }], {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const own = await generate([{ name: 'commonName', value: host }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: [{ type: 2, value: host }] },
    ],
  });
  return { authority: authority.cert, cert: own.cert, key: own.private };
};
