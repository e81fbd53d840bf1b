// Loads one page with either popup, in turn, on an emulated phone: 4x CPU slow-down, 1.6 Mbit/s,
// 150 ms. Prints, as JSON, the medians of: bytes and requests until the popup is visible, milliseconds
// from navigation to its first appearance, and until it is visible: in its final position and opaque; and the
// milliseconds for which scripts of either occupy the main thread for a visitor who has answered before.
//
//   node measure.mjs TAG_URL

import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { brotliCompressSync } from 'node:zlib';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const ROUNDS = 51;
const DECIDED_ROUNDS = 15;
const tagUrl = process.argv[2];
const rival = createRequire(import.meta.url).resolve('vanilla-cookieconsent').replace(/[^/]+$/, '');

const page = (head) => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">${head}</head>
<body><main><h1>Example shop</h1><p>${'Fresh bread every morning, cakes to order, coffee all day. '.repeat(12)}</p></main></body></html>`;

// The setup of its documentation, with the files of its package, compressed like those of the tag.
const rivalPage = (base) => page(`<link rel="stylesheet" href="${base}/cookieconsent.css">
<script defer src="${base}/cookieconsent.umd.js"></script>
<script>addEventListener('DOMContentLoaded', () => CookieConsent.run({
  hideFromBots: false,
  categories: { necessary: { enabled: true, readOnly: true }, analytics: {} },
  language: { default: 'en', translations: { en: {
    consentModal: { title: 'We use cookies', description: 'Cookie modal description',
      acceptAllBtn: 'Accept all', acceptNecessaryBtn: 'Reject all', showPreferencesBtn: 'Manage preferences' },
    preferencesModal: { title: 'Manage cookie preferences', acceptAllBtn: 'Accept all', acceptNecessaryBtn: 'Reject all',
      savePreferencesBtn: 'Accept current selection', closeIconLabel: 'Close modal', sections: [
        { title: 'Strictly necessary', description: 'These cookies are essential.', linkedCategory: 'necessary' },
        { title: 'Analytics', description: 'These cookies collect information.', linkedCategory: 'analytics' }] } } } },
}));</script>`);

const serve = () =>
  new Promise((resolve) => {
    const files = Object.fromEntries(
      [['cookieconsent.css', 'text/css'], ['cookieconsent.umd.js', 'application/javascript']].map(([name, type]) => [
        `/${name}`,
        { type, body: brotliCompressSync(readFileSync(rival + name)) },
      ]),
    );
    const server = createServer((request, response) => {
      const base = `http://localhost:${server.address().port}`;
      const file = files[request.url];
      if (file)
        return response.writeHead(200, { 'Content-Type': file.type, 'Content-Encoding': 'br', 'Cache-Control': 'no-store' }).end(file.body);
      const html = request.url === '/rival' ? rivalPage(base) : page(`<script async src="${tagUrl}"></script>`);
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' }).end(html);
    });
    server.listen(0, '127.0.0.1', () => resolve(server));
  });

// Records the first frame that contains a dialog, and the first in which it can be read: opaque and
// without a running transition. Before the page has changed it checks nothing else, because checks take
// time on a slow phone, and would be part of the measurement.
const watch = () => {
  const dialogs = () => {
    const host = document.querySelector('assent-ui, #cc-main');
    return host ? [...(host.shadowRoot || host).querySelectorAll('[role="dialog"]')] : [];
  };
  const hasTrace = (element) => {
    const box = element.getBoundingClientRect();
    const inside = box.width > 50 && box.height > 50 && box.top < innerHeight && box.bottom > 0;
    return inside && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const opacity = (element) => {
    if (!element) return 1;
    const above = element.parentElement || element.getRootNode().host;
    return Number(getComputedStyle(element).opacity) * opacity(above);
  };
  const isVisible = (element) => opacity(element) > 0.99 && !element.getAnimations().length;
  const look = () => {
    const found = dialogs().filter(hasTrace);
    if (found.length) window.traceAt = window.traceAt || performance.now();
    if (found.some(isVisible)) window.visibleAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};

const load = async (browser, url) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, locale: 'en-US' });
  const tab = await context.newPage();
  await tab.addInitScript(watch);
  const session = await context.newCDPSession(tab);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  const rate = (1.6 * 1000 * 1000) / 8;
  await session.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: rate, uploadThroughput: rate });
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  const found = { bytes: 0, requests: 0 };
  const addresses = new Map();
  session.on('Network.requestWillBeSent', ({ requestId, request }) => addresses.set(requestId, request.url));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const address = addresses.get(requestId) || '';
    if (address === url || !address.startsWith('http')) return;
    found.bytes += encodedDataLength;
    found.requests += 1;
  });
  await tab.goto(url, { waitUntil: 'commit' });
  // This uses the protocol: Playwright's own methods first add a script to the page that keeps it busy for a tenth of
  // a second.
  const read = async (expression) => (await session.send('Runtime.evaluate', { expression, returnByValue: true })).result.value;
  for (let tries = 0; !(await read('window.visibleAt')); tries++) {
    if (tries === 150) throw new Error(`no popup on ${url}`);
    await setTimeout(200);
  }
  const atPopup = { ...found, ...(await read('({ trace: traceAt, ms: visibleAt })')) };
  await context.close();
  return atPopup;
};

