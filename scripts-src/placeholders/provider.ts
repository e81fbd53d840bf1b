/** Providers that visitors know by another name than the host of their frames. */
const NAMES: [hosts: RegExp, name: string][] = [
  [/(^|\.)(youtube(-nocookie)?\.com|youtu\.be)$/, 'YouTube'],
  [/(^|\.)vimeo\.com$/, 'Vimeo'],
  [/^maps\.google\.|^(www\.)?google\.[\w.]+\/maps/, 'Google Maps'],
  [/(^|\.)openstreetmap\.org$/, 'OpenStreetMap'],
];

/**
 * The name of the service that a frame shows: the host, unless visitors know it by another name. An address without a host
 * (`data:`) contains the page's own content.
 */
export const providerOf = ({ hostname, pathname }: URL): string => {
  const name = NAMES.find(([hosts]) => hosts.test(hostname) || hosts.test(hostname + pathname));
  return name ? name[1] : (hostname || location.hostname).replace(/^www\./, '');
};
