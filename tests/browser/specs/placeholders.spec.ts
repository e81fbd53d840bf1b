import { FrameLocator, Locator, Page } from '@playwright/test';
import { chromiumOnly, LACKS, viewsOf } from '../support/browsers';
import { acceptAll, accessibilityProblems, expect, popup, screenshot, sendGpc, settle, Shop, state, test } from '../support/fixtures';
import { PLAIN_POLICY, readLog } from '../support/integrator';
import { requestsWith } from '../support/requests';

/** Gated frames that wait, with the placeholder of the tag. */

const VIDEO = 'https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ';

/** The texts of the placeholder in a frame. */
const placeholder = (page: Page, which = 'iframe') => {
  const frame: FrameLocator = page.frameLocator(which);
  return {
    box: frame.getByRole('group'),
    once: frame.getByRole('button', { name: 'Show once' }),
    always: frame.getByRole('button', { name: 'Always allow' }),
    notice: frame.getByRole('link', { name: 'Privacy notice' }),
    message: frame.getByRole('alert'),
    content: frame.locator('h2'),
  };
};

/** A page of another host with a heading, which stands for the provider's content. */
const putVideo = (shop: Shop): Promise<string> =>
  shop.put('/embed', { host: `video-${shop.pixel.id.toLowerCase().slice(0, 8)}.example`, body: '<h2>A video</h2>', snippet: '<!---->' });

const frameOf = (source: string, more = ''): string =>
  `<iframe data-assent="analytics" data-src="${source}" width="560" height="315" title="Video" ${more}></iframe>`;

