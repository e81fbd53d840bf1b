import { splitNames } from './choice';
import { extra } from './modules';
import { choice, permitted } from './session';
import { KEY } from './storage';

/**
 * Removes cookies and entries in local and session storage whose purposes are not, or no longer, permitted. Scripts declare
 * their names with `data-assent-cookies="_ga _ga_*"`; a final `*` matches any ending. Declarations of earlier pages are in
 * the stored choice. A module removes them, if there may be any; where it cannot be loaded, the next page tries again.
 */
export const removeForbidden = (): void => {
  if (!choice) return;
  const declared = { ...choice.stored };
  document.querySelectorAll<HTMLElement>('[data-assent-cookies]').forEach(({ dataset }) => {
    declared[dataset.assentCookies!] = dataset.assent || '';
  });
  for (const names in declared) {
    if (!permitted(splitNames(declared[names]))) splitNames(names).forEach(removeStored);
  }
};

const removeStored = (pattern: string): void => {
  const stored = document.cookie + Object.keys(localStorage) + Object.keys(sessionStorage);
  if (stored.includes(pattern.replace('*', ''))) extra('remove', pattern, KEY);
};
