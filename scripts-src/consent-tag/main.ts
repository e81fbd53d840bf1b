import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { whenActivated, whenParsed } from '../shared/ready';
import { announceChange, installApi, isTaken } from './api';
import { openPreferences } from './banner';
import { removeForbidden } from './cleanup';
import { config } from './config';
import { applyGate, isForeign, watchGate } from './gate';
import { applyIdentification } from './identification';
import { extra } from './modules';
import { recheck, restore, subscribe } from './session';
import { shield } from './shield';
import { denyByDefault, signalChoice } from './signals';
import { KEY } from './storage';
import { applyUi } from './ui';

const addEffect = (effect: () => void): void => {
  subscribe(effect);
  guard(effect);
};

/** Opens the preferences when an element with `data-assent-open` is clicked. */
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
  // Logged here, because a hint would load a module for each of these visitors.
  if (gpc()) console.info('Assent: GPC');

  const run = (): void | Promise<void> => {
    // A module first reads the choice of the other subdomains. Until it has called `run` again, no choice is in force.
    if (config.share) return extra('share', config, subscribe, restore, run);
    subscribe(signalChoice);
    subscribe(applyIdentification);
    restore();
    // Queued listeners are added before the first announcement, so that they receive a stored choice.
    drainQueue();
    // Cookies are removed after all listeners have received a refusal, so that no listener sets them again.
    addEffect(announceChange);
    whenParsed(async () => {
      // A refusal that another tool has stored is applied before the visitor is asked.
      if (isForeign) await guard(applyGate);
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

// If there are several consent tags on a page, only the first runs, whatever their pixels.
if (isTaken()) extra('hint', 'second');
else start();

// Makes this file a module, whatever a package.json in a parent folder declares.
export {};
