import { h } from './dom';
import { guard } from './guard';

/** A response of the service; `json` is null when the text is not valid JSON. */
export interface Answer {
  status: number;
  text: string;
  json: any;
}

/**
 * Sends a request to the service, without cookies. Rejects when the network fails or the answer takes too long. Where a
 * page has replaced `fetch`, the `fetch` of an empty frame is used: the replacement may add cookies, and then a choice
 * would be recorded but its answer could not be read.
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
  // A visitor may leave the page right after the click; the choice should still arrive. It is sent with `keepalive` only
  // then, because browsers allow few bytes for that, and the page may have used them up.
  const repeat = (): void => void guard(() => body && send(true));
  addEventListener('pagehide', repeat);
  try {
    return await Promise.race([
      send(false),
      // A service that takes longer has failed: the page must not hang on it.
      new Promise<never>((_done, fail) => setTimeout(() => fail(abort.abort()), 8e3)),
    ]);
  } finally {
    removeEventListener('pagehide', repeat);
    if (realm) realm.remove();
  }
};
