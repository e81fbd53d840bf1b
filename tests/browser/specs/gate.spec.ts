import { Page } from '@playwright/test';
import { acceptAll, expect, popup, settle, stored, test } from '../support/fixtures';

const ran = (): unknown => (window as any).ran;

/** A script that records that it ran. */
const note = (name: string): string => `(window.ran = window.ran || []).push(${JSON.stringify(name)})`;

/** Counts the requests for these addresses. */
const count = (page: Page, addresses: string[]) => {
  const found = new Map(addresses.map((address) => [address, 0]));
  page.on('request', (request) => found.has(request.url()) && found.set(request.url(), found.get(request.url())! + 1));
  return (address: string): number => found.get(address)!;
};

test.describe('gated scripts', () => {
  test('run after the choice, in order, if all their purposes were accepted', async ({ page, shop }) => {
    const external = await shop.put('/external.js');
    await page.route('**/slow.js', async (route) => {
      await new Promise((done) => setTimeout(done, 300));
      await route.fulfill({ contentType: 'application/javascript', body: note('slow') });
    });
    await page.route('**/quick.js', (route) => route.fulfill({ contentType: 'application/javascript', body: note('quick') }));
    const body = `<h1>x</h1>
      <script type="text/plain" data-assent="analytics" src="${external.replace('external', 'slow')}" data-kept="yes"></script>
      <script type="text/plain" data-assent="analytics">${note('inline')}</script>
      <script type="text/plain" data-assent="analytics" src="/quick.js"></script>
      <script type="text/plain" data-assent="analytics" src="/missing.js"></script>
      <script type="text/plain" data-assent="analytics" data-assent-type="module">${note('module')}; export {}</script>
      <script type="text/plain" data-assent="resolution">${note('resolution')}</script>
      <script type="text/plain" data-assent="analytics, resolution">${note('both')}</script>
      <script type="text/plain" data-assent="">${note('nothing named')}</script>
      <script type="text/plain" data-assent="unknown">${note('unknown')}</script>`;
    await page.goto(await shop.put('/', { body }));
    await expect(popup(page).banner).toBeVisible();
    await settle(page);
    expect(await page.evaluate(ran)).toBeUndefined();

    await page.evaluate(() => (window as any).assent.accept(['analytics']));
    await expect.poll(() => page.evaluate(ran)).toEqual(['slow', 'inline', 'quick', 'module']);
    await expect(page.locator('script[data-kept=yes]')).toHaveAttribute('data-assent', 'analytics');

    await page.evaluate(() => (window as any).assent.accept(['analytics', 'resolution']));
    await expect.poll(() => page.evaluate(ran)).toEqual(['slow', 'inline', 'quick', 'module', 'resolution', 'both']);
  });

  test('run on every later page of a visitor who has accepted', async ({ page, shop }) => {
    const url = await shop.put('/', {
      head: `<script type="text/plain" data-assent="analytics">${note('head')}</script>`,
      body: `<h1>x</h1><script type="text/plain" data-assent="analytics">${note('body')}</script>`,
    });
    await page.goto(url);
    await acceptAll(page);
    await page.reload();
    await expect.poll(() => page.evaluate(ran)).toEqual(['head', 'body']);
  });

  test('of another vendor run although they are named like our own', async ({ page, shop }) => {
    await shop.putScript('/keys/shop.example/p.js', note('vendor'));
    const body = '<h1>x</h1><script type="text/plain" data-assent="analytics" src="/keys/shop.example/p.js"></script>';
    await page.goto(await shop.put('/', { body }));
    await acceptAll(page);
    await expect.poll(() => page.evaluate(ran)).toEqual(['vendor']);
  });

  test('do not run after a withdrawal in another tab of which a busy page has not been notified', async ({ page, shop }) => {
    const key = `assent:${shop.pixel.id}`;
    const body = `<h1>x</h1>
      <script type="text/plain" data-assent="analytics" src="/slow.js"></script>
      <script type="text/plain" data-assent="analytics" data-assent-cookies="kept">${note('second')}</script>`;
    await page.route('**/slow.js', async (route) => {
      // Another tab has withdrawn. The event of its storage comes after the script.
      const withdraw = `const choice = JSON.parse(localStorage['${key}']);
        localStorage['${key}'] = JSON.stringify({ ...choice, state: 'withdrawn', purposes: [], receipt: undefined, time: Date.now(), id: 'abc123' });`;
      await route.fulfill({ contentType: 'text/javascript', body: withdraw + note('slow') });
    });
    await page.goto(await shop.put('/', { body }));
    await popup(page).accept.click();
    await expect.poll(() => page.evaluate(ran)).toEqual(['slow']);
    await settle(page);
    expect(await page.evaluate(ran)).toEqual(['slow']);
    expect(await page.evaluate((name) => JSON.parse(localStorage[name]).state, key)).toBe('withdrawn');
  });

  test('never run after a decline', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: `<h1>x</h1><script type="text/plain" data-assent="analytics">${note('x')}</script>` }));
    await popup(page).decline.click();
    await settle(page);
    expect(await page.evaluate(ran)).toBeUndefined();
  });

  test('that a single-page app adds later are treated like the others', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    const navigate = (name: string) =>
      page.evaluate(
        ([path, code]) => {
          history.pushState({}, '', path);
          const script = document.createElement('script');
          script.type = 'text/plain';
          script.dataset.assent = 'analytics';
          script.text = code;
          const view = document.createElement('section');
          view.append(script);
          document.querySelector('main')!.replaceChildren(view);
        },
        [`/${name}`, note(name)],
      );
    await navigate('before');
    await settle(page);
    expect(await page.evaluate(ran)).toBeUndefined();
    await acceptAll(page);
    await expect.poll(() => page.evaluate(ran)).toEqual(['before']);
    await navigate('after');
    await expect.poll(() => page.evaluate(ran)).toEqual(['before', 'after']);
    await page.evaluate(() => (window as any).assent.withdraw());
    await navigate('withdrawn');
    await settle(page);
    expect(await page.evaluate(ran)).toEqual(['before', 'after']);
  });

  test('the popup is shown again after an app has replaced the body', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate(() => document.documentElement.replaceChild(document.createElement('body'), document.body));
    await acceptAll(page);
  });
});

