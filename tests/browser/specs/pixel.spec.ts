import { Page } from '@playwright/test';
import { accessibilityProblems, expect, popup, screenshot, sendGpc, settle, stored, test } from '../support/fixtures';

const scriptTag = (base: string, file: string): string => `<script async src="${base}/${file}"></script>`;
const notice = (page: Page) => page.getByRole('dialog', { name: 'Identification is on' });

test.describe('the immediate snippet', () => {
  test.use({ consent: null });

  test('loads identification when the pixel is installed for this host', async ({ page, shop }) => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(await shop.put('/'));
    await expect.poll(() => shop.tagLoads()).toBe(1);
    // The service may have counted the request before the browser reports it and the earlier ones.
    const tag = `/pixels/${shop.pixel.id}/p.js`;
    await expect.poll(() => requests).toContain(tag);
    const checkIndex = requests.indexOf('/external_api/install-pixel/tag-pixel');
    expect(checkIndex, 'it checks first').toBeGreaterThan(0);
    expect(requests.indexOf(tag)).toBeGreaterThan(checkIndex);
  });

  test('loads it on a subdomain, and not on another host', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { host: `stranger-${shop.pixel.host}` }));
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
    await page.goto(await shop.put('/', { host: `www.${shop.pixel.host}` }));
    await expect.poll(() => shop.tagLoads()).toBe(1);
  });

  test('passes events to the tag in order after it has loaded', async ({ page, shop }) => {
    const head = `<script>window.assent = window.assent || function () { (assent.q = assent.q || []).push(arguments) };
      assent('track', 'viewed_product', { id: 1 })</script>`;
    await page.goto(await shop.put('/', { head }));
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.evaluate(() => (window as any).assent('track', 'add_to_cart', { id: 2 }));
    await expect
      .poll(() => page.evaluate(() => (window as any).tagHeard))
      .toEqual([
        ['track', 'viewed_product', { id: 1 }],
        ['track', 'add_to_cart', { id: 2 }],
      ]);
  });

  test('obeys Global Privacy Control without a request or a stored entry', async ({ page, shop }) => {
    await sendGpc(page);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(await shop.put('/'));
    await settle(page);
    expect(requests).toEqual(['/', '/pixel.js']);
    expect(await stored(page)).toEqual({});
  });

  test('loads nothing when the service refuses, fails or answers nonsense', async ({ page, shop }) => {
    let answer = {};
    await page.route('**/tag-pixel?*', (route) =>
      route.fulfill({ ...answer, headers: { 'Access-Control-Allow-Origin': '*' }, contentType: 'application/json' }),
    );
    const url = await shop.put('/');
    for (answer of [
      { status: 200, body: '{"pixel_id":null}' },
      { status: 500, body: '' },
      { status: 200, body: '<html>' },
    ]) {
      await Promise.all([page.waitForResponse('**/tag-pixel?*'), page.goto(url)]);
      await settle(page);
      expect(await shop.tagLoads(), JSON.stringify(answer)).toBe(0);
    }
  });

  test('twice on a page loads once', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: shop.pixel.immediate }));
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);
  });
});

test.describe('the immediate snippet beside a consent tag', () => {
  for (const order of ['before', 'after'] as const) {
    test(`does not run when it is ${order} the consent tag`, async ({ page, shop }) => {
      const { snippet } = shop.policy;
      const { immediate } = shop.pixel;
      await page.goto(await shop.put('/', { snippet: order === 'before' ? immediate + snippet : snippet + immediate }));
      await expect(popup(page).banner).toBeVisible();
      await page.evaluate(() => (window as any).assent('track', 'viewed_product', {}));
      await settle(page);
      expect(await shop.tagLoads()).toBe(0);
      await popup(page).accept.click();
      await expect.poll(() => shop.tagLoads()).toBe(1);
      await expect.poll(() => page.evaluate(() => (window as any).tagHeard)).toEqual([['track', 'viewed_product', {}]]);
    });
  }

  test('does not run when the consent tag loads during the request to the service', async ({ page, shop }) => {
    let answer: () => void = () => {};
    await page.route('**/tag-pixel?*', async (route) => {
      await new Promise<void>((done) => (answer = done));
      await route.continue();
    });
    await page.goto(await shop.put('/', { snippet: shop.pixel.immediate }));
    await page.evaluate((src) => {
      const script = document.createElement('script');
      script.src = src;
      document.head.append(script);
    }, `${shop.base}/px/${shop.pixel.id}.js`);
    await expect(popup(page).banner).toBeVisible();
    answer();
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
  });
});

