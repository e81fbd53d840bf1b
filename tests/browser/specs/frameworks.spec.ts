import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Locator, Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { acceptAll, expect, frameText, popup, settle, Shop, state, test, watchRequests } from '../support/fixtures';
import { lastSignal } from '../support/vendors';

const file = (path: string): string => readFileSync(resolve(__dirname, '../node_modules', path), 'utf8');

/** A script that contains modules of npm, each as a function that is called when it is first required. */
const modules = (files: Record<string, string>): string =>
  `window.process = { env: { NODE_ENV: 'production' } };
  const loaded = {};
  const files = { ${Object.entries(files).map(([name, path]) => `'${name}'(module, exports, require) {${file(path)}\n}`)} };
  const require = (name) => {
    if (!loaded[name]) files[name]((loaded[name] = { exports: {} }), loaded[name].exports, require);
    return loaded[name].exports;
  };`;

const REACT: Record<string, () => string> = {
  'React 18': () =>
    modules({
      react: 'react-18/cjs/react.production.min.js',
      scheduler: 'react-dom-18/node_modules/scheduler/cjs/scheduler.production.min.js',
      'react-dom/client': 'react-dom-18/cjs/react-dom.production.min.js',
    }),
  'React 19': () =>
    modules({
      react: 'react/cjs/react.production.js',
      scheduler: 'scheduler/cjs/scheduler.production.js',
      'react-dom': 'react-dom/cjs/react-dom.production.js',
      'react-dom/client': 'react-dom/cjs/react-dom-client.production.js',
    }),
};

/** A site that is one React tree, including `<html>`. Hydration compares it with the markup below. */
const APP = `
  const { createElement: h, useState } = require('react');
  const App = () => {
    const [count, setCount] = useState(0);
    return h('html', { lang: 'en' },
      h('head', null, h('title', null, 'Shop'), h('script', { async: true, src: SRC }), h('script', { src: '/app.js', defer: true })),
      h('body', null, h('h1', null, 'Shop'), h('button', { id: 'count', onClick: () => setCount(count + 1) }, 'Bought ' + count)));
  };
  window.problems = [];
  const onRecoverableError = (error) => problems.push(String(error));
  const hydrate = () => {
    const root = require('react-dom/client').hydrateRoot(document, h(App), { onRecoverableError });
    window.another = () => root.render(h(App, { key: 'another' }));
  };`;

const markup = (src: string): string =>
  `<!DOCTYPE html><html lang="en"><head><title>Shop</title><script async="" src="${src}"></script>` +
  `<script src="/app.js" defer=""></script></head><body><h1>Shop</h1><button id="count">Bought 0</button></body></html>`;

const openReactSite = async (page: Page, shop: Shop, library: string, when: string): Promise<void> => {
  const src = `${shop.base}/px/${shop.pixel.id}.js`;
  await page.route('**/app.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: `(() => {${library}${APP.replace('SRC', `'${src}'`)}${when}})()` }),
  );
  await page.goto(await shop.put('/', { html: markup(src) }));
};

for (const [name, library] of Object.entries(REACT)) {
  for (const [order, when] of [
    ['before the popup is shown', 'hydrate()'],
    ['after the popup is shown', 'window.hydrate = hydrate'],
  ] as const) {
    test(`${name} hydrates a whole document ${order}: no error, and the popup works`, async ({ page, shop }) => {
      await openReactSite(page, shop, library(), when);
      await expect(popup(page).banner).toBeVisible();
      await page.evaluate(() => (window as any).hydrate?.());
      await expect(async () => {
        await page.locator('#count').click();
        await expect(page.locator('#count')).not.toHaveText('Bought 0', { timeout: 500 });
      }).toPass();
      await settle(page);
      expect(await page.evaluate(() => (window as any).problems)).toEqual([]);
      await acceptAll(page);
      await expect.poll(() => shop.tagLoads()).toBe(1);
      await page.evaluate(() => (window as any).assent.open());
      await expect(popup(page).preferences).toBeVisible();
    });
  }

  test(`${name} rebuilds the whole document: the popup and the preferences are shown again`, async ({ page, shop }) => {
    await openReactSite(page, shop, library(), 'hydrate()');
    await expect(popup(page).banner).toBeVisible();
    await expect.poll(() => page.evaluate(() => typeof (window as any).another)).toBe('function');
    await page.evaluate(() => document.body.replaceWith(document.body.cloneNode()));
    await expect(popup(page).banner).toBeVisible();
    await popup(page).choose.click();
    await popup(page).purpose('Statistics').check();
    await page.evaluate(() => document.body.replaceChildren());
    await expect(popup(page).purpose('Statistics')).toBeChecked();
    await page.keyboard.press('Escape');
    await expect(popup(page).preferences, 'it is modal again').toBeHidden();
    await expect(popup(page).banner).toBeVisible();
  });
}

