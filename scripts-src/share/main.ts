import { Choice, choiceId, only, parseChoice } from '../consent-tag/choice';
import type { TagConfig } from '../shared/config';
import { explain } from '../shared/explain';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { isLater, Jar, jarOf } from './cookie';

/** For how long the service's confirmation of an acceptance counts on a subdomain. */
const CONFIRMED_MS = 36e5;
/** The time in which an acceptance that was sent before a refusal may be recorded after it. */
const PENDING_MS = 12e3;
/** The time after which the service is asked again if it has not answered. The tag waits for 8 seconds. */
const RETRY_MS = 1e4;
/** The time during which a withdrawal on the service's page is expected, after that page was opened. */
const OPEN_MS = 864e5;
/** The interval at which a page checks the cookie, for browsers that do not report its changes. */
const POLL_MS = 1e3;

/** The tag on this page. */
interface Tag {
  config: TagConfig;
  restore(): void;
}

/** The part of the value of `assent.get()` that is used here. */
interface Snapshot {
  state: string | null;
  receipt: string | null;
}

const nameOf = ({ id, time }: Choice): string => id + time;

/**
 * Returns functions that make the choice in local storage and in the cookie the same: the later one counts. A refusal
 * counts at once. An acceptance of another subdomain is marked, so that the tag asks the service before it is in force.
 */
const synchronizer = ({ config, restore }: Tag, jar: Jar) => {
  const key = `assent:${config.pixel}`;
  let isStarted = false;
  /** The choice in local storage that was last compared with the cookie. */
  let seen: Choice | null = null;
  /** The acceptance that was taken over last. One that was given up is not taken over again. */
  let taken: string | undefined;
  let markedAt = 0;
  /** The acceptance that the service has confirmed. */
  let confirmed: string | undefined;

  const load = (): Choice | null => (seen = parseChoice(localStorage.getItem(key)));
  const save = (choice: Choice): void => {
    localStorage.setItem(key, JSON.stringify((seen = choice)));
    if (isStarted) restore();
  };
  const mark = (): void => {
    markedAt = Date.now();
    localStorage[key + '?'] = localStorage[key + '?'] || 1;
  };

  /** Makes all subdomains ask the service after the visitor has opened its page on one of them. */
  const shareOpened = (): void => {
    const openedAt = +localStorage[key + '?'];
    const left = openedAt + OPEN_MS - Date.now();
    // The entry is 1 where the page was not opened on this host.
    if (openedAt > 1 && left > 0 && !jar.mayHaveWithdrawn()) jar.noteOpened(left / 1e3);
  };

  /** Takes over the choice of another subdomain. */
  const take = (shared: Choice, local: Choice | null): void => {
    const next: Choice = { ...shared, stored: local?.stored };
    if (shared.state !== 'accepted') {
      if (gpc()) return;
      // Written again, because some browsers count the lifetime of a script's cookie from the last time.
      if (!isStarted) guard(() => jar.write(shared));
      // The service must not keep an acceptance that was made here as the latest choice of its visitor.
      const isLate = local && nameOf(local) !== taken && local.time > shared.time - PENDING_MS;
      const isRecorded = local?.state === 'accepted' && (isLate || local.visitor !== shared.visitor);
      // An acceptance whose tab was closed before the answer may be recorded after this refusal.
      const isPending = localStorage[key + '+'] > shared.time - PENDING_MS;
      const visitor = local?.visitor || shared.visitor;
      return save(isRecorded || isPending ? { ...next, visitor, receipt: undefined, id: choiceId() } : next);
    }
    // The acceptance of this page that is being recorded comes first.
    if (taken === nameOf(shared) || Date.now() - localStorage[key + '+'] < PENDING_MS) return;
    taken = nameOf(shared);
    mark();
    save(next);
  };

  const sync = (again?: boolean): void => {
    const before = seen;
    let local = load();
    const shared = jar.read();
    if (!local) {
      // A page that clears its storage removes all entries of the tag. A tag that forgets the visitor keeps this one.
      const isCleared = before?.state === 'accepted' ? confirmed === before.id && !localStorage[key + '='] : !gpc();
      const isWithdrawnByGpc = gpc() && shared && shared.state !== 'accepted' && !shared.receipt;
      if (!isWithdrawnByGpc && (!before || isCleared)) return void (shared && take(shared, null));
      // The visitor was forgotten on this page or, under Global Privacy Control, on an earlier one.
      localStorage.removeItem(key + '=');
      return jar.remove();
    }
    const isAccepted = local.state === 'accepted';
    if (shared && isLater(shared, local)) {
      if (isAccepted || shared.state !== 'accepted') return take(shared, local);
      if (!isStarted || (before?.id === local.id && before.state === local.state)) {
        // An acceptance of another visitor or notice does not overrule a refusal of the current notice.
        const mayOverrule = shared.hash === config.hash && (shared.visitor === local.visitor || local.hash !== config.hash);
        return mayOverrule ? take(shared, local) : undefined;
      }
      // A refusal of this page, or of the service about this acceptance, counts whatever the clock says.
      save((local = { ...local, time: shared.time + 1 }));
    } else if (isAccepted && shared?.time === local.time) {
      const purposes = only(local.purposes, shared.purposes);
      if (purposes.length < local.purposes.length) save((local = { ...local, purposes }));
    }
    // An acceptance must be in force to be shared. A refusal is not read from `window.assent`: a page may replace it.
    const { state, receipt } = isAccepted ? (window as unknown as { assent: { get(): Snapshot } }).assent.get() : local;
    if (isAccepted && (state !== 'accepted' || receipt !== local.receipt)) {
      // The service has not answered.
      if (isStarted && !state && local.hash === config.hash && Date.now() - markedAt > RETRY_MS) {
        mark();
        restore();
      }
      return;
    }
    const isNew = isAccepted && confirmed !== local.id;
    const isSame = shared?.id === local.id;
    // Whether this choice adds something. Otherwise two subdomains could replace each other's choice endlessly.
    const isMore = isSame && (shared!.purposes.length > local.purposes.length || (local.receipt && !shared!.receipt));
    if (shared ? isLater(local, shared) || isMore : !gpc()) jar.write(local);
    // An unchanged choice is written again too, because some browsers count a cookie's lifetime from the last time.
    // With `again` it is a refusal, whose id in the cookie may be another.
    else if (shared && (again || (isSame && isNew))) jar.write(shared);
    if (!isNew) return;
    confirmed = local.id;
    localStorage[key + '='] = Date.now();
  };

  return {
    sync(): void {
      guard(shareOpened);
      guard(sync);
    },
    /** Sets the mark when the visitor returns to this page, so that the tag asks the service next. */
    returned(): void {
      guard(() => !document.hidden && jar.mayHaveWithdrawn() && mark());
    },
    /** Called once, before the tag applies the stored choice. */
    first(): void {
      guard(() => sync(true));
      guard(() => {
        const [local, shared] = [load(), jar.read()];
        if (local?.state !== 'accepted') return;
        const isSame = shared?.id === local.id && shared.time === local.time && shared.visitor === local.visitor;
        const isRecent = Math.abs(Date.now() - localStorage[key + '=']) < CONFIRMED_MS;
        if (isSame && isRecent && !localStorage[key + '?'] && !jar.mayHaveWithdrawn()) return void (confirmed = local.id);
        try {
          mark();
        } catch {
          // An acceptance must not be in force without this mark.
          localStorage.removeItem(key);
        }
      });
      isStarted = true;
    },
  };
};

