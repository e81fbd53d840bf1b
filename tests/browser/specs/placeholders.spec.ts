import { FrameLocator, Locator, Page } from '@playwright/test';
import { ACCESS_KEY, pressAccessKey } from '../support/access-key';
import { chromiumOnly, LACKS, viewsOf } from '../support/browsers';
import { acceptAll, accessibilityProblems, expect, frameText, popup, putVideo, screenshot, sendGpc, settle, Shop, state, test } from '../support/fixtures';
import { PLAIN_POLICY, readLog } from '../support/integrator';
import { LANGUAGES, localeOf } from '../support/languages';
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

const frameOf = (source: string, more = ''): string =>
  `<iframe data-assent="analytics" data-src="${source}" width="560" height="315" title="Video" ${more}></iframe>`;

const snippetIn = (shop: Shop, language: string): string => shop.policy.snippet.replace('.js"', `.js?lang=${language}"`);

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

  const FAILURES: [string, (page: Page) => Promise<unknown>, (page: Page) => Promise<unknown>][] = [
    [
      'could not be recorded',
      (page) => page.route('**/v1/consent/record', (route) => route.abort()),
      async (page) => {
        await expect(placeholder(page).message).toContainText('Your choice could not be saved.');
        await page.unroute('**/v1/consent/record');
      },
    ],
    [
      'was cancelled by the page',
      (page) =>
        placeholder(page).always.evaluate((button) =>
          button.ownerDocument.addEventListener('keydown', (event) => event.key === 'Enter' && event.preventDefault(), true),
        ),
      settle,
    ],
  ];
  for (const [how, prevent, finish] of FAILURES) {
    test(`that is always allowed by a bare click after a press of Enter that ${how} is reported as assistive`, chromiumOnly(LACKS.bareClick), async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop))}` }));
      const { always, content } = placeholder(page);
      await expect(always).toBeVisible();
      await prevent(page);
      await always.press('Enter');
      await finish(page);
      expect(await readLog(shop.base, shop.pixel)).toEqual([]);
      // Without the focus, the button receives no event of the key.
      await always.evaluate((button: HTMLElement, key) => {
        button.accessKey = key;
        button.blur();
      }, ACCESS_KEY);
      await pressAccessKey(page);
      await expect(content).toHaveText('A video');
      const [receipt] = await readLog(shop.base, shop.pixel);
      expect(receipt).toMatchObject({ consent_state: 'accepted', shown: { act: 'assistive' } });
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
    await expect.poll(() => frameText(page)).toContain('Show once');
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

  test('with several purposes adds those that are missing, and reports no mistake', async ({ page, shop }) => {
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop)).replace('"analytics"', '"analytics resolution"')}` }));
    await expect(placeholder(page).always).toBeVisible();
    await page.evaluate(() => (window as any).assent.accept(['analytics']));
    await placeholder(page).always.click();
    await expect(placeholder(page).content).toHaveText('A video');
    expect((await state(page)).purposes).toEqual(['analytics', 'resolution']);
    await settle(page);
    expect(messages.filter((text) => text.startsWith('Assent: '))).toEqual([]);
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

  for (const source of ['', 'about:blank']) {
    test(`with src="${source}" shows it too, and again after a withdrawal`, async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(await putVideo(shop), `src="${source}"`)}` }));
      const { once, content } = placeholder(page);
      await expect(once).toBeVisible();
      await page.evaluate(() => (window as any).assent.accept());
      await expect(content).toHaveText('A video');
      await page.evaluate(() => (window as any).assent.withdraw());
      await expect(once).toBeVisible();
    });
  }

  test('that is too small for its text scrolls to its buttons, also where the frame may not scroll', async ({ page, shop }) => {
    const frame = frameOf(await putVideo(shop), 'scrolling="no" style="width:300px;height:90px"');
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frame}` }));
    await popup(page).decline.click();
    const { box, once, content } = placeholder(page);
    await expect(box).toBeVisible();
    await page.locator('iframe').hover();
    await page.mouse.wheel(0, 2_000);
    await expect(once).toBeInViewport();
    await once.click();
    await expect(content).toHaveText('A video');
  });

  test('opens the notice, also in a sandbox without windows', async ({ page, context, shop }) => {
    const frame = frameOf(await putVideo(shop), 'sandbox="allow-scripts allow-same-origin"');
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frame}` }));
    const opened = context.waitForEvent('page');
    await placeholder(page).notice.click();
    await expect((await opened).getByRole('heading', { level: 1 })).toBeVisible();
    expect(page.url()).toContain(shop.pixel.host);
  });

  test('that a framework uses for other content names its provider and purpose, and shows it', async ({ page, shop }) => {
    const set = (name: string, value: string): Promise<void> =>
      page.locator('iframe').evaluate((frame, [name, value]) => frame.setAttribute(name, value), [name, value]);
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frameOf(VIDEO)}` }));
    const { box, once, content } = placeholder(page);
    await expect(box).toContainText('Content from YouTube');
    await set('data-src', 'https://player.vimeo.com/video/1');
    await expect(box).toContainText('Content from Vimeo');
    await set('data-assent', 'resolution');
    await expect(box).toContainText('Permission needed: Recognising you');
    const video = await putVideo(shop);
    await set('data-src', video);
    await expect(box).toContainText(`Content from ${new URL(video).hostname}`);
    await expect(box).toHaveCount(1);
    await once.click();
    await expect(content).toHaveText('A video');
    const other = await shop.put('/other', { body: '<h2>Other video</h2>', snippet: '<!---->' });
    await page.evaluate(() => (window as any).assent.accept());
    await set('data-src', other);
    await expect(content).toHaveText('Other video');
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

test.describe('on a narrow screen', () => {
  test.use({ viewport: { width: 320, height: 640 } });
  const narrow = chromiumOnly('Firefox draws letters that no font of the machine has as wide boxes');

  test('the placeholder has its texts and their direction in every language, and is not too wide', narrow, async ({ page, shop }) => {
    test.setTimeout(240_000);
    const softly = expect.configure({ soft: true });
    const body = `<main><h1>x</h1>${frameOf(VIDEO).replace('width="560"', 'width="100%"')}</main>`;
    for (const language of LANGUAGES) {
      const { lang, dir, frame, purposes } = localeOf(language);
      await page.goto(await shop.put(`/${language}`, { body, snippet: snippetIn(shop, language) }));
      const inner = page.frameLocator('iframe');
      await softly(inner.getByRole('button', { name: frame.once, exact: true }), language).toBeVisible();
      await softly(inner.getByRole('button', { name: frame.always, exact: true }), language).toBeVisible();
      const box = inner.getByRole('group');
      for (const text of [frame.from, frame.why]) await softly(box, language).toContainText(text.replace('{provider}', 'YouTube'));
      await softly(box, language).toContainText(frame.asks.replace('{purposes}', purposes.analytics.title));
      const shown = await inner.locator('html').evaluate((html: HTMLElement) => ({ lang: html.lang, dir: html.dir, excess: html.scrollWidth - html.clientWidth }));
      softly(shown, language).toEqual({ lang, dir, excess: 0 });
    }
  });
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

  for (const language of ['ar', 'de', 'fa', 'he']) {
    test(`in the language ${language}`, async ({ page, shop }) => {
      const { frame } = localeOf(language);
      await page.goto(await shop.put('/', { body: `<main><h1>x</h1>${frameOf(VIDEO)}</main>`, snippet: snippetIn(shop, language) }));
      await expect(page.frameLocator('iframe').getByRole('button', { name: frame.once, exact: true })).toBeVisible();
      expect(await accessibilityProblems(page)).toEqual([]);
    });
  }

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
