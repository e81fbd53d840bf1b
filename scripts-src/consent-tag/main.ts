import { guard } from '../shared/guard';
import { whenActivated, whenParsed } from '../shared/ready';
import { announceChange, installApi, isTaken } from './api';
import { openPreferences } from './banner';
import { removeForbidden } from './cleanup';
import { applyGate, watchGate } from './gate';
import { applyIdentification } from './identification';
import { recheck, restore, subscribe } from './session';
import { shield } from './shield';
import { denyByDefault, signalChoice } from './signals';
import { KEY } from './storage';
import { applyUi } from './ui';

const addEffect = (effect: () => void): void => {
  subscribe(effect);
  guard(effect);
};

/** Any element of the page with `data-assent-open` is a way back. */
const openOnRequest = (event: MouseEvent): void => {
  if (event.composedPath().some((element) => (element as Element).hasAttribute?.('data-assent-open'))) {
    event.preventDefault();
    openPreferences();
  }
};

const start = (): void => {
  shield();
  const drainQueue = installApi();
  denyByDefault();

  const run = (): void => {
    subscribe(signalChoice);
    subscribe(applyIdentification);
    restore();
    // Listeners from the queue hear of a remembered choice, so they come before the news.
    drainQueue();
    // Traces are removed after everybody has heard of a "no", so that nobody puts them back.
    addEffect(announceChange);
    whenParsed(() => {
      [applyGate, removeForbidden, applyUi].forEach(addEffect);
      guard(watchGate);
    });
    addEventListener('click', openOnRequest, true);
    addEventListener('pageshow', (event) => event.persisted && restore());
    addEventListener('visibilitychange', recheck);
    addEventListener('storage', ({ key }) => (key === KEY || !key) && restore());
  };

  whenActivated(run);
};

// A second tag on the page, of whatever pixel, leaves the question to the first.
if (!isTaken()) start();

// Says that this is a module, whatever a package.json in a folder above may say.
export {};
