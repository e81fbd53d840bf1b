import { gpc } from '../shared/gpc';
import { cancelScript, loadIdentification } from '../shared/load';
import { installedPixel } from '../shared/tag-pixel';
import { setTracking } from '../shared/track';
import { config } from './config';
import { choice, noteStored, permitted } from './session';

/** Whether the service is being asked about this host. */
let isChecking = false;
/** The script that has been asked for. */
let script: HTMLScriptElement | undefined;
/** Whether it has run. */
let loaded = false;

const mayIdentify = (): boolean => permitted(['resolution']);

/** Loads identification once it is permitted and the service names this pixel for this host; otherwise stops its events. */
export const applyIdentification = async (): Promise<void> => {
  const isPermitted = mayIdentify();
  setTracking(isPermitted ? (loaded ? 'pass' : 'wait') : choice || gpc() ? 'drop' : 'wait');
  if (!isPermitted && script && !loaded) script = cancelScript(script);
  if (!isPermitted || isChecking || script) return;
  isChecking = true;
  const isInstalled = (await installedPixel(config.base, config.pixel)) === config.pixel;
  isChecking = false;
  // The visitor may have changed their mind while the service was asked.
  if (!mayIdentify()) return;
  if (!isInstalled) return setTracking('drop');
  const own = (script = loadIdentification(config.base, config.pixel, () => {
    loaded = true;
    noteStored(own.dataset.assentCookies, 'resolution');
    applyIdentification();
  }));
};
