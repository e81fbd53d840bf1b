import { guard } from '../shared/guard';

/**
 * Replaces `document.write` for scripts that were started here. The parser has finished, so the browser would empty the
 * page. The written text is inserted after the script instead. A call is attributed to the page only if the stack proves
 * it; all other calls are attributed to a script that was started here.
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
/** The writer of the script that was started last. Calls of unknown origin are attributed to it. */
let last: Writer | undefined;
/** The addresses of the page's own scripts before the first one was started here. */
const scriptAddresses = new Set<string>();
/** The addresses of the document. A single-page app changes its address. */
const documentAddresses = new Set<string>();

/** The number of lines of the longest inline script that was started here. Safari counts them as lines of the document. */
let maxLines = 1;

const withoutFragment = (address: string): string => address.split('#')[0];

/** Creates the writer of a script that is about to start. */
export const createWriter = (script: HTMLScriptElement, trusted: Trusted): Writer => {
  intercept();
  const writer = (last = { text: '', end: script, trusted });
  writers.set(script, writer);
  if (script.src) byAddress.set(withoutFragment(script.src), writer);
  else maxLines = Math.max(maxLines, script.text.split('\n').length);
  return writer;
};

/** Addresses in the text of a stack, with their lines: `https://site/a.js:12:3`, in Firefox also `https://site/ line 12 > eval`. */
const FRAME = /(\w+:\/\/\S+?)(?::(\d+):\d+| line (\d+) >)/g;
/** Names that Firefox and Chromium give to the code of elements that a script has inserted. */
const INJECTED = /injectedScript|(at (async )?|\()<anonymous>:\d/;

/** The writer of the current call; undefined if it is the page's own. */
const currentWriter = (): Writer | undefined => {
  if (running || document.currentScript) return running || writers.get(document.currentScript!);
  const { stack = '' } = new Error();
  const frames = [...stack.matchAll(FRAME)]
    .map(([, address, line, evalLine]) => ({ address: withoutFragment(address), line: line || evalLine }))
    .filter(({ address }) => address !== import.meta.url);
  const known = frames.find(({ address }) => byAddress.has(address));
  if (known) return byAddress.get(known.address);
  // Browsers also report the first line of the document for handlers in attributes that a script has set.
  const isFromPage = ({ address, line }: { address: string; line: string }): boolean =>
    documentAddresses.has(address) ? +line > maxLines : scriptAddresses.has(address);
  return frames.length && frames.every(isFromPage) && !INJECTED.test(stack) ? undefined : last;
};

const collectPageAddresses = (): void => {
  const opened = performance.getEntriesByType('navigation').map(({ name }) => name);
  for (const address of [document.URL, ...opened]) documentAddresses.add(withoutFragment(address));
  for (const { src, type } of Array.from(document.scripts)) if (src && type !== 'text/plain') scriptAddresses.add(withoutFragment(src));
};

let isIntercepted = false;

const intercept = (): void => {
  if (isIntercepted) return;
  isIntercepted = true;
  // A page may have replaced the functions that this uses. Then none of its calls is recognised.
  guard(collectPageAddresses);
  for (const name of ['write', 'writeln', 'open', 'close'] as const) {
    const original = document[name] as (...args: unknown[]) => unknown;
    const replacement = (...args: unknown[]): unknown => {
      // With three arguments `open` opens a window.
      const writer = name === 'open' && args[2] ? undefined : currentWriter();
      if (!writer) {
        // The page replaces itself, and all started scripts with it.
        if (name === 'open' && !args[2]) last = undefined;
        return original.apply(document, args);
      }
      if (name === 'open') return document;
      if (name !== 'close') writer.text += args.join('') + (name === 'writeln' ? '\n' : '');
      // Several calls may write one element in pieces.
      if (!running && !document.currentScript) Promise.resolve(writer).then(flush);
      return undefined;
    };
    Object.assign(document, { [name]: replacement });
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
      const innerWriter = createWriter(script, trusted);
      script.addEventListener('load', () => flush(innerWriter));
      return innerWriter;
    });
    writer.end = fragment.lastChild || end;
    end.after(fragment);
    inner.forEach(flush);
  } catch {
    // The page's Trusted Types forbid it, or the text is not valid markup.
  }
};

const DELAYED = ['setTimeout', 'setInterval', 'requestAnimationFrame', 'requestIdleCallback', 'queueMicrotask'] as const;

/** Returns a task as a function, because timers also accept code as a string. */
const asFunction = (task: unknown): unknown =>
  typeof task === 'function' || task == null ? task : (): unknown => (0, eval)(task as string);

/** Runs code of a script immediately. Timers that the code sets are attributed to the script as well. */
export const runAs = (writer: Writer, run: () => unknown): void => {
  const page = window as unknown as Record<string, (...args: unknown[]) => unknown>;
  const outer = running;
  const restorers = DELAYED.filter((name) => page[name]).map((name) => {
    const original = page[name];
    const replacement = (task: unknown, ...rest: unknown[]): unknown => {
      const code = name.startsWith('set') ? asFunction(task) : task;
      return original.call(window, typeof code === 'function' ? (...args: unknown[]) => runAs(writer, () => code(...args)) : code, ...rest);
    };
    page[name] = replacement;
    return () => page[name] === replacement && (page[name] = original);
  });
  running = writer;
  try {
    run();
  } finally {
    running = outer;
    restorers.forEach((restore) => restore());
    flush(writer);
  }
};
