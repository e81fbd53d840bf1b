import { gpc } from '../shared/gpc';
import { loadIdentification } from '../shared/load';
import { installedPixel } from '../shared/tag-pixel';
import { setTracking } from '../shared/track';
import { config } from './config';
import { choice, noteStored, permitted } from './session';

let stage: 'out' | 'asking' | 'loading' | 'in' = 'out';

const wanted = (): boolean => !gpc() && permitted(['resolution']);

/** Loads identification once it is permitted and the service names this pixel for this host; otherwise stops its events. */
export const applyIdentification = async (): Promise<void> => {
  setTracking(wanted() ? (stage === 'in' ? 'pass' : 'wait') : choice || gpc() ? 'drop' : 'wait');
  if (!wanted() || stage !== 'out') return;
  stage = 'asking';
  const named = (await installedPixel(config.base, config.pixel)) === config.pixel;
  stage = 'out';
  // The visitor may have changed their mind while the service was asked.
  if (!wanted()) return;
  if (!named) return setTracking('drop');
  stage = 'loading';
  const script = loadIdentification(config.base, config.pixel, () => {
    stage = 'in';
    const { assentCookies } = script.dataset;
    if (assentCookies) noteStored(assentCookies, 'resolution');
    if (wanted()) setTracking('pass');
  });
};
