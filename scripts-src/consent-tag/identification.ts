import { gpc } from '../shared/gpc';
import { loadIdentification, takeBack } from '../shared/load';
import { installedPixel } from '../shared/tag-pixel';
import { setTracking } from '../shared/track';
import { config } from './config';
import { choice, noteStored, permitted } from './session';

/** Whether the service is being asked about this host. */
let asking = false;
/** The script that has been asked for. */
let script: HTMLScriptElement | undefined;
/** Whether it has run. */
let loaded = false;

const wanted = (): boolean => permitted(['resolution']);

/** Loads identification once it is permitted and the service names this pixel for this host; otherwise stops its events. */
export const applyIdentification = async (): Promise<void> => {
  const yes = wanted();
  setTracking(yes ? (loaded ? 'pass' : 'wait') : choice || gpc() ? 'drop' : 'wait');
  if (!yes && script && !loaded) script = takeBack(script);
  if (!yes || asking || script) return;
  asking = true;
  const named = (await installedPixel(config.base, config.pixel)) === config.pixel;
  asking = false;
  // The visitor may have changed their mind while the service was asked.
  if (!wanted()) return;
  if (!named) return setTracking('drop');
  const mine = (script = loadIdentification(config.base, config.pixel, () => {
    loaded = true;
    noteStored(mine.dataset.assentCookies, 'resolution');
    applyIdentification();
  }));
};
