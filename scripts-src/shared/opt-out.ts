/**
 * The visitor's word about the immediate pixel, in the site's own storage. It says nothing about the visitor:
 * `off` stops identification, `seen` only keeps the notice away.
 */
export const KEY = 'assent:notice';

type Word = 'off' | 'seen';

/** What was said, or null. Where nothing could be remembered, that counts as `off`. */
export const recallWord = (): string | null => {
  try {
    // Storage that can be read is not always storage that can be written.
    localStorage.setItem(KEY + '-', '');
    localStorage.removeItem(KEY + '-');
    return localStorage.getItem(KEY);
  } catch {
    return 'off';
  }
};

export const rememberWord = (word: Word): void => {
  try {
    localStorage.setItem(KEY, word);
  } catch {}
};

export const optedOut = (): boolean => recallWord() === 'off';
