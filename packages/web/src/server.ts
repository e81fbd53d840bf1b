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
  /** The accepted purposes; empty for a refusal. */
  purposes: string[];
  policyHash: string;
  visitor: string;
  /** Null until the service has recorded a refusal. */
  receipt: string | null;
}

const USUAL_DAYS = 182;
const DAY_MS = 86_400_000;
/** Tolerance for a visitor's clock that is ahead. */
const SKEW_MS = 300_000;
const SHARED = new RegExp(
  String.raw`^ *assent=(1\.([\w-]+)\.(accepted|declined|withdrawn)\.([1-9]\d{0,15})\.([\w~]*)\.` +
    String.raw`([0-9a-f]{64})\.([\w-]{1,128})\.([\w-]*)\.\w+)$`,
);

/** A choice, and the value of the cookie that contains it. */
interface Found {
  choice: SharedChoice;
  value: string;
}

const parse = (cookie: string, pixel: string): Found | null => {
  const parts = SHARED.exec(cookie);
  if (!parts || parts[2] !== pixel) return null;
  const state = parts[3] as SharedChoice['state'];
  const receipt = parts[8] || null;
  // The tag shares an acceptance only after it was recorded.
  if (state === 'accepted' && !receipt) return null;
  const purposes = state === 'accepted' && parts[5] ? parts[5].split('~') : [];
  const choice = { state, time: Number(parts[4]), purposes, policyHash: parts[6]!, visitor: parts[7]!, receipt };
  return { choice, value: parts[1]! };
};

const isLater = (one: SharedChoice, other: SharedChoice): boolean =>
  one.time > other.time || (one.time === other.time && one.state !== 'accepted' && other.state === 'accepted');

/** For how many milliseconds a choice is still valid. */
const remaining = ({ time }: SharedChoice, days: number): number => time + days * DAY_MS - Date.now();

const findShared = (request: AnyRequest, pixel: string, days: number): Found | null => {
  let last: Found | null = null;
  // A request can contain several cookies of one name.
  for (const cookie of (headerOf(request, 'cookie') ?? '').split(';')) {
    const next = parse(cookie, pixel);
    if (!next || !(remaining(next.choice, days) > 0 && next.choice.time < Date.now() + SKEW_MS)) continue;
    if (!last || !isLater(last.choice, next.choice)) last = next;
  }
  return last;
};

/**
 * The choice that the request's cookies contain for a pixel; null if there is none. Every page of the site can write the
 * cookie: a refusal may be believed, an acceptance only after `permits` or `check`.
 *
 * `days` is `consent_days` of the configuration. An older choice is ignored, and one that is more than five minutes in the
 * future.
 */
export const sharedChoice = (request: AnyRequest, pixel: string, days = USUAL_DAYS): SharedChoice | null =>
  findShared(request, pixel, days)?.choice ?? null;

/**
 * The value of a header `Set-Cookie` that writes the request's choice again, for as many seconds as it is still valid;
 * null if there is none to write. It is optional, and only matters for Safari, which keeps cookies that scripts have
 * written for at most seven days. Send it with pages, and let no shared cache store them: the cookie names the visitor.
 *
 * `host` is the host of the pixel, and `days` is `consent_days` of the configuration. Throws a `TypeError` if `host` is
 * not the name of a host.
 */
export const renewedCookie = (request: AnyRequest, pixel: string, host: string, days = USUAL_DAYS): string | null => {
  if (!/^[\w-]+(\.[\w-]+)*$/.test(host)) throw new TypeError('the host must be a name such as shop.example');
  const found = findShared(request, pixel, days);
  if (!found) return null;
  const seconds = Math.floor(remaining(found.choice, days) / 1000);
  // A life of 0 seconds would delete the cookie.
  if (seconds < 1) return null;
  return `assent=${found.value}; Max-Age=${seconds}; Path=/; Domain=${host}; Secure; SameSite=Lax`;
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