test.describe('a waiting frame', () => {
  test('names provider, reason and purpose, and requests nothing of the provider', async ({ page, shop }) => {
    const requested: string[] = [];
    page.on('request', (request) => requested.push(new URL(request.url()).hostname));
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(VIDEO)}` }));
    const { box, once, always, notice } = placeholder(page);
    await expect(box).toContainText('Content from YouTube');
    await expect(box).toContainText('YouTube receives data about you, such as your IP address.');
    await expect(box).toContainText('Permission needed: Statistics.');
    await expect(once).toBeVisible();
    await expect(always).toBeVisible();
    await expect(notice).toHaveAttribute('href', `${shop.base}/v1/policy/${shop.pixel.id}?lang=en`);
    await expect(notice).toHaveAttribute('target', '_blank');
    await settle(page);
    expect(requested.filter((host) => host.includes('youtube'))).toEqual([]);
    await expect(page.locator('iframe')).not.toHaveAttribute('src', /./);
  });

  test('names the page’s own host where the address has none', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf('data:text/html,Hello')}` }));
    await expect(placeholder(page).box).toContainText(`Content from ${shop.pixel.host}`);
  });

  test('that is wanted once is shown on this page view only, and nothing is recorded', async ({ page, shop }) => {
    const video = await putVideo(shop);
    const body = `<h1>x</h1>${frameOf(video)}<div id="second">${frameOf(video)}</div>`;
    await page.goto(await shop.put('/', { body }));
    const first = placeholder(page, 'body > iframe');
    await expect(placeholder(page, '#second iframe').once).toBeVisible();
    const entries = await page.evaluate(() => history.length);
    await first.once.click();
    await expect(first.content).toHaveText('A video');
    await expect(placeholder(page, '#second iframe').once).toBeVisible();
    expect(await state(page)).toMatchObject({ state: null, purposes: [] });
    await expect(popup(page).banner).toBeVisible();
    expect(await page.evaluate(() => history.length)).toBe(entries);
    expect((await requestsWith(shop.pixel.id)).map(({ path }) => path)).not.toContain('/v1/consent/record');
    await page.reload();
    await expect(first.once).toBeVisible();
    await expect(first.content).toHaveCount(0);
  });

  test('that is wanted once disappears when the visitor declines afterwards', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
    const { once, content } = placeholder(page);
    await once.click();
    await expect(content).toHaveText('A video');
    await popup(page).decline.click();
    await expect(once).toBeVisible();
    await once.click();
    await expect(content, 'a later wish counts again').toHaveText('A video');
  });

  test('that is always allowed is an acceptance of its purposes, for every such frame and later pages', async ({ page, shop }) => {
    const video = await putVideo(shop);
    const url = await shop.put('/', { body: `<h1>x</h1>${frameOf(video)}<div id="second">${frameOf(video)}</div>` });
    await page.goto(url);
    await placeholder(page, 'body > iframe').always.click();
    await expect(placeholder(page, 'body > iframe').content).toHaveText('A video');
    await expect(placeholder(page, '#second iframe').content).toHaveText('A video');
    await expect(popup(page).banner).toBeHidden();
    expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['analytics'] });
    const [receipt] = await readLog(shop.base, shop.pixel);
    expect(receipt).toMatchObject({ consent_state: 'accepted', purposes: ['analytics'], shown: { act: 'pointer' } });
    expect(await page.evaluate(() => document.activeElement?.localName), 'the focus stays').toBe('iframe');
    await page.reload();
    await expect(placeholder(page, 'body > iframe').content).toHaveText('A video');

    const entries = await page.evaluate(() => history.length);
    await page.evaluate(() => (window as any).assent.withdraw());
    await expect(placeholder(page, 'body > iframe').once).toBeVisible();
    await expect(placeholder(page, '#second iframe').once).toBeVisible();
    expect(await page.evaluate(() => history.length)).toBe(entries);
  });

  const WAYS: [string, string, (button: Locator) => Promise<void>][] = [
    ['Enter', 'keyboard', (button) => button.press('Enter')],
    ['the space bar', 'keyboard', (button) => button.press('Space')],
    ['element.click() of a script', 'page', (button) => button.evaluate((element) => (element as HTMLElement).click())],
  ];
  for (const [way, act, press] of WAYS) {
    test(`that is always allowed by ${way} is reported as ${act}`, async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
      await press(placeholder(page).always);
      await expect(placeholder(page).content).toHaveText('A video');
      const [receipt] = await readLog(shop.base, shop.pixel);
      expect(receipt).toMatchObject({ consent_state: 'accepted', shown: { act } });
    });
  }

  test('shows its placeholder with its style in a browser without constructed style sheets', async ({ page, shop }) => {
    await page.addInitScript(() => {
      (window as any).CSSStyleSheet = class {
        constructor() {
          throw new TypeError('Illegal constructor');
        }
      };
    });
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
    await expect(placeholder(page).once).toBeVisible();
    await expect(placeholder(page).once).toHaveCSS('border-radius', /[1-9]/);
  });

  test.describe('on a site with an appearance of its own', () => {
    const light = { background: '#fff8ee', text: '#3a2410', button: '#6b3e12', button_text: '#ffffff', link: '#8a3b00' };
    test.use({ consent: { ...PLAIN_POLICY, appearance: { colors: { light }, radius: 4, font: 'Georgia, serif' } } });

    test('has the colours, corners and font of the popup', async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
      const { always, notice, box } = placeholder(page);
      await expect(always).toHaveCSS('background-color', 'rgb(107, 62, 18)');
      await expect(always).toHaveCSS('color', 'rgb(255, 255, 255)');
      await expect(always).toHaveCSS('border-radius', '4px');
      await expect(always).toHaveCSS('font-family', 'Georgia, serif');
      await expect(notice).toHaveCSS('color', 'rgb(138, 59, 0)');
      expect(await box.evaluate((element) => getComputedStyle(element.ownerDocument.body).backgroundColor)).toBe('rgb(255, 248, 238)');
    });
  });

  test('is shown again on a page from the back/forward cache after a withdrawal', chromiumOnly(LACKS.historyBack), async ({ page, shop }) => {
    const video = await putVideo(shop);
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(video)}` }));
    await page.evaluate(() => addEventListener('pageshow', (event) => ((window as any).cached = event.persisted)));
    await acceptAll(page);
    await expect(placeholder(page).content).toHaveText('A video');
    await page.goto(await shop.put('/second'));
    await expect(popup(page).wayBack).toBeVisible();
    await page.evaluate(() => (window as any).assent.withdraw());
    await page.evaluate(() => history.back());
    // The step back may end an evaluation.
    await expect.poll(() => page.evaluate(() => (window as any).cached).catch(() => null), 'the page came from the cache').toBe(true);
    // Playwright does not see into the frames of a page from the cache.
    const shown = (): Promise<string> => page.locator('iframe').evaluate((frame: HTMLIFrameElement) => frame.contentDocument?.body.innerText ?? '');
    await expect.poll(shown).toContain('Show once');
  });

  test('requests nothing on a prerendered page before it is activated', async ({ page, shop }) => {
    const video = await putVideo(shop);
    const url = await shop.put('/', { body: `<h1>x</h1>${frameOf(video)}` });
    await page.goto(url);
    await acceptAll(page);
    await expect(placeholder(page).content).toHaveText('A video');
    await page.addInitScript(() => {
      (window as any).prepared = true;
      Object.defineProperty(document, 'prerendering', { get: () => (window as any).prepared });
    });
    await page.reload();
    await settle(page);
    await expect(page.locator('iframe')).not.toHaveAttribute('src', /./);
    await page.evaluate(() => {
      (window as any).prepared = false;
      document.dispatchEvent(new Event('prerenderingchange'));
    });
    await expect(placeholder(page).content).toHaveText('A video');
  });

  test('keeps what was accepted before', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
    await expect(placeholder(page).always).toBeVisible();
    await page.evaluate(() => (window as any).assent.accept(['resolution']));
    await placeholder(page).always.click();
    await expect(placeholder(page).content).toHaveText('A video');
    expect((await state(page)).purposes).toEqual(['analytics', 'resolution']);
  });

  test('says that a permission could not be saved, and stays as it is', async ({ page, shop }) => {
    await page.route('**/v1/consent/record', (route) => route.abort());
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
    const { always, message, content } = placeholder(page);
    await always.click();
    await expect(message).toContainText('Your choice could not be saved.');
    await expect(content).toHaveCount(0);
  });

  test('offers no permission under Global Privacy Control', async ({ page, shop }) => {
    await sendGpc(page);
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
    const { once, always, content } = placeholder(page);
    await expect(once).toBeVisible();
    await expect(always).toHaveCount(0);
    await once.click();
    await expect(content).toHaveText('A video');
  });

  test('offers no permission for a purpose that visitors are not asked for, and the developer is told', async ({ page, shop }) => {
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop)).replace('"analytics"', '"analytics telepathy"')}` }));
    await expect(placeholder(page).once).toBeVisible();
    await expect(placeholder(page).always).toHaveCount(0);
    await expect.poll(() => messages.join()).toContain('an element waits for “analytics,telepathy”');
  });

  test('keeps its own placeholder where the page says so, and its own src and srcdoc always', async ({ page, shop }) => {
    const video = await putVideo(shop);
    const own = await shop.put('/own', { body: '<h2>Own words</h2>', snippet: '<!---->' });
    const body = `<h1>x</h1>${frameOf(video, 'data-assent-placeholder="none"')}
      <div id="src">${frameOf(video, `src="${own}"`)}</div><div id="srcdoc">${frameOf(video, 'srcdoc="<h2>Own words</h2>"')}</div>
      <div id="ours">${frameOf(video)}</div>`;
    await page.goto(await shop.put('/', { body }));
    await expect(placeholder(page, '#ours iframe').once).toBeVisible();
    await expect(placeholder(page, '#src iframe').content).toHaveText('Own words');
    await expect(placeholder(page, '#srcdoc iframe').content).toHaveText('Own words');
    await expect(placeholder(page, 'body > iframe').box).toHaveCount(0);
    await page.evaluate(() => (window as any).assent.accept());
    for (const which of ['body > iframe', '#src iframe', '#srcdoc iframe', '#ours iframe']) {
      await expect(placeholder(page, which).content).toHaveText('A video');
    }
    await page.evaluate(() => (window as any).assent.withdraw());
    await expect(placeholder(page, '#src iframe').content).toHaveText('Own words');
    await expect(placeholder(page, 'body > iframe').box).toHaveCount(0);
    await expect(placeholder(page, '#ours iframe').once).toBeVisible();
  });

  test('that an app adds or moves later shows it as well', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: '<h1>x</h1><div id="slot"></div><div id="other"></div>' }));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate((html) => (document.getElementById('slot')!.innerHTML = html), frameOf(await putVideo(shop)));
    await expect(placeholder(page).once).toBeVisible();
    await page.evaluate(() => document.getElementById('other')!.append(document.querySelector('iframe')!));
    await expect(placeholder(page).once).toBeVisible();
  });

  test('is operable by keyboard, in the order of the page', async ({ page, shop }) => {
    const body = `<h1>x</h1><button id="before">Before</button>${frameOf(await putVideo(shop))}<button id="after">After</button>`;
    await page.goto(await shop.put('/', { body }));
    const { notice, once, always, content } = placeholder(page);
    await popup(page).decline.click();
    await page.locator('#before').focus();
    for (const stop of [notice, once, always]) {
      await page.keyboard.press('Tab');
      await expect(stop).toBeFocused();
    }
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await expect(content).toHaveText('A video');
  });

  test('works under a strict content security policy and without any Trusted Types policy', async ({ page, shop }) => {
    const video = await putVideo(shop);
    const host = new URL(video).host;
    const policy = `default-src 'none'; script-src 'nonce-R4nd0m' 'strict-dynamic'; style-src 'self'; img-src 'self' data:; connect-src ${shop.base}; frame-src http://${host}; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
    const head = `<script nonce="R4nd0m">
      window.violations = [];
      document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
    </script>`;
    const snippet = shop.policy.snippet.replace('<script ', '<script nonce="R4nd0m" ');
    await page.goto(await shop.put('/', { head, body: `<h1>x</h1>${frameOf(video)}`, snippet, headers: { 'Content-Security-Policy': policy } }));
    const { always, content, once } = placeholder(page);
    expect(await always.evaluate((element) => getComputedStyle(element).minHeight), 'it is styled').toBe('44px');
    await always.click();
    await expect(content).toHaveText('A video');
    await page.evaluate(() => (window as any).assent.withdraw());
    await once.click();
    await expect(content).toHaveText('A video');
    expect(await page.evaluate(() => (window as any).violations)).toEqual([]);
  });

  test('moves nothing on the page', chromiumOnly('Firefox reports no layout shifts'), async ({ page, shop }) => {
    const head = `<script>window.shifts = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((entry) => (shifts += entry.value))).observe({ type: 'layout-shift', buffered: true });</script>`;
    const video = await putVideo(shop);
    await page.goto(await shop.put('/', { head, body: `<h1>x</h1>${frameOf(video)}<p>below</p>` }));
    const boxes = () => page.evaluate(() => [...document.querySelectorAll('iframe,p')].map((element) => JSON.stringify(element.getBoundingClientRect())));
    const before = await boxes();
    await expect(placeholder(page).once).toBeVisible();
    await placeholder(page).once.click();
    await expect(placeholder(page).content).toBeVisible();
    expect(await boxes()).toEqual(before);
    expect(await page.evaluate(() => (window as any).shifts)).toBe(0);
  });
});

test('pages without waiting frames do not load the placeholders', async ({ page, shop }) => {
  const url = await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` });
  await page.goto(url);
  await acceptAll(page);
  await expect(placeholder(page).content).toHaveText('A video');
  const requested: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname));
  await page.reload();
  await expect(placeholder(page).content).toHaveText('A video');
  await page.goto(await shop.put('/other'));
  await settle(page);
  expect(requested).not.toContain('/placeholders.js');
});

