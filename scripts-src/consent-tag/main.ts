import { whenParsed, whenVisited } from '../shared/ready';
import { announceChange, installApi, isTaken } from './api';
import { removeForbidden } from './cleanup';
import { applyGate } from './gate';
import { applyIdentification } from './identification';
import { resume, watch } from './session';
import { denyByDefault, signalChoice } from './signals';
import { KEY } from './storage';
import { applyUi, openPreferences } from './ui';

const add = (effect: () => void): void => {
  watch(effect);
  effect();
};

/** Any element of the page with `data-assent-open` is a way back. */
const openOnRequest = (event: MouseEvent): void => {
  if (event.target instanceof Element && event.target.closest('[data-assent-open]')) {
    event.preventDefault();
    openPreferences();
  }
};

const start = (): void => {
  const drainQueue = installApi();
  denyByDefault();

  const run = (): void => {
    watch(signalChoice);
    watch(applyIdentification);
    resume();
    // Listeners from the queue hear of a remembered choice, so they come before the news.
    drainQueue();
    // Traces are removed after everybody has heard of a "no", so that nobody puts them back.
    add(announceChange);
    whenParsed(() => [applyGate, removeForbidden, applyUi].forEach(add));
    document.addEventListener('click', openOnRequest);
    addEventListener('pageshow', (event) => event.persisted && resume());
    addEventListener('storage', ({ key }) => (key === KEY || !key) && resume());
  };

  whenVisited(run);
};

// A second tag on the page, of whatever pixel, leaves the question to the first. And whatever goes wrong here is
// not the page's concern: without this script nothing is released.
try {
  if (!isTaken()) start();
} catch {}

// Says that this is a module, whatever a package.json in a folder above may say.
export {};
