/**
 * Removes cookies and entries in local and session storage with this name; a final `*` matches any ending. The entry of the
 * choice itself, `kept`, stays.
 */
export const remove = (pattern: string, kept: string): void => {
  const start = pattern.replace(/\*$/, '');
  const matches = (name: string): boolean => name !== kept && (start === pattern ? name === pattern : name.startsWith(start));
  document.cookie.split('; ').forEach((cookie) => {
    const name = cookie.split('=')[0];
    if (matches(name)) expire(name);
  });
  for (const area of [localStorage, sessionStorage]) {
    Object.keys(area).forEach((name) => matches(name) && area.removeItem(name));
  }
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