/** Names a vendor in the snippet of a shop, and lets the tag honour the markup of another tool. */
const addSignalsAndCompat = (shop: Shop): void => {
  shop.policy.snippet = shop.policy.snippet.replace('<script ', '<script data-assent-signals="uet" data-assent-compat ');
};

/** Goes to another page, where a script of another tool's markup waits, and makes a choice in each direction there. */
const expectSignalsAndCompat = async (page: Page, goOn: (heading: string) => Promise<void>): Promise<void> => {
  const foreign = (): Promise<unknown> => page.evaluate(() => (window as any).foreign);
  await goOn('Second');
  await page.evaluate(() => {
    const script = document.createElement('script');
    Object.assign(script, { type: 'text/plain', textContent: 'window.foreign = 1' });
    script.dataset.category = 'analytics';
    document.querySelector('h1')!.after(script);
  });
  await expect.poll(() => lastSignal(page, 'uet')).toEqual({ ads: false });
  await settle(page);
  expect(await foreign(), 'it waits').toBeUndefined();
  await acceptAll(page);
  await expect.poll(() => lastSignal(page, 'uet')).toEqual({ ads: true });
  await expect.poll(foreign).toBe(1);
  await goOn('First');
  await page.evaluate(() => (window as any).assent.withdraw());
  await expect.poll(() => lastSignal(page, 'uet')).toEqual({ ads: false });
};