test.describe('the placeholder has no accessibility problems', () => {
  const RECIPES = [
    ['YouTube', VIDEO],
    ['Vimeo', 'https://player.vimeo.com/video/76979871?dnt=1'],
    ['Google Maps', 'https://www.google.com/maps/embed?pb=!1m18'],
    ['OpenStreetMap', 'https://www.openstreetmap.org/export/embed.html?bbox=13.3,52.5,13.4,52.6'],
    ['player.example', 'https://www.player.example/1'],
  ];
  const VIEWS = {
    dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' as const },
    desktop: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' as const },
    phone: { viewport: { width: 360, height: 740 }, colorScheme: 'light' as const },
  };

  test('on a desktop, on a phone and in the dark, for every recipe', async ({ page, shop }) => {
    const frames = RECIPES.map(([name, source]) => `<div>${frameOf(source).replace('"Video"', `"${name}"`).replace('width="560"', 'width="100%"')}</div>`);
    const url = await shop.put('/', { body: `<main><h1>Films and maps</h1>${frames.join('')}</main>` });
    for (const [name, { viewport, colorScheme }] of viewsOf(page, VIEWS)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.goto(url);
      for (const [provider] of RECIPES) await expect(placeholder(page, `[title="${provider}"]`).box).toContainText(`Content from ${provider}`);
      const overflow = await placeholder(page, '[title=YouTube]').box.evaluate((box) => box.ownerDocument.documentElement.scrollWidth - innerWidth);
      expect(overflow, name).toBeLessThanOrEqual(0);
      await screenshot(page, `placeholder-${name}`);
      expect(await accessibilityProblems(page), name).toEqual([]);
    }
  });

  test.describe('in a language that is written from right to left', () => {
    test.use({ locale: 'ar' });

    test('with the provider’s name in its own direction', async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: `<main><h1>x</h1>${frameOf(VIDEO)}</main>` }));
      const frame = page.frameLocator('iframe');
      await expect(frame.getByRole('button', { name: 'السماح دائمًا' })).toBeVisible();
      expect(await frame.locator('html').evaluate(({ lang, dir }: any) => [lang, dir])).toEqual(['ar', 'rtl']);
      await expect(frame.locator('bdi').first()).toHaveText('YouTube');
      await screenshot(page, 'placeholder-arabic');
      expect(await accessibilityProblems(page)).toEqual([]);
    });
  });
});
