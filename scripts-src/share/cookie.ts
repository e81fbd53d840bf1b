import { Choice, parseChoice } from '../consent-tag/choice';

const DAY_MS = 864e5;
/** Tolerance for a clock that was set back between two pages. */
const SKEW_MS = 300e3;
const START = 'assent=';
/** Set while the visitor may withdraw on the service's page, without this site being notified. */
const MAY_WITHDRAW = 'assent-ask=1';

/** The cookie with the shared choice of one pixel. Servers read it, too: its form is described in `docs/tag.md`. */
export interface Jar {
  /** The latest choice that is still valid; null if there is none. */
  read(): Choice | null;
  write(choice: Choice): void;
  remove(): void;
  /** Whether the visitor may have withdrawn on the service's page, which was opened on any subdomain. */
  mayHaveWithdrawn(): boolean;
  /** Notes for this many seconds that the visitor may withdraw there. */
  noteOpened(seconds: number): void;
}

/** Whether the first choice is later than the second. If both have the same time, a refusal counts as later. */
export const isLater = (one: Choice, other: Choice): boolean =>
  one.time > other.time || (one.time === other.time && one.state !== 'accepted' && other.state === 'accepted');

const parse = (cookie: string, pixel: string): Choice | null => {
  const [version, owner, state, time, purposes, hash, visitor, receipt, id, ...more] = cookie.slice(START.length).split('.');
  if (version !== '1' || owner !== pixel || !/^\w+$/.test(id || '') || more.length) return null;
  const choice = { state, time: +time, purposes: purposes ? purposes.split('~') : [], hash, visitor, receipt: receipt || undefined, id };
  return parseChoice(JSON.stringify(choice));
};

const format = (pixel: string, { state, time, purposes, hash, visitor, receipt, id }: Choice): string =>
  START + [1, pixel, state, time, purposes.join('~'), hash, visitor, receipt, id].join('.');

/** The cookie of a host and its subdomains. Every page below the host can write it, so it may contain anything. */
export const jarOf = (pixel: string, host: string, days: number): Jar => {
  // Several cookies have the same name if they were set for another path or for one subdomain.
  const cookies = (): string[] => document.cookie.split('; ').filter((cookie) => cookie.startsWith(START));
  const put = (cookie: string, seconds: number): void => {
    document.cookie = `${cookie};max-age=${Math.floor(seconds)};path=/;domain=${host};secure;samesite=lax`;
  };
  const left = ({ time }: Choice): number => time + days * DAY_MS - Date.now();
  const isValid = (choice: Choice): boolean => left(choice) > 0 && choice.time < Date.now() + SKEW_MS;
  const later = (last: Choice | null, cookie: string): Choice | null => {
    const next = parse(cookie, pixel);
    return next && isValid(next) && !(last && isLater(last, next)) ? next : last;
  };
  return {
    read: () => cookies().reduce(later, null),
    write: (choice) => put(format(pixel, choice), left(choice) / 1e3),
    remove: () => [START, MAY_WITHDRAW].forEach((cookie) => put(cookie, 0)),
    mayHaveWithdrawn: () => document.cookie.split('; ').includes(MAY_WITHDRAW),
    noteOpened: (seconds) => put(MAY_WITHDRAW, seconds),
  };
};