test.describe('React Router changes the page without loading it', () => {
  const ROUTER = (): string =>
    modules({
      react: 'react/cjs/react.production.js',
      cookie: 'cookie/dist/index.js',
      'set-cookie-parser': 'set-cookie-parser/lib/set-cookie.js',
      scheduler: 'scheduler/cjs/scheduler.production.js',
      'react-dom': 'react-dom/cjs/react-dom.production.js',
      'react-dom/client': 'react-dom/cjs/react-dom-client.production.js',
      ...Object.fromEntries(['3IBQ4CTZ', 'AC65NKOP', '2WUBOUFU'].map((name) => [`./chunk-${name}.js`, `react-router/dist/production/chunk-${name}.js`])),
      'react-router': 'react-router/dist/production/index.js',
    });

  /** Two routes. The second has a gated script and a gated frame. */
  const ROUTES = `
    const { createElement: h, useEffect, useRef } = require('react');
    const { BrowserRouter, Link, Route, Routes } = require('react-router');
    const Gated = () => {
      const place = useRef();
      useEffect(() => {
        const script = document.createElement('script');
        Object.assign(script, { type: 'text/plain', textContent: 'window.ran = (window.ran || 0) + 1' });
        script.dataset.assent = 'analytics';
        place.current.append(script);
      }, []);
      return h('div', { ref: place });
    };
    const First = () => h('main', null, h('h1', null, 'First'), h(Link, { to: '/second' }, 'Go on'));
    const Second = () => h('main', null, h('h1', null, 'Second'), h(Link, { to: '/' }, 'Go on'), h(Gated),
      h('iframe', { 'data-assent': 'analytics', 'data-src': '/frame', title: 'Video', width: 400, height: 300 }));
    require('react-dom/client').createRoot(document.getElementById('app')).render(
      h(BrowserRouter, null, h(Routes, null, h(Route, { path: '/', element: h(First) }), h(Route, { path: '/second', element: h(Second) }))));`;

  const open = async (page: Page, shop: Shop): Promise<void> => {
    await page.route('**/app.js', (route) => route.fulfill({ contentType: 'text/javascript', body: `(() => {${ROUTER()}${ROUTES}})()` }));
    await shop.put('/frame', { html: '<p>Shown</p>' });
    await page.goto(await shop.put('/', { body: '<div id="app"></div><script src="/app.js"></script>' }));
    await expect(popup(page).banner).toBeVisible();
  };

  const goOn = async (page: Page, heading: string): Promise<void> => {
    await page.getByText('Go on').click();
    await expect(page.locator('h1')).toHaveText(heading);
  };

  const VIDEO_FRAME = 'iframe[title=Video]';
  const once = (page: Page): Locator => page.frameLocator(VIDEO_FRAME).getByRole('button', { name: 'Show once' });
  // The placeholder contains the word too.
  const content = (page: Page): Locator => page.frameLocator(VIDEO_FRAME).getByText('Shown', { exact: true });
  const framesIn = (requests: string[]): number => requests.filter((request) => request === 'GET /frame').length;

  test('the popup stays, and what a route adds waits for the acceptance', chromiumOnly(LACKS.removedFrame), async ({ page, shop }) => {
    await open(page, shop);
    await page.evaluate(() => ((window as any).mark = 1));
    await goOn(page, 'Second');
    await expect(popup(page).banner).toBeVisible();
    await expect(page.locator('assent-ui').first()).toBeAttached();
    await settle(page);
    expect(await page.evaluate(() => (window as any).ran)).toBeUndefined();
    await acceptAll(page);
    await expect.poll(() => page.evaluate(() => (window as any).ran)).toBe(1);
    await expect(content(page)).toBeVisible();
    await goOn(page, 'First');
    await goOn(page, 'Second');
    await expect.poll(() => page.evaluate(() => (window as any).ran), 'the new element runs too').toBe(2);
    await expect(popup(page).wayBack).toBeVisible();
    expect(await page.evaluate(() => (window as any).mark), 'one document').toBe(1);
    expect(await shop.tagLoads()).toBe(1);
  });

  test('a frame shows its placeholder, and after the acceptance its content, each time its route is entered', chromiumOnly(LACKS.removedFrame), async ({ page, shop }) => {
    const requests = watchRequests(page);
    await open(page, shop);
    for (let visit = 0; visit < 2; visit++) {
      await goOn(page, 'Second');
      await expect(once(page)).toBeVisible();
      await goOn(page, 'First');
    }
    await goOn(page, 'Second');
    await expect(once(page)).toBeVisible();
    await settle(page);
    expect(framesIn(requests), 'requests before the acceptance').toBe(0);
    await acceptAll(page);
    await expect(content(page)).toBeVisible();
    await goOn(page, 'First');
    await goOn(page, 'Second');
    await expect(content(page)).toBeVisible();
    await expect(once(page)).toHaveCount(0);
    await settle(page);
    expect(framesIn(requests), 'one request for each time').toBe(2);
  });

  test('a frame that is shown once waits again when its route is entered again', chromiumOnly(LACKS.removedFrame), async ({ page, shop }) => {
    const requests = watchRequests(page);
    await open(page, shop);
    await goOn(page, 'Second');
    await once(page).click();
    await expect(content(page)).toBeVisible();
    await goOn(page, 'First');
    await goOn(page, 'Second');
    await expect(once(page)).toBeVisible();
    await settle(page);
    expect(framesIn(requests)).toBe(1);
  });

  test('a frame waits after a withdrawal on another route, and is shown after another acceptance', chromiumOnly(LACKS.removedFrame), async ({ page, shop }) => {
    const requests = watchRequests(page);
    await open(page, shop);
    await goOn(page, 'Second');
    await acceptAll(page);
    await expect(content(page)).toBeVisible();
    await goOn(page, 'First');
    await page.evaluate(() => (window as any).assent.withdraw());
    await goOn(page, 'Second');
    await expect(once(page)).toBeVisible();
    await settle(page);
    expect(framesIn(requests), 'requests after the withdrawal').toBe(1);
    await page.frameLocator(VIDEO_FRAME).getByRole('button', { name: 'Always allow' }).click();
    await expect(content(page)).toBeVisible();
    expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['analytics'] });
  });

  test('vendors and the markup of other tools follow a choice on a later page', async ({ page, shop }) => {
    addSignalsAndCompat(shop);
    await open(page, shop);
    await expectSignalsAndCompat(page, (heading) => goOn(page, heading));
  });

  test('a withdrawal also counts for routes that are shown later', async ({ page, shop }) => {
    await open(page, shop);
    await acceptAll(page);
    await page.evaluate(() => (window as any).assent.withdraw());
    await goOn(page, 'Second');
    await settle(page);
    expect(await page.evaluate(() => (window as any).ran)).toBeUndefined();
    await expect(page.locator('iframe[title=Video]')).not.toHaveAttribute('src', /frame/);
  });
});

