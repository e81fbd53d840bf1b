import { Agent, createServer, IncomingMessage, request as ask, ServerResponse } from 'node:http';
import { AddressInfo } from 'node:net';

/**
 * A proxy in front of the service, as in production. Browsers reach the service only through it, so tests can read
 * what a page has sent and delay a request. Interception in the browser can do neither in Firefox, because WebDriver
 * BiDi does not show request bodies.
 */
export interface Forwarder {
  base: string;
  /** Sets the port of the service. */
  forwardTo(port: number): void;
  stop(): Promise<void>;
}

/** A request of a page, with its complete body. */
export interface Sent {
  method: string;
  path: string;
  body: string;
  /** The status of the response, set once the response was returned. */
  status?: number;
}

/** Selects choices of one pixel that are delayed, or whose responses are dropped. */
export interface Wanted {
  pixel: string;
  consent: string;
  /** Requests are forwarded at once, but the connection is closed instead of returning the response. */
  losesAnswers?: boolean;
}

/** The first matching request, and the events that a test waits for. */
interface Hold {
  wanted: Wanted;
  /** Set once the request has arrived, or the test has ended the delay. */
  isOver: boolean;
  asked: Signal<void>;
  released: Signal<void>;
  answered: Signal<number>;
}

/** A promise, and the function that resolves it. */
interface Signal<T> {
  promise: Promise<T>;
  give(value: T): void;
}

const signal = <T>(): Signal<T> => {
  let give: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => (give = done));
  return { promise, give };
};

/** The forwarder's own paths, for the tests. */
export const OWN = '/__forwarder';

/** Longer bodies are not choices, and are not kept. */
const LONGEST_KEPT = 65_536;

const isWanted = ({ pixel, consent }: Wanted, { path, body }: Sent): boolean => {
  if (path !== '/v1/consent/record') return false;
  try {
    const choice = JSON.parse(body);
    return choice.pixel_id === pixel && choice.consent === consent;
  } catch {
    return false;
  }
};

export const startForwarder = (): Promise<Forwarder> => {
  const agent = new Agent({ keepAlive: true });
  const sent: Sent[] = [];
  const holds: Hold[] = [];
  let target = 0;

  /**
   * Forwards a request, and returns its response unless that is dropped. Resolves to the status, or 0 without a
   * response.
   */
  const pass = (request: IncomingMessage, body: Buffer, response: ServerResponse, isLost = false): Promise<number> =>
    new Promise((done) => {
      const { method, url: path, rawHeaders: headers } = request;
      const fail = (): void => {
        response.destroy();
        done(0);
      };
      const upstream = ask({ host: '127.0.0.1', port: target, method, path, headers, agent });
      upstream.on('response', (answer) => {
        answer.on('error', fail).on('end', () => done(answer.statusCode!));
        if (isLost) {
          answer.on('end', () => response.destroy()).resume();
        } else {
          response.writeHead(answer.statusCode!, answer.rawHeaders);
          answer.pipe(response);
          // Unused responses are drained, so that the connection can be reused.
          response.on('close', () => answer.resume());
        }
      });
      upstream.on('error', fail).end(body);
    });

  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await read(request);
    const seen: Sent = {
      method: request.method!,
      path: request.url!,
      body: body.length > LONGEST_KEPT ? '' : body.toString(),
    };
    sent.push(seen);
    const hold = holds.find(({ isOver, wanted }) => !isOver && isWanted(wanted, seen));
    if (hold?.wanted.losesAnswers) return void (await pass(request, body, response, true));
    if (hold) {
      hold.isOver = true;
      hold.asked.give();
      await hold.released.promise;
    }
    seen.status = await pass(request, body, response);
    hold?.answered.give(seen.status);
  };

  /** Handles requests of the tests. */
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url!, 'http://any');
    const answer = (value: unknown): unknown => response.end(JSON.stringify(value));
    const hold = holds[Number(searchParams.get('hold'))];
    switch (pathname.slice(OWN.length)) {
      case '/sent': {
        const text = searchParams.get('text')!.toLowerCase();
        return void answer(sent.filter(({ path, body }) => `${decoded(path)} ${decoded(body)}`.toLowerCase().includes(text)));
      }
      case '/hold': {
        const wanted = JSON.parse((await read(request)).toString()) as Wanted;
        holds.push({ wanted, isOver: false, asked: signal(), released: signal(), answered: signal() });
        return void answer(holds.length - 1);
      }
      case '/asked':
        await hold.asked.promise;
        return void answer(true);
      case '/release':
        hold.released.give();
        return void answer(await hold.answered.promise);
      case '/end':
        hold.isOver = true;
        return void answer(true);
      default:
        response.writeHead(404).end();
    }
  };

  const server = createServer((request, response) => {
    // The client may have closed its connection.
    response.on('error', () => {});
    const answered = request.url!.startsWith(OWN) ? serve(request, response) : forward(request, response);
    answered.catch(() => response.destroy());
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      resolve({
        base: `http://localhost:${port}`,
        forwardTo: (next) => {
          target = next;
        },
        stop: () =>
          new Promise((done) => {
            agent.destroy();
            server.closeAllConnections();
            server.close(() => done());
          }),
      });
    });
  });
};

/** Decodes form fields and addresses. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};

const read = async (request: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
};
