import { send } from '../shared/http';
import type { Ids } from './ids';

export interface Receipt {
  receipt_id: string;
  consent_state: 'accepted' | 'declined' | 'withdrawn';
  purposes: string[];
  recorded_at: string;
}

export interface Choice {
  receipt: Receipt;
  /** The language that the popup reported; null if it is unknown. */
  shown: { language: string } | null;
  /** The notice of the choice, in the language in which it was shown if that is known. */
  policy_url: string;
}

export interface History {
  /** The site's host; null if there are no choices. */
  site: string | null;
  reason: string;
  expired: boolean;
  expires_at: string | null;
  /** Newest first. */
  receipts: Choice[];
  has_more: boolean;
  next_before: string | null;
}

/** A request of the visitor that the site erases their data. */
export interface ErasureRequest {
  requested_at: string;
  due_at: string;
  status: 'open' | 'completed' | 'refused';
  closed_at: string | null;
  /** Why the site refused it. */
  reason: string | null;
}

/** The data protection authority to which the visitor can complain. */
export interface Authority {
  /** In its own language. */
  name: string;
  url: string;
}

export interface Requests {
  /** Newest first. */
  requests: ErasureRequest[];
  /** Null if it is unknown, or if no request was refused. */
  authority: Authority | null;
}

const read = async <T>(path: string, body: object): Promise<T> => {
  const { status, json } = await send(path, body);
  if (status !== 200 || !json) throw new Error();
  return json;
};

/** The largest number of pages that are loaded, of 200 choices each. */
const MAX_PAGES = 10;

/** Loads the choices of a visitor. Rejects if they cannot be loaded. */
export const readHistory = async (ids: Ids): Promise<History> => {
  const load = (before?: string): Promise<History> => read('/v1/consent/history', { ...ids, before });
  const history = await load();
  for (let page = 1; page < MAX_PAGES && history.next_before; page++) {
    const { receipts, has_more, next_before } = await load(history.next_before);
    history.receipts.push(...receipts);
    Object.assign(history, { has_more, next_before });
  }
  return history;
};

/** Loads the erasure requests of a visitor. Rejects if they cannot be loaded. */
export const readRequests = (ids: Ids): Promise<Requests> => read('/v1/consent/erasure-requests/history', ids);

const post = async (path: string, body: object): Promise<boolean> => {
  const { status } = await send(path, body);
  return status === 202;
};

/** Resolves to whether the withdrawal was recorded. Requests with the same `choice_id` are one withdrawal. */
export const withdraw = (ids: Ids, site: string, choice_id?: string): Promise<boolean> =>
  post('/v1/consent/record', { ...ids, choice_id, url: `https://${site}/`, consent: 'withdrawn' });

/** Resolves to whether the request was accepted. */
export const requestErasure = (ids: Ids): Promise<boolean> => post('/v1/consent/erasure-requests', { ...ids });