test.describe('the notice of the immediate snippet', () => {
  test.use({ consent: null });

  test('shows that identification is on; opting out stops it at once and is stored', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: scriptTag(shop.base, 'pixel_popup.js') }));
    await expect(notice(page)).toBeVisible();
    await expect.poll(() => shop.tagLoads()).toBe(1);
    // The tag was requested; it must run before it can receive events.
    await expect.poll(() => page.evaluate(() => (window as any).tagHeard)).toEqual([]);
    await page.waitForTimeout(350);
    await screenshot(page, 'notice');
    expect(await accessibilityProblems(page)).toEqual([]);

    await page.getByRole('button', { name: 'Opt out' }).click();
    await expect(page.getByText('You have opted out on this site.')).toBeVisible();
    await page.evaluate(() => (window as any).assent('track', 'add_to_cart', {}));
    expect(await page.evaluate(() => (window as any).tagHeard)).toEqual([['change', 'declined']]);
    expect(await stored(page)).toMatchObject({ 'assent:notice': 'off' });

    await page.reload();
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);
    await expect(notice(page)).toBeHidden();
  });

  test('after it was closed, it is not shown again, and identification continues', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: scriptTag(shop.base, 'pixel_popup.js') }));
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.getByRole('button', { name: 'Close' }).click();
    await expect(notice(page)).toBeHidden();
    await page.reload();
    await expect.poll(() => shop.tagLoads()).toBe(2);
    await expect(notice(page)).toBeHidden();
  });

  test('under Global Privacy Control it shows that the site obeys, and stores nothing', async ({ page, shop }) => {
    await sendGpc(page);
    await page.goto(await shop.put('/', { head: scriptTag(shop.base, 'pixel_popup.js') }));
    await expect(page.getByRole('status')).toContainText('This site obeys.');
    expect(await stored(page)).toEqual({});
  });

  test('if storage cannot be written, an opt-out is valid on its page, and the next page loads nothing', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: scriptTag(shop.base, 'pixel_popup.js') }));
    await expect.poll(() => page.evaluate(() => (window as any).tagHeard)).toEqual([]);
    const failWrites = (): void => {
      Storage.prototype.setItem = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    };
    await page.addInitScript(failWrites);
    await page.evaluate(failWrites);
    await page.getByRole('button', { name: 'Opt out' }).click();
    await page.evaluate(() => (window as any).assent('track', 'add_to_cart', {}));
    expect(await page.evaluate(() => (window as any).tagHeard)).toEqual([['change', 'declined']]);
    await page.reload();
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);
  });

  test('if storage is blocked, an opt-out could not be stored, so nothing loads', async ({ page, shop }) => {
    await page.addInitScript(() => {
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('denied', 'SecurityError');
        },
      });
    });
    await page.goto(await shop.put('/', { head: scriptTag(shop.base, 'pixel_popup.js') }));
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
  });
});

test.describe('the dev beacon', () => {
  const panel = (page: Page) => page.getByRole('region', { name: 'Pixel check' });

  test('shows a consent tag: whether the pixel is installed, and consent needed and given', async ({ page, shop }) => {
    const lines: string[] = [];
    page.on('console', (message) => lines.push(message.type()));
    await page.goto(await shop.put('/', { head: scriptTag(shop.base, 'pixel.dev.js') }));
    await expect(panel(page)).toContainText(shop.pixel.id);
    await expect(panel(page)).toContainText('yes, the service names it for this host');
    await expect(panel(page)).toContainText('consent tag');
    await expect(panel(page)).toContainText('not answered yet');
    await expect(panel(page)).toContainText('not loaded');
    expect(lines).toContain('table');
    await popup(page).accept.click();
    await expect(panel(page)).toContainText('accepted: analytics, resolution');
    await expect.poll(() => shop.tagLoads()).toBe(1);
    const expectLoaded = (timeout?: number): Promise<void> => expect(panel(page)).toContainText('Identificationloaded', { timeout });
    // The beacon checks half a second after a change. A tag that loads later is shown after the next change.
    await expectLoaded(3_000).catch(async () => {
      await page.evaluate(() => document.dispatchEvent(new CustomEvent('assent:change', { detail: { state: 'accepted' } })));
      await expectLoaded();
    });
    await screenshot(page, 'dev-beacon');
    expect(await accessibilityProblems(page)).toEqual([]);
    await panel(page).getByRole('button', { name: 'Close' }).click();
    await expect(panel(page)).toBeHidden();
  });

  test.describe('without consent', () => {
    test.use({ consent: null });

    test('shows an immediate snippet', async ({ page, shop }) => {
      await page.goto(await shop.put('/', { head: scriptTag(shop.base, 'pixel.dev.js') }));
      await expect(panel(page)).toContainText('immediate snippet');
      await expect(panel(page)).toContainText('no, consent is off');
    });

    test('shows the problem on a page of another host', async ({ page, shop }) => {
      const own = scriptTag(shop.base, 'pixel.dev.js').replace('async', `async data-pixel="${shop.pixel.id}"`);
      await page.goto(await shop.put('/', { host: `stranger-${shop.pixel.host}`, snippet: own }));
      await expect(panel(page)).toContainText('no, the service does not name it for this host');
      await expect(panel(page)).toContainText('neither consent tag nor immediate snippet');
    });

    test('shows that no script names a pixel', async ({ page, shop }) => {
      await page.goto(await shop.put('/', { snippet: scriptTag(shop.base, 'pixel.dev.js') }));
      await expect(panel(page)).toContainText('no script on this page names one');
    });
  });
});
