import type { Assent } from './tag.js';

declare global {
  interface Window {
    /** The consent tag, or before it has loaded a function that queues calls. */
    assent?: Assent;
  }
}

export interface TagOptions {
  /** The public address of the service, such as `https://consent.example.com`. */
  service: string;
  /** The id of the pixel, its test id (`test_` and the id) on a developer's own machine, or an alias. */
  pixel: string;
  /** The language of the popup, such as `de`. Without it, the browser decides. */
  lang?: string;
  /** The nonce of the page's content security policy. */
  nonce?: string;
  /** The name of the Google data layer, instead of `dataLayer`. */
  layer?: string;
  /** The vendors that receive consent signals besides Google, such as `uet clarity`. */
  signals?: string;
  /** Honours the markup of other consent tools. Names the purposes of their categories (`ads=resolution`), or is empty. */
  compat?: string;
  /** The name under which the other tool stored its answer, if it is not the usual one. */
  compatCookie?: string;
}

/** The address of the tag's script. */
export const tagAddress = ({ service, pixel, lang }: TagOptions): string =>
  service.replace(/\/+$/, '') + '/px/' + encodeURIComponent(pixel) + '.js' + (lang ? '?lang=' + encodeURIComponent(lang) : '');

/** The attributes of the tag's script element, besides its address and nonce. */
export const tagAttributes = ({ layer, signals, compat, compatCookie }: TagOptions): Record<string, string> => {
  const attributes: Record<string, string> = {};
  if (layer) attributes['data-assent-layer'] = layer;
  if (signals) attributes['data-assent-signals'] = signals;
  if (compat !== undefined) attributes['data-assent-compat'] = compat;
  if (compatCookie) attributes['data-assent-compat-cookie'] = compatCookie;
  return attributes;
};

/** Queues the calls of `assent` until the tag has loaded. As there, `on` returns a function that removes the listener. */
const queue = (): Assent => {
  const q: unknown[][] = [];
  const call = (...args: unknown[]): (() => void) => {
    const [name, change, listener] = args;
    let isOn = true;
    q.push(typeof listener === 'function' ? [name, change, (now: unknown) => isOn && listener(now)] : args);
    return () => void (isOn = false);
  };
  return Object.assign(call, { q }) as unknown as Assent;
};

/**
 * Adds the tag to the page, unless the page has one already: any number of calls, also from several bundles, add one
 * script. Does nothing on a server.
 */
export const load = (options: TagOptions): void => {
  if (typeof document === 'undefined') return;
  const page = window;
  const src = tagAddress(options);
  const [address] = src.split('?');
  if (page.assent?.get || Array.from(document.scripts).some((script) => script.src.split('?')[0] === address)) return;
  page.assent ??= queue();
  const script = document.createElement('script');
  script.async = true;
  script.src = src;
  if (options.nonce) script.nonce = options.nonce;
  for (const [name, value] of Object.entries(tagAttributes(options))) script.setAttribute(name, value);
  document.head.prepend(script);
};