test.describe('gated frames', () => {
  test('load after the choice, are emptied by a withdrawal, and stay the same element', async ({ page, shop }) => {
    const inner = await shop.put('/map', { body: '<h1>A map</h1>', snippet: '<!---->' });
    await page.goto(
      await shop.put('/', { body: `<h1>x</h1><p>before</p><iframe data-assent="analytics" data-src="${inner}" title="Map"></iframe><p>after</p>` }),
    );
    const frame = page.frameLocator('iframe');
    await expect(popup(page).banner).toBeVisible();
    await expect(page.locator('iframe')).not.toHaveAttribute('src', /./);
    await page.evaluate(() => ((window as any).frame = document.querySelector('iframe')));
    await acceptAll(page);
    await expect(frame.locator('h1')).toHaveText('A map');
    const entries = await page.evaluate(() => history.length);

    await page.evaluate(() => (window as any).assent.withdraw());
    await expect(frame.locator('h1')).toHaveCount(0);
    expect(await page.evaluate(() => (window as any).frame === document.querySelector('iframe'))).toBe(true);
    expect(await page.evaluate(() => (window as any).frame.nextSibling.textContent)).toBe('after');
    await page.evaluate(() => (window as any).assent.accept());
    await expect(frame.locator('h1')).toHaveText('A map');
    expect(await page.evaluate(() => history.length)).toBe(entries);
  });

  test('whose address the page changes show neither address after a withdrawal', async ({ page, shop }) => {
    const put = (name: string): Promise<string> => shop.put(`/${name}`, { body: `<h1>${name}</h1>`, snippet: '<!---->' });
    const [one, other] = [await put('one'), await put('other')];
    await page.goto(await shop.put('/', { body: `<p>x</p><iframe data-assent="analytics" data-src="${one}" title="Map"></iframe>` }));
    const content = page.frameLocator('iframe').locator('h1');
    const change = (address: string): Promise<void> => page.evaluate((address) => void (document.querySelector('iframe')!.dataset.src = address), address);
    await acceptAll(page);
    await expect(content).toHaveText('one');
    // No element was added, so the tag has not noticed the change.
    await change(other);
    await page.evaluate(() => (window as any).assent.withdraw());
    await expect(content).toHaveCount(0);
    await page.evaluate(() => (window as any).assent.accept());
    await expect(content).toHaveText('other');
    await change(one);
    await page.evaluate(() => document.body.append(document.createElement('p')));
    await expect(content).toHaveText('one');
    await page.evaluate(() => (window as any).assent.withdraw());
    await expect(content).toHaveCount(0);
    await expect(page.locator('iframe')).not.toHaveAttribute('src', /./);
  });

  test('a frame that has been shown is requested once, also where the visitor scrolls to it', async ({ page, shop }) => {
    const [seen, below] = [await shop.put('/seen', { body: '<h1>Seen</h1>' }), await shop.put('/below', { body: '<h1>Below</h1>' })];
    const requested = count(page, [seen, below]);
    const frame = (src: string): string => `<iframe data-assent="analytics" data-src="${src}" title="Map"></iframe>`;
    await page.goto(await shop.put('/', { body: `<p>x</p>${frame(seen)}<div style="height:6000px"></div>${frame(below)}` }));
    await acceptAll(page);
    await expect.poll(() => [requested(seen), requested(below)]).toEqual([1, 1]);
    await settle(page);
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await settle(page);
    await page.waitForTimeout(1_000);
    expect([requested(seen), requested(below)]).toEqual([1, 1]);
  });

  test('a frame whose address the page changes while it is permitted is left alone, and blocked by a withdrawal', async ({ page, shop }) => {
    const video = await shop.put('/video', { body: '<h1>A video</h1>' });
    const before = await shop.put('/before', { body: '<h1>Press accept</h1>' });
    const played = video + '?autoplay=1';
    const requested = count(page, [video, played]);
    await page.goto(await shop.put('/', { body: `<p>x</p><iframe data-assent="analytics" src="${before}" data-src="${video}" title="Video"></iframe>` }));
    const frame = page.locator('iframe');
    await acceptAll(page);
    await expect.poll(() => requested(video)).toBe(1);
    await frame.evaluate((frame: HTMLIFrameElement, src) => (frame.src = src), played);
    await page.evaluate(() => document.body.append(document.createElement('p')));
    await expect.poll(() => requested(played)).toBe(1);
    await settle(page);
    expect(await frame.getAttribute('src')).toBe(played);
    for (let round = 0; round < 2; round++) {
      await page.evaluate(() => (window as any).assent.withdraw());
      await expect(frame).toHaveAttribute('src', before);
      expect(await frame.getAttribute('loading'), 'that of the page').toBeNull();
      await page.evaluate(() => (window as any).assent.accept());
      await expect(frame).toHaveAttribute('src', video);
    }
    expect(requested(played), 'requested by the page only').toBe(1);
  });

  test('that are added later load when permitted', async ({ page, shop }) => {
    const inner = await shop.put('/map', { body: '<h1>A map</h1>', snippet: '<!---->' });
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await page.evaluate((src) => {
      document.querySelector('main')!.insertAdjacentHTML('beforeend', `<div><iframe data-assent="analytics" data-src="${src}"></iframe></div>`);
    }, inner);
    await expect(page.frameLocator('iframe').locator('h1')).toHaveText('A map');
  });
});

