import { h } from './dom';
import type { Send } from './http';

/** Whose choice: the newest, unless its receipt is named. */
export interface ChoiceQuery {
  pixel_id: string;
  visitor_id: string;
  receipt_id?: string;
}

/** Choices come into the log about every ten seconds: so often, and so long between, it is asked for one that is new. */
const MAX_TRIES = 6;
const PAUSE_MS = 3e3;

/** The address of what the service has of a choice: its `receipt`, or its `proof`. */
export const documentUrl = (base: string, kind: 'receipt' | 'proof', query: ChoiceQuery): string =>
  `${base}/v1/consent/${kind}?${new URLSearchParams({ ...query })}`;

/**
 * All that it takes to check a choice without the service; null when there is no such choice or the service keeps no log.
 * Rejects when it cannot be had.
 */
export const proofFile = async (send: Send, base: string, query: ChoiceQuery): Promise<object | null> => {
  for (let attempt = 1; ; attempt++) {
    const { status, json } = await send(documentUrl(base, 'proof', query));
    if (status === 200 && json) return json;
    if (status === 404) return null;
    if (status !== 409 || attempt === MAX_TRIES) throw new Error();
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
};

/** Hands a document to the reader as a file. */
export const downloadJson = (name: string, content: object): void => {
  const text = `${JSON.stringify(content, null, 2)}\n`;
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  h('a', { href, download: name }).click();
  // The browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(href), 60e3);
};
