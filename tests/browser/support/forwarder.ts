import { Agent, createServer, IncomingMessage, request as ask, ServerResponse } from 'node:http';
import { AddressInfo } from 'node:net';

/**
 * A proxy before the service, as operators have one. Browsers reach the service through it alone, so tests read here
 * what a page has sent and hold a request back. A browser's own interception cannot do either in Firefox: WebDriver
 * BiDi does not show the bodies of requests.
 */
export interface Forwarder {
  base: string;
  /** Sets the port of the service. */
  forwardTo(port: number): void;
  stop(): Promise<void>;
}

/** A request of a page, with its whole body. */
export interface Sent {
  method: string;
  path: string;
  body: string;
  /** Status of the answer, set once the answer has been sent back. */
  status?: number;
}

/** Selects choices of one pixel that are to be held back, or whose answers are to be lost. */
export interface Wanted {
  pixel: string;
  consent: string;
  /** They are forwarded at once, and the connection is closed in place of the answer. */
  losesAnswers?: boolean;
}

/** The first such request, and the events that a test waits for. */
interface Hold {
  wanted: Wanted;
  /** Set once the request has arrived, or the test has ended the hold. */
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

/** The forwarder's own paths, for the tests' processes. */
export const OWN = '/__forwarder';

/** Bodies that are longer are no choices, and are not kept. */
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

  /** Hands a request on, and its answer back unless that is lost. Gives the answer's status, 0 where there is none. */
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
          // An answer that nobody reads is read to its end, so that the connection can be used again.
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

  /** Answers the tests' processes. */
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
