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
  /** What the popup said that it showed; null when that is not known. */
  shown: { language: string } | null;
  /** The notice that was answered, in the language in which it was shown when that is known. */
  policy_url: string;
}

export interface History {
  /** The site's host; null when there are no choices. */
  site: string | null;
  reason: string;
  expired: boolean;
  expires_at: string | null;
  /** Newest first. */
  receipts: Choice[];
  has_more: boolean;
}

/** All that the visitor answered. Rejects when it cannot be had. */
export const readHistory = async (ids: Ids): Promise<History> => {
  const { status, json } = await send('/v1/consent/history', ids);
  if (status !== 200 || !json) throw new Error();
  return json;
};

const post = async (path: string, body: object): Promise<boolean> => {
  const { status } = await send(path, body);
  return status === 202;
};

/** Whether the withdrawal was recorded. With the same `choice_id` it is one withdrawal, however often it is sent. */
export const withdraw = (ids: Ids, site: string, choice_id?: string): Promise<boolean> =>
  post('/v1/consent/record', { ...ids, choice_id, url: `https://${site}/`, consent: 'withdrawn' });

/** Whether the site has the request. */
export const requestErasure = (ids: Ids): Promise<boolean> => post('/v1/consent/erasure-requests', { ...ids });
