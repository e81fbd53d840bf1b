import type { PreferencesContext } from '../consent-tag/preferences-context';
import { h } from '../shared/dom';
import { type ChoiceQuery, documentUrl, downloadJson, proofFile } from '../shared/proof-file';
import { texts } from './texts';

const BUSY = 'aria-disabled';

/** Loads the proof of a choice, or only the signed receipt if there is no log. Rejects if neither can be loaded. */
const loadProof = async ({ send, config: { base } }: PreferencesContext, query: ChoiceQuery): Promise<object> => {
  const proof = await proofFile(send, base, query);
  if (proof) return proof;
  const { status, json } = await send(documentUrl(base, 'receipt', query));
  if (status !== 200 || !json) throw new Error();
  return json;
};

/**
 * A link that saves the proof of the choice in force. The file shows the notice and the choice without the site or the
 * service. It is a link, so that it can also be opened in a tab. `showMessage` receives the outcome.
 */
export const receiptLink = (context: PreferencesContext, showMessage: (words: string) => void): HTMLElement | undefined => {
  const { choice, config } = context;
  if (!choice?.receipt) return undefined;
  const query = { pixel_id: config.pixel, visitor_id: choice.visitor, receipt_id: choice.receipt };
  const link = h('a', { href: documentUrl(config.base, 'proof', query), target: '_blank' }, texts.receipt);
  link.onclick = async (event) => {
    event.preventDefault();
    if (link.hasAttribute(BUSY)) return;
    link.setAttribute(BUSY, 'true');
    showMessage('…');
    const file = `receipt-${location.hostname}.json`;
    try {
      downloadJson(file, await loadProof(context, query));
      showMessage(texts.downloading.replace('{file}', `\u2068${file}\u2069`));
    } catch {
      showMessage(texts.failed);
    }
    link.removeAttribute(BUSY);
  };
  return link;
};
