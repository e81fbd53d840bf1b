import { h } from './dom';
import { guard } from './guard';

/** An answer of the service; `json` is null when the text is none. */
export interface Answer {
  status: number;
  text: string;
  json: any;
}

/**
 * Asks the service, without cookies. Rejects when the network fails or the answer takes too long. Where a page has put a
 * `fetch` of its own in the place of the browser's, the one of an empty frame is used: the page's may add cookies, and then
 * a choice would be recorded, but its answer could not be read.
 */
export const ask = async (url: string, body?: object): Promise<Answer> => {
  const realm = !/fetch\(\) {\s*\[n/.test('' + window.fetch) && h('iframe');
  if (realm) document.head.append(realm);
  const abort = new AbortController();
  const send = async (keepalive: boolean): Promise<Answer> => {
    const response = await ((realm && realm.contentWindow) || window).fetch(url, {
      signal: abort.signal,
      credentials: 'omit',
      keepalive,
      // A string body is sent as text/plain, which needs no preflight.
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    let json = null;
    guard(() => (json = JSON.parse(text)));
    return { status: response.status, text, json };
  };
  // A visitor may leave the page right after the click, and the choice should still arrive. Browsers limit the bytes of
  // such requests and reject what exceeds the limit, which the page may have reached.
  const sent = body ? send(true).catch(() => send(false)) : send(false);
  try {
    return await Promise.race([
      sent,
      // A service that takes longer has failed: the page must not hang on it.
      new Promise<never>((_done, fail) => setTimeout(() => fail(abort.abort()), 8e3)),
    ]);
  } finally {
    if (realm) realm.remove();
  }
};
