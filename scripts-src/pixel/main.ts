import type { BaseConfig } from '../shared/config';
import { gpc } from '../shared/gpc';
import { loadIdentification } from '../shared/load';
import { optedOut } from '../shared/opt-out';
import { ownPixel } from '../shared/own-pixel';
import { whenParsed, whenVisited } from '../shared/ready';
import { installedPixel } from '../shared/tag-pixel';
import { setTracking, track } from '../shared/track';

declare const __ASSENT_CONFIG__: BaseConfig;
const { base }: BaseConfig = __ASSENT_CONFIG__;

/** `get` marks the consent tag's, `px` this script's. */
type Assent = { q?: ArrayLike<unknown>[]; get?: unknown; px?: string };
const page = window as unknown as { assent?: Assent };

/** Where a consent tag is on the page, it alone decides: this script must not be a way around the choice. */
const mayRun = (): boolean =>
  !gpc() && !optedOut() && !page.assent?.get && !document.querySelector(`script[src^="${base}/px/"]`);

const installApi = (pixel: string): void => {
  const earlier = page.assent?.q || [];
  const q: unknown[][] = [];
  const call = (...args: unknown[]): void => {
    // Kept where a consent tag that comes later looks for it.
    if (q.length < 100) q.push(args);
    if (args[0] === 'track') track(args[1], args[2]);
  };
  page.assent = Object.assign(call, { q, px: pixel });
  for (const args of earlier) call(...Array.from(args));
};

const run = async (pixel: string): Promise<void> => {
  const named = mayRun() && (await installedPixel(base, pixel));
  // While the service was asked, the visitor may have opted out, or a consent tag may have arrived.
  if (named && mayRun()) loadIdentification(base, named, () => setTracking(mayRun() ? 'pass' : 'drop'));
  else setTracking('drop');
};

try {
  const pixel = ownPixel();
  if (pixel && !page.assent?.get && !page.assent?.px) {
    installApi(pixel);
    document.addEventListener('assent:change', () => mayRun() || setTracking('drop'));
    whenVisited(() => whenParsed(() => run(pixel)));
  }
} catch {}

// Says that this is a module, whatever a package.json in a folder above may say.
export {};
