import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromiumOnly } from '../support/browsers';
import { expect, Shop, test } from '../support/fixtures';
import { requestsWith } from '../support/requests';

/**
 * Pages that the browser itself prerenders; other tests set `document.prerendering`. Playwright has no support for
 * prerendered pages, so the browser is started without it, and the pages report to the service's address.
 */

// Prerendering needs no certificate below `localhost`, and no rule for the name of the host.
test.use({ zone: 'localhost' });

const onlyChromium = chromiumOnly('Firefox prerenders no pages');

/**
 * Accepts if the test says so, lets the browser prerender the second page, and goes there once it has run, or after 30
 * seconds.
 */
const first = (accepts: boolean): string => `<h1>First</h1><script>
  const go = () => (location.href = '/second');
  const started = setInterval(async () => {
    if (!window.assent?.get) return;
    clearInterval(started);
    ${accepts ? 'await assent.accept();' : ''}
    const rules = document.createElement('script');
    rules.type = 'speculationrules';
    rules.textContent = JSON.stringify({ prerender: [{ source: 'list', urls: ['/second'], eagerness: 'immediate' }] });
    document.head.append(rules);
    setTimeout(go, 30_000);
    const prepared = setInterval(() => {
      if (!localStorage.prerendered) return;
      clearInterval(prepared);
      go();
    }, 100);
  }, 100);
</script>`;

/** The other observations on a page with a gated script, a gated frame and a vendor. A placeholder has buttons, the video a heading. */
const PARTS = `google: Array.from(window.dataLayer || [], ([, command]) => command),
  uet: (window.uetq || []).map((part) => part.ad_storage).filter(Boolean),
  ran: window.ran || 0,
  frame: document.querySelector('iframe').contentDocument?.querySelector('button,h2')?.localName || 'empty',`;

/**
 * Reports what the tag has done and requested before the page was activated, and after that what the function `follow`
 * returns.
 */
const second = (shop: Shop, follow: string, parts = ''): string => `<script>
  const seen = () => ({ state: assent.get().state, tags: window.tagLoads || 0, isShown: !!document.querySelector('assent-ui'), ${parts} });
  const until = (isTrue) => new Promise((done) => {
    const waiting = setInterval(() => {
      if (!isTrue()) return;
      clearInterval(waiting);
      done();
    }, 100);
  });
  const report = (found) =>
    fetch('${shop.base}/prerendered', { method: 'POST', mode: 'no-cors', body: JSON.stringify({ pixel: '${shop.pixel.id}', ...found }) });
  const requested = () =>
    performance.getEntriesByType('resource').filter(({ name }) => name.startsWith('http')).map(({ name }) => new URL(name).pathname);
  const prepare = async () => {
    await until(() => window.assent?.get);
    setTimeout(() => (localStorage.prerendered = JSON.stringify({ ...seen(), requested: requested() })), 1500);
  };
  if (document.prerendering) prepare();
  else report({ before: 'not prerendered' });
  document.addEventListener('prerenderingchange', async () => {
    const before = JSON.parse(localStorage.prerendered);
    report({ before, ...(await (${follow})()) });
  });
</script>`;

/** Opens the first page in a browser of its own, and waits until the second one has reported exactly this. */
const expectReport = async (shop: Shop, executablePath: string, accepts: boolean, expected: object): Promise<void> => {
  const url = await shop.put('/', { body: first(accepts) });
  const folder = mkdtempSync(join(tmpdir(), 'assent-prerendering-'));
  const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${folder}`, url];
  const browser = spawn(executablePath, args, { stdio: 'ignore', detached: true });
  const exited = once(browser, 'exit');
  try {
    const reports = async (): Promise<unknown[]> =>
      (await requestsWith(shop.pixel.id)).filter(({ path }) => path === '/prerendered').map(({ body }) => JSON.parse(body));
    await expect.poll(reports, { timeout: 90_000 }).toEqual([{ pixel: shop.pixel.id, ...expected }]);
  } finally {
    // Its other processes end after it, and write into the folder until then.
    process.kill(-browser.pid!, 'SIGKILL');
    await exited;
    await rm(folder, { recursive: true, force: true, maxRetries: 20 });
  }
};

/** The observations on every page before it was activated: only the tag was requested. */
const untouched = (shop: Shop) => ({ state: null, tags: 0, isShown: false, requested: [`/px/${shop.pixel.id}.js`] });

test('a page that the browser prerenders shows and loads nothing until it is activated', onlyChromium, async ({ shop, launchOptions }) => {
  const follow = `async () => {
    await until(() => seen().tags && seen().isShown);
    return { after: seen() };
  }`;
  await shop.put('/second', { head: second(shop, follow) });
  await expectReport(shop, launchOptions.executablePath!, true, {
    before: untouched(shop),
    after: { state: 'accepted', tags: 1, isShown: true },
  });
});

test.describe('a prerendered page with a gated script, a gated frame and a vendor', onlyChromium, () => {
  /** Adds the second page. Its frame is of its own host, because browsers do not load others before the activation. */
  const putGated = async (shop: Shop, follow: string): Promise<void> => {
    await shop.putScript('/gated.js', 'window.ran = (window.ran || 0) + 1');
    await shop.put('/video', { html: '<!doctype html><title>Video</title><h2>A video</h2>' });
    const body = `<h1>Second</h1><script type="text/plain" data-assent="analytics" src="/gated.js"></script>
      <iframe data-assent="resolution" data-src="/video" width="560" height="315" title="Video"></iframe>`;
    const snippet = shop.policy.snippet.replace('<script ', '<script data-assent-signals="uet" ');
    await shop.put('/second', { head: second(shop, follow, PARTS), body, snippet });
  };

  /** The first script itself denies to Google, which requests nothing. */
  const before = (shop: Shop): object => ({ ...untouched(shop), google: ['default'], uet: [], ran: 0, frame: 'empty' });

  test('shows popup and placeholder and denies when it is activated, and then its button and signals work', async ({ shop, launchOptions }) => {
    const follow = `async () => {
      await until(() => seen().frame === 'button' && seen().uet.length === 2);
      const after = seen();
      const [, always] = document.querySelector('iframe').contentDocument.querySelectorAll('button');
      always.click();
      await until(() => seen().frame === 'h2' && seen().tags && seen().uet.length === 3);
      return { after, allowed: seen() };
    }`;
    await putGated(shop, follow);
    await expectReport(shop, launchOptions.executablePath!, false, {
      before: before(shop),
      after: { state: null, tags: 0, isShown: true, google: ['default'], uet: ['denied', 'denied'], ran: 0, frame: 'button' },
      allowed: {
        state: 'accepted',
        tags: 1,
        isShown: true,
        google: ['default', 'update'],
        uet: ['denied', 'denied', 'granted'],
        ran: 0,
        frame: 'h2',
      },
    });
  });

  test('starts and signals nothing before it is activated, although the visitor has accepted before', async ({ shop, launchOptions }) => {
    const follow = `async () => {
      await until(() => seen().frame === 'h2' && seen().tags && seen().ran && seen().uet.length === 2 && seen().isShown);
      return { after: seen() };
    }`;
    await putGated(shop, follow);
    await expectReport(shop, launchOptions.executablePath!, true, {
      before: before(shop),
      after: { state: 'accepted', tags: 1, isShown: true, google: ['default', 'update'], uet: ['denied', 'granted'], ran: 1, frame: 'h2' },
    });
  });
});
