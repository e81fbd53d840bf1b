import { words } from './choice';
import { choice, permitted } from './session';
import { KEY } from './storage';

/**
 * Removes what scripts declared with `data-assent-cookies="_ga _ga_*"` (names of cookies and of entries in local and
 * session storage; a final `*` stands for any ending) and what the visitor does not, or no longer, permit. What was
 * declared on earlier pages is known from the remembered choice.
 */
export const removeForbidden = (): void => {
  if (!choice) return;
  const declared = { ...choice.stored };
  document.querySelectorAll<HTMLElement>('[data-assent-cookies]').forEach(({ dataset }) => {
    declared[dataset.assentCookies!] = dataset.assent || '';
  });
  for (const names of Object.keys(declared)) if (!permitted(words(declared[names]))) words(names).forEach(remove);
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
 * A cookie only goes when its domain and path are named, some only with `Secure` or out of the store that is this site's own
 * (`Partitioned`), and a page cannot read any of these: so all that are possible.
 */
const expire = (name: string): void => {
  const domains = [''];
  for (let host = location.hostname; host.includes('.'); host = host.replace(/^.*?\./, '')) domains.push(`;domain=${host}`);
  let path = '';
  for (const step of (location.pathname + '/').match(/\/|[^/]+/g)!) {
    path += step;
    for (const domain of domains) {
      // With `Secure` the others go as well, but pages without TLS may not name it.
      for (const more of isSecureContext ? [';secure', ';secure;partitioned'] : ['']) {
        document.cookie = `${name}=;max-age=0;path=${path + domain + more}`;
      }
    }
  }
};
