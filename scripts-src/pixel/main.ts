import type { BaseConfig } from '../shared/config';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { cancelScript, loadIdentification } from '../shared/load';
import { KEY, optedOut } from '../shared/opt-out';
import { ownPixel } from '../shared/own-pixel';
import { whenActivated, whenParsed } from '../shared/ready';
import { installedPixel } from '../shared/tag-pixel';
import { setTracking, track } from '../shared/track';

declare const __ASSENT_CONFIG__: BaseConfig;
const { base }: BaseConfig = __ASSENT_CONFIG__;

/** `window.assent`. Only the consent tag's has `get`, only this script's has `px`. */
type Assent = { q?: ArrayLike<unknown>[]; get?: unknown; px?: string };
const page = window as unknown as { assent?: Assent };

/** Whether the visitor has refused on this page. */
let hasRefused = false;

/** Whether there is a consent tag on the page. It alone decides then, so that this script does not bypass the choice. */
const hasConsentTag = (): boolean => !!page.assent?.get || !!document.querySelector(`script[src^="${base}/px/"]`);

const mayRun = (): boolean => !hasRefused && !gpc() && !hasConsentTag() && !optedOut();

const installApi = (pixel: string): void => {
  const earlier = page.assent?.q || [];
  const q: unknown[][] = [];
  const call = (...args: unknown[]): void => {
    // A consent tag that loads later reads the queue.
    if (q.length < 100) q.push(args);
    if (args[0] === 'track') track(args[1], args[2]);
  };
  page.assent = Object.assign(call, { q, px: pixel });
  for (const args of earlier) call(...Array.from(args));
};

let script: HTMLScriptElement | undefined;
let loaded = false;

/** Stops identification if it is no longer allowed. A refusal on this page is valid even if it could not be stored. */
const stopIfForbidden = (): void => {
  if (mayRun()) return;
  setTracking('drop');
  if (script && !loaded) script = cancelScript(script);
};

const run = async (pixel: string): Promise<void> => {
  const installed = mayRun() && (await installedPixel(base, pixel));
  // During the request, the visitor may have opted out, or a consent tag may have loaded.
  if (!installed || !mayRun()) return setTracking('drop');
  script = loadIdentification(base, installed, () => {
    loaded = true;
    setTracking(mayRun() ? 'pass' : 'drop');
  });
  // A consent tag may load, from whatever address, until the script has loaded.
  new MutationObserver((_, observer) => (loaded ? observer.disconnect() : hasConsentTag() && stopIfForbidden())).observe(document, {
    childList: true,
    subtree: true,
  });
};

const pixel = ownPixel();
if (pixel && !page.assent?.get && !page.assent?.px) {
  installApi(pixel);
  document.addEventListener('assent:change', ({ detail }: CustomEventInit) => {
    hasRefused = hasRefused || detail?.state !== 'accepted';
    stopIfForbidden();
  });
  addEventListener('storage', ({ key }) => (key === KEY || !key) && stopIfForbidden());
  addEventListener('pageshow', stopIfForbidden);
  whenActivated(() => whenParsed(() => guard(() => run(pixel))));
}

// Makes this file a module, whatever a package.json in a parent folder declares.
export {};