/** Removes the data that sharing has stored on this host, after it was turned off. */
const clear = (config: TagConfig, jar: Jar): void => {
  guard(jar.remove);
  guard(() => localStorage.removeItem(`assent:${config.pixel}=`));
};

/** The hosts in the configuration, and whether their subdomains no longer share. A site that moves has two. */
const sharingOf = (text: string): { hosts: string[]; hasEnded: boolean } => {
  const hosts = text.replace(/^-/, '');
  return { hosts: hosts.split(','), hasEnded: hosts !== text };
};

/** Shares the choice of the tag with the other subdomains from now on, and lets the tag start. */
export const share = (config: TagConfig, subscribe: (subscriber: () => void) => void, restore: () => void, start: () => void): void => {
  const { hosts, hasEnded } = sharingOf(config.share!);
  const { base } = config;
  const { hostname } = location;
  const section = 'one-choice-for-all-subdomains';
  // A page of another host cannot set the cookie.
  const host = hosts.find((one) => ('.' + hostname).endsWith('.' + one));
  const jar = host ? jarOf(config.pixel, host, config.days) : null;
  delete config.share;
  if (jar && hasEnded) {
    const key = `assent:${config.pixel}`;
    // Synchronised a last time: a refusal of another subdomain counts, and an acceptance may have been withdrawn there.
    guard(() => localStorage[key] && (localStorage[key + '='] || jar.read()) && synchronizer({ config, restore }, jar).first());
    clear(config, jar);
  } else if (jar) {
    if (!isSecureContext) explain(base, section, 'the choice on this page is not shared: the cookie needs HTTPS.');
    const { first, returned, sync } = synchronizer({ config, restore }, jar);
    first();
    // Called before all other subscribers, so that nothing acts on an acceptance that another subdomain has overruled.
    subscribe(sync);
    (window as unknown as { cookieStore?: EventTarget }).cookieStore?.addEventListener('change', sync);
    document.addEventListener('visibilitychange', returned);
    document.addEventListener('visibilitychange', sync);
    addEventListener('pageshow', sync);
    setInterval(sync, POLL_MS);
  } else if (!hasEnded) explain(base, section, `the choice on ${hostname} is not shared: the cookie is for ${hosts[0]} and its subdomains.`);
  start();
};
