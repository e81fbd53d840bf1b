import { splitNames } from '../consent-tag/choice';
import type { Session } from '../extras/session';
import type { PlaceholdersConfig } from '../shared/config';
import { h } from '../shared/dom';
import { link } from '../shared/elements';
import { explain } from '../shared/explain';
import { FILLED_FRAMES } from '../shared/gated';
import { gpc } from '../shared/gpc';
import { providerOf } from './provider';
import { css } from './style';

declare const __ASSENT_CONFIG__: PlaceholdersConfig;
const { texts }: PlaceholdersConfig = __ASSENT_CONFIG__;

/** A frame narrower than this, in CSS pixels, is not meant to be seen. */
const MIN_WIDTH = 60;

interface Waiting {
  session: Session;
  showOnce(): void;
  /** The attributes that the placeholder is about. */
  about: string;
  placeholder?: HTMLElement;
}

/** The frames that wait, with the latest arguments from the gate. */
const waiting = new WeakMap<HTMLIFrameElement, Waiting>();

/** The frames that are reported as too narrow. */
const narrow = new WeakSet<HTMLIFrameElement>();

/** The address that a frame shows after consent; undefined if it is not valid. */
const addressOf = (frame: HTMLIFrameElement): URL | undefined => {
  try {
    return new URL(frame.dataset.src!, document.baseURI);
  } catch {
    return undefined;
  }
};

/**
 * Shows the placeholder of a frame in its own empty document. The page's document stays as it is, so nothing moves, focus
 * order and scrolling are those of the frame, and no policy of the page about strings of markup applies.
 */
export const placehold = (frame: HTMLIFrameElement, session: Session, showOnce: () => void): void => {
  // The document is replaced when the page moves the frame, and in Firefox once after it was inserted.
  if (!waiting.has(frame)) {
    frame.addEventListener('load', () => draw(frame));
    if (!frame.contentDocument && frame.hasAttribute('sandbox')) {
      explain(session.config.base, 'videos-and-maps', 'a frame with “sandbox” and without “allow-same-origin” shows no placeholder.', frame);
    }
    if (!addressOf(frame)) explain(session.config.base, 'videos-and-maps', `the address “${frame.dataset.src}” of a frame is not valid. It is never loaded.`, frame);
  }
  const about = [frame.dataset.assent, frame.dataset.src].join(' ');
  const placeholder = waiting.get(frame)?.placeholder;
  // A framework may use the same frame for other content.
  if (about !== waiting.get(frame)?.about) placeholder?.remove();
  waiting.set(frame, { session, showOnce, about, placeholder });
  draw(frame);
};

const draw = (frame: HTMLIFrameElement): void => {
  const inner = frame.contentDocument;
  const { session } = waiting.get(frame)!;
  if (!addressOf(frame)) return;
  const isEmpty = inner?.body && !inner.body.firstChild && !frame.matches(FILLED_FRAMES);
  if (!isEmpty) return;
  if (frame.clientWidth && frame.clientWidth < MIN_WIDTH) {
    if (!narrow.has(frame)) explain(session.config.base, 'videos-and-maps', `a frame narrower than ${MIN_WIDTH} pixels shows no placeholder.`, frame);
    return void narrow.add(frame);
  }
  const { lang, dir, css: siteCss } = session.config;
  Object.assign(inner.documentElement, { lang, dir });
  inner.title = frame.title;
  const font = (): string => getComputedStyle(frame.ownerDocument.body).fontFamily;
  const text = css + siteCss.replace('$', font);
  try {
    // A strict content security policy allows constructed style sheets, but not inline styles.
    const sheet = new (inner.defaultView as Window & typeof globalThis).CSSStyleSheet();
    sheet.replaceSync(text);
    inner.adoptedStyleSheets = [sheet];
  } catch {
    // Safari before 16.4 and Firefox before 101 have no constructed style sheets.
    inner.head.append(h('style', null, text));
  }
  inner.body.className = 'a';
  inner.body.append((waiting.get(frame)!.placeholder = build(frame)));
};

/** A text with the provider's name, which keeps its own direction of writing. */
const withProvider = (text: string, provider: string): Node[] => {
  const [before, after = ''] = text.split('{provider}');
  return [new Text(before), h('bdi', null, provider), new Text(after)];
};

const build = (frame: HTMLIFrameElement): HTMLElement => {
  const { session, showOnce } = waiting.get(frame)!;
  const { base, pixel, lang, shown, purposes } = session.config;
  const needs = splitNames(frame.dataset.assent);
  const provider = providerOf(addressOf(frame)!);
  const titles = shown.filter(([purpose]) => needs.includes(purpose)).map(([, title]) => title);
  const asks = titles[0] && texts.asks.replace('{purposes}', titles.join(', '));
  const message = h('p', { className: 'm', role: 'alert' });
  /** Keeps the focus in the frame when its content replaces its buttons. */
  const refocus = (): void => void setTimeout(() => frame.focus({ preventScroll: true }), 50);

  const onceClicked = (): void => {
    showOnce();
    refocus();
  };
  /** The key whose event this task handles, if any. The click that a key makes belongs to the same task. */
  let key = '';
  const noteKey = (event: KeyboardEvent): void => {
    key = event.key;
    setTimeout(() => (key = ''));
  };
  const allow = async ({ isTrusted, detail }: UIEvent): Promise<void> => {
    if (box.ariaBusy) return;
    box.ariaBusy = 'true';
    message.textContent = '';
    // An acceptance that has expired on this page is not renewed.
    const wanted = session.config.purposes.filter((purpose) => needs.includes(purpose) || session.permitted([purpose]));
    // Assistive technology makes trusted clicks without a pointer, whose `detail` is 0, and without a key.
    const by = isTrusted ? ({ act: detail ? 'pointer' : key ? 'keyboard' : 'assistive' } as const) : undefined;
    const isInForce = await session.decide('accepted', wanted, by);
    box.ariaBusy = null;
    if (isInForce) refocus();
    else message.textContent = texts.failed;
  };
  // Global Privacy Control counts as a decline, and only purposes that the site asks for can be permitted.
  const canAccept = !gpc() && needs.length > 0 && needs.every((purpose) => purposes.includes(purpose));
  const address = `${base}/v1/policy/${pixel}?lang=${lang}`;
  const notice = link(address, texts.notice);
  // A sandboxed frame may not open windows. The page of this script may.
  notice.onclick = (event) => {
    event.preventDefault();
    open(address, '_blank', 'noopener');
  };
  const box = h(
    'div',
    // Enter makes its click after the first of these events, and the space bar after the second.
    { role: 'group', 'aria-label': texts.from.replace('{provider}', provider), onkeypress: noteKey, onkeyup: noteKey },
    h('p', { className: 't' }, ...withProvider(texts.from, provider)),
    h('p', null, ...withProvider(texts.why, provider), ' ', asks, ' ', notice),
    message,
    h('div', { className: 'x' }, h('button', { onclick: onceClicked }, texts.once), canAccept && h('button', { onclick: allow }, texts.always)),
  );
  return box;
};