/** Milliseconds in which scripts whose address contains one of these texts occupied the main thread, from the events of a trace. */
const scriptTime = (events, texts) => {
  const kinds = ['EvaluateScript', 'v8.compile', 'v8.compileModule', 'v8.evaluateModule', 'FunctionCall'];
  const isOwn = ({ name, args, ph }) => {
    const address = String(args?.data?.url || args?.fileName || '');
    return ph === 'X' && kinds.includes(name) && texts.some((text) => address.includes(text));
  };
  const own = events.filter(isOwn);
  // Nested events are part of the outer one.
  const isInside = (event) => own.some((other) => other !== event && other.ts <= event.ts && other.ts + other.dur >= event.ts + event.dur);
  return own.filter((event) => !isInside(event)).reduce((sum, { tdur, dur }) => sum + (tdur ?? dur), 0) / 1000;
};

/** Answers with a button, and measures the page views after that. */
const loadDecided = async (browser, url, button, texts) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, locale: 'en-US' });
  const tab = await context.newPage();
  await tab.goto(url);
  await tab.getByRole('button', { name: button, exact: true }).click();
  await setTimeout(1000);
  const session = await context.newCDPSession(tab);
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  const times = [];
  for (let round = 0; round <= DECIDED_ROUNDS; round++) {
    const events = [];
    const collect = ({ value }) => events.push(...value);
    session.on('Tracing.dataCollected', collect);
    const traceConfig = { includedCategories: ['devtools.timeline', 'v8'] };
    await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig });
    await tab.reload();
    await setTimeout(1200);
    const complete = new Promise((done) => session.once('Tracing.tracingComplete', done));
    await session.send('Tracing.end');
    await complete;
    session.off('Tracing.dataCollected', collect);
    if (round) times.push(scriptTime(events, texts));
  }
  await context.close();
  return median(times);
};

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const server = await serve();
const address = `127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run',
    `--host-resolver-rules=MAP shop.example ${address}`],
});
const runs = { ours: [], rival: [] };
for (let round = 0; round <= ROUNDS; round++)
  for (const name of round % 2 ? ['ours', 'rival'] : ['rival', 'ours']) {
    const found = await load(browser, `http://shop.example/${name}`);
    if (round) runs[name].push(found);
  }
// All scripts of the service count; the rival's documentation starts it from the page.
const answer = async (ours, rival) => ({
  ours: await loadDecided(browser, 'http://shop.example/ours', ours, [new URL(tagUrl).origin]),
  rival: await loadDecided(browser, 'http://shop.example/rival', rival, ['/cookieconsent', '/rival']),
});
const decided = { declined: await answer('Decline', 'Reject all'), accepted: await answer('Accept', 'Accept all') };
await browser.close();
server.close();
const of = (name) => Object.fromEntries(['bytes', 'requests', 'trace', 'ms'].map((key) => [key, median(runs[name].map((run) => run[key]))]));
const ratio = (key) => median(runs.ours.map((run, round) => run[key] / runs.rival[round][key]));
console.log(JSON.stringify({ ours: of('ours'), rival: of('rival'), ratio: ratio('ms'), traceRatio: ratio('trace'), decided }));
