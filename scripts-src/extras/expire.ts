/**
 * Expires a cookie. A browser deletes it only if domain and path match, and some cookies also need `Secure` or the site's
 * own partition (`Partitioned`). A page cannot read these attributes, so every possible combination is tried.
 */
export const expire = (name: string): void => {
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
