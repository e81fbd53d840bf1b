import { h } from './dom';
import type { Send } from './http';

/** Selects a choice of a visitor: the latest, unless a receipt is named. */
export interface ChoiceQuery {
  pixel_id: string;
  visitor_id: string;
  receipt_id?: string;
}

/** Choices are appended to the log every few seconds, so the proof of a new one is requested again after a pause. */
const MAX_TRIES = 6;
const PAUSE_MS = 3e3;

/** The address of the `receipt` or the `proof` of a choice. */
export const documentUrl = (base: string, kind: 'receipt' | 'proof', query: ChoiceQuery): string =>
  `${base}/v1/consent/${kind}?${new URLSearchParams({ ...query })}`;

/**
 * Loads the proof file of a choice, which can be verified without the service. Null if there is no such choice or the
 * service keeps no log. Rejects if it cannot be loaded.
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

/** Saves a document as a file of the reader. */
export const downloadJson = (name: string, content: object): void => {
  const text = `${JSON.stringify(content, null, 2)}\n`;
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  h('a', { href, download: name }).click();
  // The browser reads the address after this task.
  setTimeout(() => URL.revokeObjectURL(href), 60e3);
};
