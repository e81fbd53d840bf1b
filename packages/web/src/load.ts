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
  /** The id of the pixel, or an alias. */
  pixel: string;
  /** The language of the popup, such as `de`. Without it, the browser decides. */
  lang?: string;
  /** The nonce of the page's content security policy. */
  nonce?: string;
  /** The name of the Google data layer, instead of `dataLayer`. */
  layer?: string;
}

/** The address of the tag's script. */
export const tagAddress = ({ service, pixel, lang }: TagOptions): string =>
  service.replace(/\/+$/, '') + '/px/' + encodeURIComponent(pixel) + '.js' + (lang ? '?lang=' + encodeURIComponent(lang) : '');

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
  const queue: unknown[] = [];
  page.assent ??= Object.assign((...call: unknown[]) => void queue.push(call), { q: queue }) as unknown as Assent;
  const script = document.createElement('script');
  script.async = true;
  script.src = src;
  if (options.nonce) script.nonce = options.nonce;
  if (options.layer) script.dataset.assentLayer = options.layer;
  document.head.prepend(script);
};
