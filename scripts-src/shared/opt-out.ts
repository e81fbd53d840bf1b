/**
 * The visitor's word about the immediate pixel, in the site's own storage. It says nothing about the visitor:
 * `off` stops identification, `seen` only keeps the notice away.
 */
export const KEY = 'assent:notice';

type OptOut = 'off' | 'seen';

/** What was said, or null. Where nothing could be remembered, that counts as `off`. */
export const loadOptOut = (): string | null => {
  try {
    // Storage that can be read is not always storage that can be written.
    localStorage.setItem(KEY + '-', '');
    localStorage.removeItem(KEY + '-');
    return localStorage.getItem(KEY);
  } catch {
    return 'off';
  }
};

export const saveOptOut = (optOut: OptOut): void => {
  try {
    localStorage.setItem(KEY, optOut);
  } catch {}
};

export const optedOut = (): boolean => loadOptOut() === 'off';
