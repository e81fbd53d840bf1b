import { save } from '../shared/proof-file';
import { fragmentOf, type Ids, idsOf } from './ids';
import { BUSY, places, text } from './page';
import { askForErasure, type History, readHistory, withdraw } from './service';
import { clear, complain, say, show } from './view';

let ids: Ids | null = null;
let history: History | null = null;
/** One for as long as a withdrawal has not succeeded. Pages without TLS cannot make one. */
let choiceId: string | undefined;

/** Shows what the service has now, and tells whether it could be had. What was shown stays when not. */
const load = async (): Promise<boolean> => {
  if (!ids) return false;
  const asked = ids;
  const found = await readHistory(asked).catch(() => null);
  if (asked !== ids) return false;
  places.again.hidden = !!found;
  if (found) {
    history = found;
    choiceId = crypto.randomUUID?.();
    show(history, asked);
  } else {
    if (!history) places.state.textContent = '';
    complain(text('unreachable'));
  }
  return !!found;
};

/** A button that does one thing at a time, and says so while it does. */
const onPress = (button: HTMLElement, run: () => Promise<void>): void => {
  button.onclick = async () => {
    if (button.hasAttribute(BUSY)) return;
    button.setAttribute(BUSY, 'true');
    await run().catch(() => complain(text('failed')));
    button.removeAttribute(BUSY);
    // Who pressed a button that is gone goes on where the outcome stands.
    if (button.hidden) places.state.focus();
  };
};

onPress(places.again, async () => {
  say('');
  await load();
});

onPress(places.withdraw, async () => {
  say('');
  if (!ids || !history?.site) return;
  const isDone = await withdraw(ids, history.site, choiceId);
  const isShown = await load();
  if (!isDone) return complain(text('failed'));
  if (!isShown) {
    places.state.textContent = text('withdrawn');
    places.withdraw.hidden = true;
  }
  say(text('withdrawDone'));
});

onPress(places.erase, async () => {
  say('');
  if (!ids || !(await askForErasure(ids))) throw new Error();
  say(text('eraseDone'));
});

onPress(places.download, async () => {
  const file = `your-data-${history?.site}.json`;
  save(file, history!);
  say(text('downloading', { file }));
});

/** The address names whose data are asked for; other languages are asked for the same. */
const start = (): void => {
  ids = idsOf(location.hash);
  history = null;
  clear();
  places.state.textContent = text(ids ? 'loading' : 'incomplete');
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.langs a')) link.hash = ids ? fragmentOf(ids) : '';
  load();
};

// Its own way would take the ids out of the address.
document.querySelector<HTMLElement>('.skip')!.onclick = (event) => {
  event.preventDefault();
  places.main.focus();
};
window.addEventListener('hashchange', start);
start();
