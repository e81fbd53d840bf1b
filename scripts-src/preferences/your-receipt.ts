import type { PreferencesContext } from '../consent-tag/preferences-context';
import { h } from '../shared/dom';
import { type ChoiceQuery, documentUrl, downloadJson, proofFile } from '../shared/proof-file';
import { texts } from './texts';

const BUSY = 'aria-disabled';

/** The proof of a choice; where there is no log, the signed receipt alone. */
const loadProof = async ({ send, config: { base } }: PreferencesContext, query: ChoiceQuery): Promise<object> => {
  const proof = await proofFile(send, base, query);
  if (proof) return proof;
  const { status, json } = await send(documentUrl(base, 'receipt', query));
  if (status !== 200 || !json) throw new Error();
  return json;
};

/**
 * Saves what proves the choice in force: whoever has the file needs neither the site nor the service to show what
 * was asked and answered. A link, so that it can be opened in a tab as well. `say` tells how it went.
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
