/** Calls of a customer: sign up, create a pixel, turn consent on, read the consent log. */

export interface Pixel {
  id: string;
  key: string;
  host: string;
  /** The immediate snippet. */
  immediate: string;
}

export interface Policy {
  snippet: string;
  policy_hash: string;
  policy_version: number;
  policy_url: string;
  purposes: string[];
}

export interface Receipt {
  receipt_id: string;
  visitor_id: string;
  consent_state: string;
  purposes: string[];
  policy_hash: string;
  origin: string;
  receipt: Record<string, unknown>;
  signature: string;
}

const call = async (method: string, url: string, headers: Record<string, string>, body?: unknown): Promise<any> => {
  const response = await fetch(url, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return text.startsWith('{') ? JSON.parse(text) : text;
};

export const createPixel = async (base: string, host: string): Promise<Pixel> => {
  const account = await call('POST', `${base}/v1/accounts`, {}, { email: `owner@${host}`, display_name: host });
  await call('GET', account.verification_url, {});
  const { api_key: key } = await call('POST', `${base}/v1/api-keys?account_id=${account.account_id}`, {
    'x-signup-token': account.signup_token,
  });
  const pixel = await call('POST', `${base}/v1/pixels`, { Authorization: `Bearer ${key}` }, { domain: host });
  return { id: pixel.pixel_id, key, host, immediate: pixel.snippet };
};

export const PLAIN_POLICY = { controller_name: 'Example Shop Ltd', purposes: ['analytics', 'resolution'] };

export const configureConsent = (base: string, pixel: Pixel, policy: object): Promise<Policy> =>
  call('POST', `${base}/v1/pixels/${pixel.id}/consent`, { Authorization: `Bearer ${pixel.key}` }, policy);

/** Returns the receipts, newest first. */
export const readLog = async (base: string, pixel: Pixel): Promise<Receipt[]> =>
  (await call('GET', `${base}/v1/pixels/${pixel.id}/consent`, { Authorization: `Bearer ${pixel.key}` })).events;

export const readStats = (base: string, pixel: Pixel): Promise<any> =>
  call('GET', `${base}/v1/pixels/${pixel.id}/consent/stats`, { Authorization: `Bearer ${pixel.key}` });

export const checkConsent = (base: string, pixel: Pixel, visitor: string, purpose = 'resolution'): Promise<any> =>
  call('GET', `${base}/v1/consent/check?pixel_id=${pixel.id}&visitor_id=${visitor}&required_purpose=${purpose}`, {});

export const verifyReceipt = async (base: string, { receipt, signature }: Receipt): Promise<boolean> =>
  (await call('POST', `${base}/v1/consent/verify`, {}, { receipt, signature })).valid;
