import { h } from '../shared/dom';
import { send } from '../shared/http';
import { type ChoiceQuery, documentUrl, downloadJson, proofFile } from '../shared/proof-file';
import type { Ids } from './ids';
import { BUSY, dateAndTime, elements, longDate, page, text } from './page';
import type { Authority, Choice, ErasureRequest, History, Receipt, Requests } from './service';

/** Whether there is an acceptance to withdraw. One of an earlier notice still covers data that the site already has. */
const canWithdraw = ({ receipts, reason, expired }: History): boolean =>
  receipts[0]?.receipt.consent_state === 'accepted' && reason !== 'consent_off' && !expired;

/** The state of the consent, in one sentence. */
const stateText = ({ receipts, reason, expired, expires_at }: History): string => {
  const newest = receipts[0]?.receipt.consent_state;
  if (!newest) return text('none');
  if (newest !== 'accepted') return text(newest);
  const date = expires_at ? longDate(expires_at) : '';
  if (reason === 'ok') return text('permitted', { date });
  if (expired) return text('expired', { date });
  return text(reason === 'consent_off' ? 'off' : 'stale');
};

/** The titles of the granted purposes, the gravest first, then the names of purposes that this page does not know. */
const titles = ({ purposes }: Receipt): string[] => [
  ...page.purposes.filter(([name]) => purposes.includes(name)).map(([, title]) => title),
  ...purposes.filter((name) => page.purposes.every(([known]) => known !== name)),
];

const choiceItems = (receipt: Receipt): HTMLElement[] => {
  if (receipt.consent_state === 'declined') return [h('p', null, text('saidNo'))];
  if (receipt.consent_state === 'withdrawn') return [h('p', null, text('saidWithdrawn'))];
  const granted = titles(receipt).map((title) => h('li', null, h('bdi', null, title)));
  return [h('p', null, text('agreedTo')), h('ul', { className: 'ticks' }, ...granted)];
};

const entry = (choice: Choice, number: number, ids: Ids): HTMLElement => {
  const { receipt, shown, policy_url } = choice;
  const id = `choice-${number}`;
  const time = h('time', { dateTime: receipt.recorded_at }, dateAndTime(receipt.recorded_at));
  const href = shown ? policy_url : `${policy_url}&lang=${page.lang}`;
  const link = h('a', { href, 'aria-describedby': id, ...(shown && { hreflang: shown.language }) }, text('told'));
  const query = { ...ids, receipt_id: receipt.receipt_id };
  const proof = h('a', { href: documentUrl('', 'proof', query), 'aria-describedby': id }, text('receipt'));
  proof.onclick = (event) => {
    event.preventDefault();
    saveProof(proof, query, choice);
  };
  return h('li', null, h('h3', { id }, time), ...choiceItems(receipt), h('p', null, link, ' · ', proof));
};

/** Saves the proof of a choice, or the choice as this page received it if there is no log. */
const saveProof = async (link: HTMLElement, query: ChoiceQuery, choice: Choice): Promise<void> => {
  if (link.hasAttribute(BUSY)) return;
  link.setAttribute(BUSY, 'true');
  showStatus('…');
  const file = `receipt-${query.receipt_id}.json`;
  try {
    downloadJson(file, (await proofFile(send, '', query)) || choice);
    showStatus(text('downloading', { file }));
  } catch {
    showError(text('failed'));
  }
  link.removeAttribute(BUSY);
};

/** Shows the history of a visitor. */
export const show = (history: History, ids: Ids): void => {
  const { site, receipts, has_more } = history;
  const isEmpty = !receipts.length;
  const [before, after] = page.texts.heading.split('{site}');
  elements.heading.replaceChildren(before, h('bdi', null, site || ''), after);
  elements.heading.hidden = elements.choices.hidden = elements.download.hidden = elements.erase.hidden = isEmpty;
  elements.state.textContent = stateText(history);
  elements.withdraw.hidden = !canWithdraw(history);
  elements.list.replaceChildren(...receipts.map((choice, number) => entry(choice, number, ids)));
  elements.more.textContent = has_more ? text('more', { count: String(receipts.length) }) : '';
};

const requestEntry = (
  { requested_at, due_at, status, closed_at, reason }: ErasureRequest,
  authority: Authority | null,
): HTMLElement => {
  const sent = text('requestOpen', { date: longDate(requested_at), due: longDate(due_at) });
  if (status !== 'refused') return h('li', null, h('p', null, sent));
  const refused = h('p', null, text('requestRefused', { date: longDate(closed_at || requested_at) }));
  const complain = h('p', null, text('requestComplain'));
  if (authority) complain.append(' ', h('a', { href: authority.url }, h('bdi', null, authority.name)));
  return h('li', null, refused, h('blockquote', { dir: 'auto' }, reason || ''), complain);
};

/** Shows the erasure requests of a visitor. While one is open, no other can be sent. */
export const showRequests = ({ requests, authority }: Requests): void => {
  elements.requests.hidden = !requests.length;
  elements.requestList.replaceChildren(...requests.map((request) => requestEntry(request, authority)));
  if (requests.some(({ status }) => status === 'open')) elements.erase.hidden = true;
};

/** Hides everything that depends on a visitor. */
export const clear = (): void => {
  for (const element of [elements.heading, elements.requests, elements.choices, elements.withdraw, elements.download, elements.erase, elements.eraseConfirmation, elements.retry]) {
    element.hidden = true;
  }
  showStatus('');
};

/** Shows a status message, and removes an earlier error. */
export const showStatus = (message: string): void => {
  elements.problem.textContent = '';
  elements.status.textContent = message;
};

/** Shows an error message, and removes an earlier status. */
export const showError = (message: string): void => {
  elements.status.textContent = '';
  elements.problem.textContent = message;
};
