import { gpc } from '../shared/gpc';
import { cancelScript, loadIdentification } from '../shared/load';
import { installedPixel } from '../shared/tag-pixel';
import { setTracking } from '../shared/track';
import { config } from './config';
import { extra } from './modules';
import { choice, noteStored, permitted } from './session';

/** Whether a request to the service about this host is pending. */
let isChecking = false;
/** The script, once it was requested. */
let script: HTMLScriptElement | undefined;
/** Whether the script has run. */
let loaded = false;

const mayIdentify = (): boolean => permitted(['resolution']);

/** Loads identification once it is permitted and the pixel is installed for this host; otherwise stops its events. */
export const applyIdentification = async (): Promise<void> => {
  const isPermitted = mayIdentify();
  setTracking(isPermitted ? loaded && 'pass' : (choice || gpc()) && 'drop');
  if (!isPermitted && script && !loaded) script = cancelScript(script);
  if (!isPermitted || isChecking || script) return;
  isChecking = true;
  const isInstalled = (await installedPixel(config.base, config.pixel)) === config.pixel;
  isChecking = false;
  // The visitor may have withdrawn during the request.
  if (!mayIdentify()) return;
  if (!isInstalled) {
    extra('hint', 'host');
    return setTracking('drop');
  }
  const own = (script = loadIdentification(config.base, config.pixel, () => {
    loaded = true;
    noteStored(own.dataset.assentCookies, 'resolution');
    applyIdentification();
  }));
};
