import type { Purpose } from './consent.js';

export type { Purpose } from './consent.js';

/** A request of the Fetch API or of Node. */
export interface AnyRequest {
  headers: Headers | Record<string, string | string[] | undefined>;
}

/** The answer to a check. */
export interface Check {
  permitted: boolean;
  reason: 'no_consent_record' | 'consent_off' | 'declined_or_withdrawn' | 'policy_version_stale' | 'purpose_not_granted' | 'ok';
  receipt_id: string | null;
  purposes: string[] | null;
  recorded_at: string | null;
  expires_at: string | null;
}

export interface ServerOptions {
  /** The public address of the service. */
  service: string;
  /** The id of the pixel. */
  pixel: string;
  /** Finds the visitor's id in a request; by default it is the header `Assent-Visitor`, as `visitorHeaders()` sets it. */
  visitor?: (request: AnyRequest) => string | null | undefined;
  /** For how many milliseconds a permission is used again. After a withdrawal it can be used for this long. */
  maxAge?: number;
  /** After how many milliseconds without an answer nothing is permitted. */
  timeout?: number;
}

const MAX_CACHED = 10_000;

const headerOf = ({ headers }: AnyRequest, name: string): string | null => {
  if (typeof (headers as Headers).get === 'function') return (headers as Headers).get(name);
  const value = (headers as Record<string, string | string[] | undefined>)[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
};

/** The choice in the cookie of a site whose subdomains share one choice. */
export interface SharedChoice {
  state: 'accepted' | 'declined' | 'withdrawn';
  /** Milliseconds since 1970, by the visitor's clock. */
  time: number;
  purposes: string[];
  policyHash: string;
  visitor: string;
  /** Null until the service has recorded a refusal. */
  receipt: string | null;
}

const SHARED = /^1\.([\w-]+)\.(accepted|declined|withdrawn)\.(\d+)\.([\w~]*)\.([0-9a-f]{64})\.([\w-]{1,128})\.([\w-]*)\.\w+$/;

/**
 * The choice that the request's cookies contain for a pixel; null if there is none. Every page of the site can write the
 * cookie: a refusal may be believed, an acceptance only after `permits` or `check`.
 */
export const sharedChoice = (request: AnyRequest, pixel: string): SharedChoice | null => {
  let last: SharedChoice | null = null;
  // A request can contain several cookies of one name.
  for (const cookie of (headerOf(request, 'cookie') ?? '').split(/; */)) {
    const [name, value = ''] = cookie.split('=');
    const parts = name === 'assent' && SHARED.exec(value);
    if (!parts || parts[1] !== pixel) continue;
    const state = parts[2] as SharedChoice['state'];
    const time = Number(parts[3]);
    if (last && (time < last.time || (time === last.time && state === 'accepted'))) continue;
    const purposes = parts[4] ? parts[4].split('~') : [];
    last = { state, time, purposes, policyHash: parts[5]!, visitor: parts[6]!, receipt: parts[7] || null };
  }
  return last;
};

export interface ConsentServer {
  /** Whether a purpose is permitted for the visitor of a request. Any failure means that it is not. */
  permits(request: AnyRequest, purpose: Purpose): Promise<boolean>;
  /** Asks the service about a visitor. Rejects if it does not answer in time, or with an error. */
  check(visitor: string, purpose: Purpose): Promise<Check>;
}

/** Checks of one pixel. Only permissions are cached, so that a new acceptance takes effect at once. */
export const createConsentServer = (options: ServerOptions): ConsentServer => {
  const { service, pixel, visitor = (request) => headerOf(request, 'assent-visitor'), maxAge = 5_000, timeout = 2_000 } = options;
  /** The end of each permission, in milliseconds since 1970. */
  const permissions = new Map<string, number>();

  const check = async (id: string, purpose: Purpose): Promise<Check> => {
    const query = new URLSearchParams({ pixel_id: pixel, visitor_id: id, required_purpose: purpose });
    const address = `${service.replace(/\/+$/, '')}/v1/consent/check?${query}`;
    const response = await fetch(address, { signal: AbortSignal.timeout(timeout), cache: 'no-store' });
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    return (await response.json()) as Check;
  };

  const permits = async (request: AnyRequest, purpose: Purpose): Promise<boolean> => {
    try {
      const id = visitor(request);
      if (!id || !purpose) return false;
      const key = `${purpose} ${id}`;
      if ((permissions.get(key) ?? 0) > Date.now()) return true;
      permissions.delete(key);
      // A withdrawal may be recorded while the answer is under way, so the age of a permission counts from the question.
      const asked = Date.now();
      const { permitted, expires_at } = await check(id, purpose);
      if (permitted !== true) return false;
      if (permissions.size >= MAX_CACHED) permissions.delete(permissions.keys().next().value!);
      permissions.set(key, Math.min(asked + maxAge, expires_at ? Date.parse(expires_at) : Infinity));
      return true;
    } catch {
      return false;
    }
  };

  return { permits, check };
};

/** An event that the service has posted. */
export interface WebhookEvent {
  type: string;
  /** The time of the event, RFC 3339. */
  timestamp: string;
  data: Record<string, unknown>;
}

/** The webhook was not sent by the service, was changed, or is too old. */
export class WebhookError extends Error {
  override name = 'WebhookError';
}

const TOLERANCE_SECONDS = 300;

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

const keyOf = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', bytesOf(secret.replace(/^whsec_/, '')), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);

/**
 * Returns the event of a webhook that was signed with the secret (`whsec_…`) at most five minutes ago, as defined by Standard
 * Webhooks. `body` is the text as it was received. Rejects with a `WebhookError`.
 */
export const verifyWebhook = async (secret: string, request: AnyRequest, body: string): Promise<WebhookEvent> => {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headerOf(request, `webhook-${name}`));
  if (!id || !timestamp || !signatures) throw new WebhookError('a header is missing');
  const seconds = /^\d+$/.test(timestamp) ? Number(timestamp) : NaN;
  if (!(Math.abs(Date.now() / 1000 - seconds) <= TOLERANCE_SECONDS)) throw new WebhookError('the timestamp is too far from now');
  const key = await keyOf(secret);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const signature of signatures.split(' ')) {
    if (signature.startsWith('v1,') && (await isSigned(key, signature.slice(3), signed))) return JSON.parse(body) as WebhookEvent;
  }
  throw new WebhookError('no signature matches');
};

const isSigned = async (key: CryptoKey, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> => {
  try {
    return await crypto.subtle.verify('HMAC', key, bytesOf(signature), signed);
  } catch {
    return false;
  }
};
