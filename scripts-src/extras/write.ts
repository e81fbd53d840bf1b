/**
 * Emulates `document.write` for scripts that were started here. They were written for the parser, which has finished,
 * so the browser would replace the whole page. Their output is inserted after them instead. Calls by other scripts of
 * the page are unaffected.
 */

type Trusted = (text: string, create?: string) => string;

interface Writer {
  /** Text that was written but not inserted yet. */
  text: string;
  /** The node after which the next output is inserted. */
  end: ChildNode;
  trusted: Trusted;
}

const writers = new WeakMap<Element, Writer>();
/** Writers by script address, to attribute later calls from event handlers. */
const byAddress = new Map<string, Writer>();
/** The writer whose code is running, if known. */
let running: Writer | undefined;

/** The writer of a script that is about to start. */
export const writerOf = (script: HTMLScriptElement, trusted: Trusted): Writer => {
  intercept();
  const writer = { text: '', end: script, trusted };
  writers.set(script, writer);
  if (script.src) byAddress.set(script.src, writer);
  return writer;
};

const current = (): Writer | undefined => {
  if (running || document.currentScript) return running || writers.get(document.currentScript!);
  const { stack } = new Error();
  return [...byAddress].find(([address]) => stack?.includes(address))?.[1];
};

let isIntercepted = false;

const intercept = (): void => {
  if (isIntercepted) return;
  isIntercepted = true;
  for (const name of ['write', 'writeln', 'open', 'close'] as const) {
    const original = document[name] as (...args: unknown[]) => unknown;
    const instead = (...args: unknown[]): unknown => {
      const writer = current();
      // With three arguments `open` opens a window.
      if (!writer || (name === 'open' && args[2])) return original.apply(document, args);
      if (name === 'open') return document;
      if (name !== 'close') writer.text += args.join('') + (name === 'writeln' ? '\n' : '');
      if (!running && !document.currentScript) flush(writer);
      return undefined;
    };
    Object.assign(document, { [name]: instead });
  }
};

/** Inserts the written text into the page. Scripts in it run, as they would have with the parser. */
export const flush = (writer: Writer): void => {
  const { text, end, trusted } = writer;
  writer.text = '';
  if (!text || !end.isConnected) return;
  try {
    const range = document.createRange();
    range.selectNodeContents(document.body);
    const fragment = range.createContextualFragment(trusted(text, 'createHTML'));
    const inner = Array.from(fragment.querySelectorAll('script'), (script) => {
      const its = writerOf(script, trusted);
      script.addEventListener('load', () => flush(its));
      return its;
    });
    writer.end = fragment.lastChild || end;
    end.after(fragment);
    inner.forEach(flush);
  } catch {
    // The page's Trusted Types forbid it, or the text is not valid markup.
  }
};

const DELAYED = ['setTimeout', 'setInterval', 'requestAnimationFrame'] as const;

/** Runs code of a script immediately. Timers that the code sets are attributed to the script as well. */
export const runAs = (writer: Writer, run: () => unknown): void => {
  const page = window as unknown as Record<string, (...args: unknown[]) => unknown>;
  const outer = running;
  const replaced = DELAYED.map((name) => {
    const original = page[name];
    const instead = (task: unknown, ...rest: unknown[]): unknown =>
      original.call(window, typeof task === 'function' ? (...args: unknown[]) => runAs(writer, () => task(...args)) : task, ...rest);
    page[name] = instead;
    return () => page[name] === instead && (page[name] = original);
  });
  running = writer;
  try {
    run();
  } finally {
    running = outer;
    replaced.forEach((back) => back());
    flush(writer);
  }
};
