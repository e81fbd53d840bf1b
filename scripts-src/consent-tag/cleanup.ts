import { splitNames } from './choice';
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

/**
 * Expires a cookie. A browser deletes it only if domain and path match, and some cookies also need `Secure` or the site's
 * own partition (`Partitioned`). A page cannot read these attributes, so every possible combination is tried.
 */
const expire = (name: string): void => {
  const domains = [''];
  for (let host = location.hostname; host.includes('.'); host = host.replace(/^.*?\./, '')) domains.push(`;domain=${host}`);
  let path = '';
  for (const segment of (location.pathname + '/').match(/\/|[^/]+/g)!) {
    path += segment;
    for (const domain of domains) {
      // `Secure` also deletes cookies without it, but an insecure page may not set it.
      for (const attributes of location.protocol === 'https:' ? [';secure', ';secure;partitioned'] : ['']) {
        document.cookie = `${name}=;max-age=0;path=${path + domain + attributes}`;
      }
    }
  }
};
