import { gpc } from '../shared/gpc';
import { optedOut } from '../shared/opt-out';
import { installedPixel } from '../shared/tag-pixel';

/** The findings of the beacon: label → one plain sentence, in the order in which they are shown. */
export type Findings = { [label: string]: string };

type Assent = { get?: () => { pixel: string; state: string | null; purposes: string[] } };
const consentTag = (): ReturnType<NonNullable<Assent['get']>> | undefined =>
  (window as unknown as { assent?: Assent }).assent?.get?.();

/** The service's answers about the pixel, requested once per page. */
export interface ServiceState {
  pixel: string;
  /** Canonical id if the pixel is installed for this host. */
  id: string | null;
  /** Whether consent is on for the pixel; null if the service did not answer. */
  needed: boolean | null;
}

export const askService = async (base: string, pixel: string): Promise<ServiceState> => ({
  pixel,
  id: await installedPixel(base, pixel),
  needed: await fetch(`${base}/px/${pixel}.js`, { method: 'HEAD', credentials: 'omit' }).then(
    ({ ok, status }) => (ok ? true : status === 404 ? false : null),
    () => null,
  ),
});

/** The pixel of the consent tag on the page, if there is one. */
export const pixelOnPage = (base: string): string | undefined =>
  consentTag()?.pixel || document.querySelector<HTMLScriptElement>(`script[src^="${base}/px/"]`)?.src.match(/px\/([\w-]+)\.js/)?.[1];

export const inspect = (base: string, { pixel, id, needed }: ServiceState): Findings => {
  const tag = consentTag();
  const hasSnippet = !!document.querySelector(`script[src^="${base}/pixel.js"]`);
  const isLoaded = !!document.querySelector(`script[src^="${base}/pixels/"]`);
  return {
    Pixel: pixel,
    Host: location.hostname,
    Installed: id ? `yes, the service names it for this host` : 'no, the service does not name it for this host',
    'On this page': tag
      ? 'consent tag' + (hasSnippet ? ' and immediate snippet (which stands back)' : '')
      : hasSnippet
        ? 'immediate snippet'
        : 'neither consent tag nor immediate snippet',
    'Consent needed': needed === null ? 'unknown, the service did not answer' : needed ? 'yes' : 'no, consent is off',
    'Consent given': tag
      ? tag.state
        ? tag.state + (tag.purposes[0] ? `: ${tag.purposes.join(', ')}` : '')
        : 'not answered yet'
      : 'not asked',
    'Global Privacy Control': gpc() ? 'on: counts as “no”' : 'off',
    'Opted out': optedOut() ? 'yes' : 'no',
    Identification: isLoaded ? 'loaded' : 'not loaded',
  };
};
