/** A service that takes longer has failed: the page must not hang on it. */
const PATIENCE_MS = 8000;

/**
 * Asks the service, without cookies. Resolves to the status and the parsed body (null when there is none
 * or it is no JSON); rejects when the network fails or the answer takes too long.
 */
export const ask = async (url: string, body?: object): Promise<{ status: number; json: any }> => {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), PATIENCE_MS);
  try {
    const response = await fetch(url, {
      signal: abort.signal,
      credentials: 'omit',
      // A visitor may leave the page right after the click; the choice should still arrive.
      keepalive: !!body,
      // A string body is sent as text/plain, which needs no preflight.
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json().catch(() => null) };
  } finally {
    clearTimeout(timer);
  }
};