test.describe('a withdrawal removes declared cookies and entries', () => {
  const body = `<h1>x</h1>
    <script type="text/plain" data-assent="analytics" data-assent-cookies="_ga _ga_* visits">
      document.cookie = '_ga=1;path=/'; document.cookie = '_ga_X1=1;path=/;domain=' + location.hostname;
      document.cookie = '_ga_deep=1;path=/shop'; localStorage.visits = 3; sessionStorage.visits = 1;
    </script>
    <script>document.cookie = 'basket=7;path=/'; localStorage.basket = 7; document.cookie = '_gac=own;path=/'</script>`;

  test('of every domain and path, of scripts and of the identification tag, and no others', async ({ page, shop }) => {
    await page.goto(await shop.put('/shop/bread', { body }));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await expect.poll(async () => Object.keys(await stored(page))).toContain('visits');
    await expect.poll(async () => (await stored(page)).cookie).toContain('tag_id=1');
    expect((await stored(page)).cookie).toContain('_ga_deep');

    await popup(page).wayBack.click();
    await popup(page).withdraw.click();
    await expect(popup(page).saved).toBeVisible();
    const { cookie, ...entries } = await stored(page);
    expect(cookie.split('; ').sort()).toEqual(['_gac=own', 'basket=7']);
    expect(Object.keys(entries).sort()).toEqual([`assent:${shop.pixel.id}`, 'basket']);
    expect(await page.evaluate(() => Object.keys(sessionStorage))).not.toContain('visits');
  });

  test('also on a page that does not contain the script', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body }));
    await acceptAll(page);
    await expect.poll(async () => Object.keys(await stored(page))).toContain('visits');
    await page.goto(await shop.put('/other'));
    await expect(popup(page).wayBack).toBeVisible();
    await page.evaluate(() => (window as any).assent.withdraw());
    // A module removes them, which this page has not loaded before.
    await expect.poll(async () => (await stored(page)).visits).toBeUndefined();
    await expect.poll(async () => (await stored(page)).cookie).not.toMatch(/_ga=|_ga_X1/);
  });

  test('on the next page, where the module that expires them could not be loaded', async ({ page, shop }) => {
    await page.goto(await shop.put('/shop/bread', { body }));
    await acceptAll(page);
    await expect.poll(async () => Object.keys(await stored(page))).toContain('visits');
    await page.goto(await shop.put('/other'));
    await expect(popup(page).wayBack).toBeVisible();
    await page.route('**/extras.js*', (route) => route.abort());
    await page.evaluate(() => (window as any).assent.withdraw());
    await settle(page);
    expect((await stored(page)).cookie).toContain('_ga=1');
    await page.unroute('**/extras.js*');
    await page.reload();
    await expect.poll(async () => (await stored(page)).cookie).not.toMatch(/_ga=|_ga_X1/);
  });

  test('and switching off a purpose removes its own', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body }));
    await acceptAll(page);
    await expect.poll(async () => (await stored(page)).tag_state).toBe('1');
    await page.evaluate(() => (window as any).assent.accept(['analytics']));
    const { cookie, visits, tag_state } = await stored(page);
    expect(cookie).toContain('_ga=1');
    expect(visits).toBe('3');
    expect(cookie).not.toContain('tag_id');
    expect(tag_state).toBeUndefined();
  });
});
