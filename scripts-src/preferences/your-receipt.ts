import type { Kit } from '../consent-tag/preferences-context';
import { h } from '../shared/dom';
import { type Asked, addressOf, proofFile, save } from '../shared/proof-file';
import { texts } from './texts';

const BUSY = 'aria-disabled';

/** The proof of a choice; where there is no log, the signed receipt alone. */
const find = async ({ ask, config: { base } }: Kit, asked: Asked): Promise<object> => {
  const proof = await proofFile(ask, base, asked);
  if (proof) return proof;
  const { status, json } = await ask(addressOf(base, 'receipt', asked));
  if (status !== 200 || !json) throw new Error();
  return json;
};

/**
 * Saves what proves the choice in force: whoever has the file needs neither the site nor the service to show what
 * was asked and answered. A link, so that it can be opened in a tab as well. `say` tells how it went.
 */
export const yourReceipt = (kit: Kit, say: (words: string) => void): HTMLElement | undefined => {
  const { choice, config } = kit;
  if (!choice?.receipt) return undefined;
  const asked = { pixel_id: config.pixel, visitor_id: choice.visitor, receipt_id: choice.receipt };
  const link = h('a', { href: addressOf(config.base, 'proof', asked), target: '_blank' }, texts.receipt);
  link.onclick = async (event) => {
    event.preventDefault();
    if (link.hasAttribute(BUSY)) return;
    link.setAttribute(BUSY, 'true');
    say('…');
    const file = `receipt-${location.hostname}.json`;
    try {
      save(file, await find(kit, asked));
      say(texts.downloading.replace('{file}', `\u2068${file}\u2069`));
    } catch {
      say(texts.failed);
    }
    link.removeAttribute(BUSY);
  };
  return link;
};
