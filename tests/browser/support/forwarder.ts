import { Agent, createServer, IncomingMessage, request as sendRequest, ServerResponse } from 'node:http';
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
export interface ChoiceFilter {
  pixel: string;
  consent: string;
  /** Whether to forward requests at once, but close the connection instead of returning the response. */
  dropsResponses?: boolean;
}

/** The first matching request, and the events that a test waits for. */
interface Delay {
  filter: ChoiceFilter;
  /** Set once the request has arrived, or the test has ended the delay. */
  isDone: boolean;
  arrived: Signal<void>;
  released: Signal<void>;
  answered: Signal<number>;
}

/** A promise, and the function that resolves it. */
interface Signal<T> {
  promise: Promise<T>;
  resolve(value: T): void;
}

const signal = <T>(): Signal<T> => {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
};

/** The prefix of the forwarder's own paths, for the tests. */
export const CONTROL_PATH = '/__forwarder';

/** Longer bodies are not choices, and are not stored. */
const MAX_STORED_BODY = 65_536;

const matches = ({ pixel, consent }: ChoiceFilter, { path, body }: Sent): boolean => {
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
  const delays: Delay[] = [];
  let target = 0;

  /**
   * Forwards a request, and returns its response unless that is dropped. Resolves to the status, or 0 without a
   * response.
   */
  const passOn = (request: IncomingMessage, body: Buffer, response: ServerResponse, isDropped = false): Promise<number> =>
    new Promise((done) => {
      const { method, url: path, rawHeaders: headers } = request;
      const fail = (): void => {
        response.destroy();
        done(0);
      };
      const upstream = sendRequest({ host: '127.0.0.1', port: target, method, path, headers, agent });
      upstream.on('response', (answer) => {
        answer.on('error', fail).on('end', () => done(answer.statusCode!));
        if (isDropped) {
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
    const record: Sent = {
      method: request.method!,
      path: request.url!,
      body: body.length > MAX_STORED_BODY ? '' : body.toString(),
    };
    sent.push(record);
    const delay = delays.find(({ isDone, filter }) => !isDone && matches(filter, record));
    if (delay?.filter.dropsResponses) return void (await passOn(request, body, response, true));
    if (delay) {
      delay.isDone = true;
      delay.arrived.resolve();
      await delay.released.promise;
    }
    record.status = await passOn(request, body, response);
    delay?.answered.resolve(record.status);
  };

  /** Handles requests of the tests. */
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url!, 'http://any');
    const answer = (value: unknown): unknown => response.end(JSON.stringify(value));
    const delay = delays[Number(searchParams.get('delay'))];
    switch (pathname.slice(CONTROL_PATH.length)) {
      case '/sent': {
        const text = searchParams.get('text')!.toLowerCase();
        return void answer(sent.filter(({ path, body }) => `${decoded(path)} ${decoded(body)}`.toLowerCase().includes(text)));
      }
      case '/delay': {
        const filter = JSON.parse((await read(request)).toString()) as ChoiceFilter;
        delays.push({ filter, isDone: false, arrived: signal(), released: signal(), answered: signal() });
        return void answer(delays.length - 1);
      }
      case '/arrived':
        await delay.arrived.promise;
        return void answer(true);
      case '/release':
        delay.released.resolve();
        return void answer(await delay.answered.promise);
      case '/end':
        delay.isDone = true;
        return void answer(true);
      default:
        response.writeHead(404).end();
    }
  };

  const server = createServer((request, response) => {
    // The client may have closed its connection.
    response.on('error', () => {});
    const answered = request.url!.startsWith(CONTROL_PATH) ? serve(request, response) : forward(request, response);
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
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};
