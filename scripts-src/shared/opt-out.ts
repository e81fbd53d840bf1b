/**
 * The visitor's decision about the immediate pixel, in the site's own storage. It contains nothing about the visitor:
 * `off` stops identification, `seen` only hides the notice.
 */
export const KEY = 'assent:notice';

type OptOut = 'off' | 'seen';

/** The stored decision, or null. `off` where nothing can be stored. */
export const loadOptOut = (): string | null => {
  try {
    // Some storage can be read but not written.
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