/** A frame of another site that waits for consent. */
const VIDEO = '<iframe title="Video" data-assent="analytics" data-src="https://video.example/player"></iframe>';

/**
 * Accepts on a page with `VIDEO`, withdraws on the next page, and goes back to the first one as the framework has cached
 * it. Its frame must wait again, without another request.
 */
const expectCachedFrameToWait = async (page: Page, goOn: () => Promise<void>): Promise<void> => {
  let requests = 0;
  await page.route('https://video.example/**', async (route) => {
    requests++;
    await route.fulfill({ contentType: 'text/html', body: '<h2>A video</h2>' });
  });
  await acceptAll(page);
  await expect(page.frameLocator('iframe').locator('h2')).toHaveText('A video');
  await goOn();
  await page.evaluate(() => (window as any).assent.withdraw());
  const before = requests;
  await page.evaluate(() => history.back());
  await expect(page.locator('h1')).toHaveText('First');
  await expect.poll(() => frameText(page)).toContain('Show once');
  await settle(page);
  expect(requests, 'requests after the withdrawal').toBe(before);
};

test.describe('Turbo replaces the body', () => {
  const pageOf = (heading: string, link: string): string =>
    `<h1>${heading}</h1><a href="${link}">Go on</a><script type="text/plain" data-assent="analytics">window.ran = (window.ran || 0) + 1</script>`;

  const open = async (page: Page, shop: Shop, more = ''): Promise<void> => {
    await page.route('**/turbo.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: file('@hotwired/turbo/dist/turbo.es2017-umd.js') }),
    );
    const head = '<script src="/turbo.js"></script>';
    await shop.put('/second', { head, body: pageOf('Second', '/') });
    await page.goto(await shop.put('/', { head, body: pageOf('First', '/second') + more }));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate(() => ((window as any).mark = 1));
  };

  const goOn = async (page: Page, heading: string): Promise<void> => {
    await page.getByText('Go on').click();
    await expect(page.locator('h1')).toHaveText(heading);
  };

  test('the popup is shown once on every page', async ({ page, shop }) => {
    await open(page, shop);
    for (let visit = 0; visit < 6; visit++) {
      // Slower than a page that always removes the popup, and does not get it again.
      await page.waitForTimeout(1100);
      await goOn(page, visit % 2 ? 'First' : 'Second');
      await expect(popup(page).banner).toBeVisible();
      await expect(popup(page).banner).toHaveCount(1);
    }
    await acceptAll(page);
    await expect.poll(() => page.evaluate(() => (window as any).ran)).toBe(1);
    expect(await page.evaluate(() => (window as any).mark), 'one document').toBe(1);
  });

  test('vendors and the markup of other tools follow a choice on a later page', async ({ page, shop }) => {
    addSignalsAndCompat(shop);
    await open(page, shop);
    await expectSignalsAndCompat(page, (heading) => goOn(page, heading));
  });

  test('gated scripts of later pages run after an acceptance, and not after a withdrawal', async ({ page, shop }) => {
    await open(page, shop);
    await acceptAll(page);
    await expect.poll(() => page.evaluate(() => (window as any).ran)).toBe(1);
    await goOn(page, 'Second');
    await expect.poll(() => page.evaluate(() => (window as any).ran)).toBe(2);
    await expect(popup(page).wayBack).toBeVisible();
    expect(await shop.tagLoads()).toBe(1);
    await page.evaluate(() => (window as any).assent.withdraw());
    await goOn(page, 'First');
    await settle(page);
    expect(await page.evaluate(() => (window as any).ran)).toBe(2);
    expect((await state(page)).state).toBe('withdrawn');
  });

  test('a frame of a page from Turbo’s cache waits after a withdrawal', chromiumOnly(LACKS.historyBack), async ({ page, shop }) => {
    await open(page, shop, VIDEO);
    await expectCachedFrameToWait(page, () => goOn(page, 'Second'));
  });

  test('a page from Turbo’s cache shows the popup once', chromiumOnly(LACKS.historyBack), async ({ page, shop }) => {
    await open(page, shop);
    await goOn(page, 'Second');
    await page.evaluate(() => history.back());
    await expect(page.locator('h1')).toHaveText('First');
    await expect(popup(page).banner).toBeVisible();
    await expect(popup(page).banner).toHaveCount(1);
    await acceptAll(page);
    expect((await state(page)).state).toBe('accepted');
  });
});

