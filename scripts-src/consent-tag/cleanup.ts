import { splitNames } from './choice';
import { extra } from './modules';
import { choice, permitted } from './session';
import { KEY } from './storage';

/**
 * Removes cookies and entries in local and session storage whose purposes are not, or no longer, permitted. Scripts declare
 * their names with `data-assent-cookies="_ga _ga_*"`; a final `*` matches any ending. Declarations of earlier pages are in
 * the stored choice.
 */
export const removeForbidden = (): void => {
  if (!choice) return;
  const declared = { ...choice.stored };
  document.querySelectorAll<HTMLElement>('[data-assent-cookies]').forEach(({ dataset }) => {
    declared[dataset.assentCookies!] = dataset.assent || '';
  });
  for (const names of Object.keys(declared)) if (!permitted(splitNames(declared[names]))) splitNames(names).forEach(remove);
};

const remove = (pattern: string): void => {
  const start = pattern.replace(/\*$/, '');
  const matches = (name: string): boolean =>
    name !== KEY && (start === pattern ? name === pattern : name.startsWith(start));
  try {
    document.cookie.split('; ').forEach((cookie) => {
      const name = cookie.split('=')[0];
      if (matches(name)) expire(name);
    });
    for (const area of [localStorage, sessionStorage]) {
      Object.keys(area).forEach((name) => matches(name) && area.removeItem(name));
    }
  } catch {}
};

/** Expires a cookie of the path `/`, of this host or a domain above it; the module expires all others of this name. */
const expire = (name: string): void => {
  const cookie = `${name}=;max-age=0;path=/`;
  document.cookie = cookie;
  for (let host = location.hostname; host.includes('.'); host = host.replace(/^.*?\./, '')) document.cookie = `${cookie};domain=${host}`;
  extra('expire', name);
};
