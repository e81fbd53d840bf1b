import { type CategoryMap, NECESSARY } from './categories';

/** The value of a cookie as it is stored, or an empty text. */
const readCookie = (name: string): string => {
  const cookie = document.cookie.split('; ').find((pair) => pair.startsWith(name + '='));
  return cookie ? cookie.slice(name.length + 1) : '';
};

/** The decoded value of a cookie, or else of an entry of local storage, where some tools can store the answer. */
const readStored = (name: string): string => {
  const stored = readCookie(name) || localStorage.getItem(name) || '';
  // Klaro encodes an entry of local storage like a cookie, and vanilla-cookieconsent does not.
  return stored[0] === '{' ? stored : decodeURIComponent(stored);
};

/** `{"categories":["necessary"],…}`: the accepted categories. */
const vanilla = (_: CategoryMap, name = 'cc_cookie'): boolean => {
  const { categories } = JSON.parse(readStored(name));
  return Array.isArray(categories) && categories.every((name) => NECESSARY.test(name));
};

/**
 * `{"service":false,…}`. Required services are stored as accepted, and are not told apart. A service that waits for a
 * purpose is not a required one.
 */
const klaro = (map: CategoryMap, name = 'klaro'): boolean => {
  const services = Object.entries(JSON.parse(readStored(name)));
  // A site may have named the cookie of another tool, which contains more than services.
  if (!services.every(([, is]) => typeof is === 'boolean')) return false;
  return services.some(([, is]) => !is) && !services.some(([name, is]) => is && map[name.toLowerCase()]);
};

/**
 * `{stamp:'…',necessary:true,preferences:false,statistics:false,marketing:false,method:'explicit',…}`, or 0. Cookiebot encodes
 * only its quotes and commas.
 */
const cookiebot = (): boolean => {
  const text = decodeURIComponent(readStored('CookieConsent'));
  const isRefused = (name: string): boolean => new RegExp(`\\b${name}:false\\b`).test(text);
  return text === '0' || (/method:'explicit'/.test(text) && ['preferences', 'statistics', 'marketing'].every(isRefused));
};

/** `groups=C0001:1,C0002:0,…`. Before an answer it holds the defaults; the other cookie is set by an answer. */
const oneTrust = (): boolean => {
  const groups = (new URLSearchParams(readCookie('OptanonConsent')).get('groups') || '').split(',').map((group) => group.split(':'));
  const isOptional = groups.filter(([name]) => !NECESSARY.test(name));
  return !!readCookie('OptanonAlertBoxClosed') && !!isOptional[0]?.[1] && isOptional.every(([, value]) => value === '0');
};

/**
 * Whether one of the tools has stored that the visitor refused everything that can be refused. Two of the tools let sites
 * rename their cookie or entry: `name` is that name, if it is not the usual one.
 */
export const hasRefusal = (map: CategoryMap, name: string | undefined): boolean =>
  [vanilla, klaro, cookiebot, oneTrust].some((isRefusal) => {
    try {
      return isRefusal(map, name);
    } catch {
      return false;
    }
  });