test.describe('htmx replaces the body', () => {
  const pageOf = (heading: string, link: string): string =>
    `<h1>${heading}</h1><a href="${link}">Go on</a><button data-assent-open>Privacy</button>`;

  const open = async (page: Page, shop: Shop, more = ''): Promise<void> => {
    await page.route('**/htmx.js', (route) => route.fulfill({ contentType: 'text/javascript', body: file('htmx.org/dist/htmx.js') }));
    // Before htmx reads the document, which it does in a listener of the same event.
    const boost = `document.addEventListener('DOMContentLoaded', () => document.body.setAttribute('hx-boost', 'true'))`;
    const head = `<script>${boost}</script><script src="/htmx.js"></script>`;
    await shop.put('/second', { head, body: pageOf('Second', '/') });
    await page.goto(await shop.put('/', { head, body: pageOf('First', '/second') + more }));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate(() => ((window as any).mark = 1));
  };

  const goOn = async (page: Page, heading: string): Promise<void> => {
    await page.getByText('Go on').click();
    await expect(page.locator('h1')).toHaveText(heading);
    expect(await page.evaluate(() => (window as any).mark), 'one document').toBe(1);
  };

  test('and the popup is shown once on every page', async ({ page, shop }) => {
    await open(page, shop);
    for (let visit = 0; visit < 6; visit++) {
      // As with Turbo, slower than a page that always removes the popup.
      await page.waitForTimeout(1100);
      await goOn(page, visit % 2 ? 'First' : 'Second');
      await expect(popup(page).banner).toBeVisible();
      await expect(page.locator('assent-ui')).toHaveCount(1);
    }
    await acceptAll(page);
    expect((await state(page)).state).toBe('accepted');
  });

  test('and vendors and the markup of other tools follow a choice on a later page', async ({ page, shop }) => {
    addSignalsAndCompat(shop);
    await open(page, shop);
    await expectSignalsAndCompat(page, (heading) => goOn(page, heading));
  });

  test('and a frame of a page from its cache waits after a withdrawal', chromiumOnly(LACKS.historyBack), async ({ page, shop }) => {
    await open(page, shop, VIDEO);
    await expectCachedFrameToWait(page, () => goOn(page, 'Second'));
  });

  test('and the popup is shown once after going back', chromiumOnly(LACKS.historyBack), async ({ page, shop }) => {
    await open(page, shop);
    await goOn(page, 'Second');
    await page.evaluate(() => history.back());
    await expect(page.locator('h1')).toHaveText('First');
    await expect(popup(page).banner).toBeVisible();
    await expect(page.locator('assent-ui')).toHaveCount(1);
    await acceptAll(page);
    expect((await state(page)).state).toBe('accepted');
  });

  test('and the preferences can be opened', async ({ page, shop }) => {
    await open(page, shop);
    await acceptAll(page);
    await goOn(page, 'Second');
    await expect(popup(page).wayBack).toBeVisible();
    await page.evaluate(() => (window as any).assent.open());
    await expect(popup(page).preferences).toBeVisible();
    await page.keyboard.press('Escape');
    await page.getByText('Privacy', { exact: true }).click();
    await expect(popup(page).preferences).toBeVisible();
  });
});

test('a page that always removes the popup does not get it again, and can still open it', async ({ page, shop }) => {
  const head = `<script>
    window.taken = 0;
    window.guard = new MutationObserver(() => {
      const host = document.querySelector('assent-ui');
      if (host) { host.remove(); taken++ }
    });
    guard.observe(document, { childList: true, subtree: true });
  </script>`;
  await page.goto(await shop.put('/', { head }));
  await expect.poll(() => page.evaluate(() => (window as any).taken)).toBeGreaterThan(0);
  await page.waitForTimeout(500);
  const removals = await page.evaluate(() => (window as any).taken);
  expect(removals).toBeLessThan(10);
  await page.evaluate(() => document.body.append('more'));
  await settle(page);
  expect(await page.evaluate(() => (window as any).taken)).toBe(removals);
  await page.evaluate(() => {
    (window as any).guard.disconnect();
    (window as any).assent.open();
  });
  await expect(popup(page).preferences).toBeVisible();
});
