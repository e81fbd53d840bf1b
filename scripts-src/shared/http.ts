import { h } from './dom';
import { guard } from './guard';

/** A response of the service; `json` is null when the text is not valid JSON. */
export interface Reply {
  status: number;
  text: string;
  json: any;
}

export type Send = typeof send;

/**
 * Sends a request to the service, without cookies. Rejects when the network fails or the response takes too long. Where a
 * page has replaced `fetch`, the `fetch` of an empty frame is used: the replacement may add cookies, and then a choice
 * would be recorded, but the response could not be read. With `once`, a failed request is not repeated: it may have arrived.
 */
export const send = async (url: string, body?: object, once?: boolean): Promise<Reply> => {
  const realm = !/fetch\(\) {\s*\[n/.test('' + window.fetch) && h('iframe');
  if (realm) document.head.append(realm);
  const abort = new AbortController();
  const request = async (keepalive: boolean): Promise<Reply> => {
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
  // A visitor may leave the page right after the click, and the choice should still arrive. Browsers limit the total size
  // of such requests, and reject a request if the page has already reached that limit.
  const reply = request(!!body).catch((error) => {
    if (!body || once) throw error;
    return request(false);
  });
  // A service that takes longer counts as failed, so that the page does not wait for it.
  setTimeout(() => abort.abort(), 8e3);
  try {
    return await reply;
  } finally {
    if (realm) realm.remove();
  }
};
