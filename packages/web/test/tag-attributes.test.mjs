import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import astro from '../dist/astro.js';
import { load } from '../dist/index.js';
import { ConsentTag } from '../dist/next.js';
import nuxt from '../dist/nuxt.js';

const OPTIONS = { service: 'https://consent.example.com', pixel: 'p' };
const ATTRIBUTES = { 'data-assent-layer': 'shopLayer', 'data-assent-signals': 'uet clarity', 'data-assent-compat': '', 'data-assent-compat-cookie': 'cc' };
const ALL = { ...OPTIONS, layer: 'shopLayer', signals: 'uet clarity', compat: '', compatCookie: 'cc' };

/** The attributes of a script element as a page with no other script would have it. */
const openPage = () => {
  const added = [];
  globalThis.window = {};
  globalThis.document = {
    scripts: [],
    createElement: () => ({
      attributes: {},
      setAttribute(name, value) {
        this.attributes[name] = value;
      },
    }),
    head: { prepend: (script) => added.push(script) },
  };
  return added;
};
afterEach(() => {
  delete globalThis.window;
  delete globalThis.document;
});

/** What each entry gives to the tag's element. */
const ENTRIES = {
  load(options) {
    const added = openPage();
    load(options);
    return added[0].attributes;
  },
  next: (options) => ConsentTag(options).props,
  nuxt(options) {
    const page = { options: { app: { head: {} }, build: { transpile: [] } }, hook() {} };
    nuxt(options, page);
    return page.options.app.head.script[0];
  },
  astro(options) {
    const added = openPage();
    const injectScript = (stage, code) => stage === 'head-inline' && (0, eval)(code);
    astro(options).hooks['astro:config:setup']({ injectScript });
    return added[0].attributes;
  },
};

for (const [entry, attributesOf] of Object.entries(ENTRIES)) {
  test(`${entry} gives the tag its attributes, and none that is not wanted`, () => {
    const found = (options) => Object.fromEntries(Object.entries(attributesOf(options)).filter(([name]) => name.startsWith('data-')));
    assert.deepEqual(found(ALL), ATTRIBUTES);
    assert.deepEqual(found(OPTIONS), {});
  });
}

test('the queue passes calls on, and returns a function that removes a listener', () => {
  openPage();
  load(OPTIONS);
  const { assent } = globalThis.window;
  const heard = [];
  const off = assent('on', 'change', (now) => heard.push(['removed', now]));
  assent('on', 'change', (now) => heard.push(['kept', now]));
  assent('open');
  off();
  const [, , [name]] = assent.q;
  assert.equal(name, 'open');
  for (const [, , listener] of assent.q.slice(0, 2)) listener('now');
  assert.deepEqual(heard, [['kept', 'now']]);
});
