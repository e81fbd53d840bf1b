import { downloadJson } from '../shared/proof-file';
import { fragmentOf, type Ids, idsOf } from './ids';
import { BUSY, elements, text } from './page';
import { type History, readHistory, readRequests, requestErasure, withdraw } from './service';
import { clear, show, showError, showRequests, showStatus } from './view';

let ids: Ids | null = null;
let history: History | null = null;
/** The choice id of the next withdrawal, the same until one has succeeded. Pages without TLS cannot generate one. */
let choiceId: string | undefined;

/** Loads and shows the history. Resolves to whether it was loaded; if not, the page keeps the history that it shows. */
const load = async (): Promise<boolean> => {
  if (!ids) return false;
  const requested = ids;
  const latest = await Promise.all([readHistory(requested), readRequests(requested)]).catch(() => null);
  if (requested !== ids) return false;
  elements.retry.hidden = !!latest;
  if (latest) {
    const [choices, requests] = latest;
    history = choices;
    choiceId = crypto.randomUUID?.();
    show(history, requested);
    showRequests(requests);
  } else {
    if (!history) elements.state.textContent = '';
    showError(text('unreachable'));
  }
  return !!latest;
};

/** Runs a function when a button is pressed. While it runs, the button is marked as disabled and ignores presses. */
const onPress = (button: HTMLElement, run: () => Promise<void>): void => {
  button.onclick = async () => {
    if (button.hasAttribute(BUSY)) return;
    button.setAttribute(BUSY, 'true');
    await run().catch(() => showError(text('failed')));
    button.removeAttribute(BUSY);
    // If the pressed button was hidden, the focus moves to the outcome.
    if (button.closest('[hidden]')) elements.state.focus();
  };
};

onPress(elements.retry, async () => {
  showStatus('');
  await load();
});

onPress(elements.withdraw, async () => {
  showStatus('');
  if (!ids || !history?.site) return;
  const isDone = await withdraw(ids, history.site, choiceId);
  const isShown = await load();
  if (!isDone) return showError(text('failed'));
  if (!isShown) {
    elements.state.textContent = text('withdrawn');
    elements.withdraw.hidden = true;
  }
  showStatus(text('withdrawDone'));
});

elements.erase.onclick = () => {
  showStatus('');
  elements.eraseConfirmation.hidden = false;
  elements.eraseSend.focus();
};

elements.eraseCancel.onclick = () => {
  elements.eraseConfirmation.hidden = true;
  elements.erase.focus();
};

onPress(elements.eraseSend, async () => {
  showStatus('');
  if (!ids || !(await requestErasure(ids))) throw new Error();
  elements.eraseConfirmation.hidden = true;
  await load();
  showStatus(text('eraseDone'));
});

onPress(elements.download, async () => {
  const file = `your-data-${history?.site}.json`;
  downloadJson(file, history!);
  showStatus(text('downloading', { file }));
});

/** Shows the data of the ids in the address. The links to other languages get the same ids. */
const start = (): void => {
  ids = idsOf(location.hash);
  history = null;
  clear();
  elements.state.textContent = text(ids ? 'loading' : 'incomplete');
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.langs a')) link.hash = ids ? fragmentOf(ids) : '';
  load();
};

// The browser's own behaviour would remove the ids from the address.
document.querySelector<HTMLElement>('.skip')!.onclick = (event) => {
  event.preventDefault();
  elements.main.focus();
};
window.addEventListener('hashchange', start);
start();
