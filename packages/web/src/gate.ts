import { listOf, type Purposes } from './consent.js';

export interface ScriptOptions {
  src: string;
  purposes: Purposes;
  /** The names of the cookies and storage entries that the script writes; a final `*` matches any ending. */
  cookies?: readonly string[];
  /** `module` for a module. */
  type?: string;
  nonce?: string;
}

/**
 * Adds a script that the tag starts once its purposes are permitted, and returns its element. A script that is on the page
 * already is not added again, so that it survives navigation in single-page applications.
 */
export const gateScript = ({ src, purposes, cookies, type, nonce }: ScriptOptions): HTMLScriptElement => {
  const address = new URL(src, document.baseURI).href;
  const present = Array.from(document.scripts).find((script) => script.src === address && script.dataset.assent !== undefined);
  if (present) return present;
  const script = document.createElement('script');
  script.type = 'text/plain';
  script.src = src;
  script.dataset.assent = listOf(purposes).join(' ');
  if (cookies) script.dataset.assentCookies = cookies.join(' ');
  if (type) script.dataset.assentType = type;
  if (nonce) script.nonce = nonce;
  document.head.append(script);
  return script;
};

export interface FrameOptions {
  src: string;
  purposes: Purposes;
  /** The name of the content for screen readers. */
  title: string;
}

/** The attributes of a gated frame, for `<iframe>` in any template. */
export const frameAttributes = ({ src, purposes, title }: FrameOptions) => ({
  'data-assent': listOf(purposes).join(' '),
  'data-src': src,
  title,
});
