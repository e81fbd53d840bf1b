import { Page } from '@playwright/test';
import { acceptAll, expect, popup, settle, test } from '../support/fixtures';
import { inline, library, note, ran } from '../support/hostile';

/** Gated scripts that pages add without the parser, or that only work while the parser runs. */

const GATED = 'type="text/plain" data-assent="analytics"';

/** The methods by which pages insert markup later. */
const INSERTIONS: [string, (markup: string) => void][] = [
  ['innerHTML', (markup) => (document.getElementById('slot')!.innerHTML = markup)],
  ['insertAdjacentHTML', (markup) => document.getElementById('slot')!.insertAdjacentHTML('beforeend', markup)],
  ['outerHTML', (markup) => (document.getElementById('slot')!.outerHTML = `<div id="slot">${markup}</div>`)],
  [
    'a template',
    (markup) => {
      const template = document.createElement('template');
      template.innerHTML = markup;
      document.getElementById('slot')!.append(template.content);
    },
  ],
  ['a cloned template', () => document.getElementById('slot')!.append((document.getElementById('stencil') as HTMLTemplateElement).content.cloneNode(true))],
  ['jQuery’s html', (markup) => (window as any).jQuery('#slot').html(markup)],
  ['jQuery’s append', (markup) => (window as any).jQuery('#slot').append(markup)],
  ['a fragment of a range', (markup) => document.getElementById('slot')!.append(document.createRange().createContextualFragment(markup))],
  ['a parsed document', (markup) => document.getElementById('slot')!.append(...new DOMParser().parseFromString(markup, 'text/html').body.childNodes)],
];

const markup = `<p>text</p><div><script ${GATED} src="/external.js" data-kept="yes"></script><script ${GATED}>${note('inline')}</script></div>`;

/** A script inserted as single-page applications do. */
const addLast = (page: Page): Promise<void> =>
  page.evaluate((code) => {
    const script = document.createElement('script');
    Object.assign(script, { type: 'text/plain', text: code });
    script.dataset.assent = 'analytics';
    document.body.append(script);
  }, note('last'));

test.describe('gated scripts that were added by', () => {
  for (const [name, add] of INSERTIONS) {
    for (const when of ['before', 'after'] as const) {
      test(`${name} ${when} the choice run once, in order, and do not delay others`, async ({ page, shop }) => {
        await page.route('**/external.js', (route) => route.fulfill({ contentType: 'application/javascript', body: note('external') }));
        await page.goto(
          await shop.put('/', {
            head: inline(library('jquery/dist/jquery.min.js')),
            body: `<h1>x</h1><div id="slot"></div><template id="stencil">${markup}</template>`,
          }),
        );
        if (when === 'after') await acceptAll(page);
        await page.evaluate(add, markup);
        await addLast(page);
        if (when === 'before') await acceptAll(page);
        await expect.poll(() => ran(page)).toEqual(['external', 'inline', 'last']);
        await expect(page.locator('script[data-kept=yes]')).toHaveAttribute('src', '/external.js');
        await settle(page);
        expect(await ran(page)).toHaveLength(3);
      });
    }
  }
});

test.describe('a gated script', () => {
  test('that never arrives delays the others for five seconds', async ({ page, shop }) => {
    const path = `/${shop.pixel.id}/never.js`;
    await shop.putScript(path, note('late'));
    const release = await shop.delay(path);
    await page.goto(await shop.put('/', { body: `<h1>x</h1><script ${GATED} src="${path}"></script><script ${GATED}>${note('next')}</script>` }));
    await acceptAll(page);
    const since = Date.now();
    await expect.poll(() => ran(page)).toEqual(['next']);
    expect(Date.now() - since).toBeGreaterThan(3_000);
    await release();
    await expect.poll(() => ran(page)).toEqual(['next', 'late']);
  });

  test('keeps its nonce, attributes, module type and order when it is added by innerHTML', async ({ page, shop }) => {
    const policy = `script-src 'nonce-R4nd0m' 'strict-dynamic'; object-src 'none'; base-uri 'none'`;
    await page.route('**/*.js?test', (route) => {
      const name = new URL(route.request().url()).pathname.slice(1, -3);
      return route.fulfill({ contentType: 'application/javascript', body: `${note(name)};${note('of ' + name)}` });
    });
    await page.goto(
      await shop.put('/', {
        snippet: shop.policy.snippet.replace('<script ', '<script nonce="R4nd0m" '),
        body: '<h1>x</h1><div id="slot"></div>',
        headers: { 'Content-Security-Policy': policy },
      }),
    );
    await acceptAll(page);
    await page.evaluate(
      ([gated, code]) => {
        const html = `<script ${gated} nonce="R4nd0m" src="/first.js?test" id="first" crossorigin="anonymous" referrerpolicy="no-referrer"></script>
          <script ${gated} nonce="R4nd0m" data-assent-type="module">${code}; export {}</script>
          <script ${gated} nonce="R4nd0m" src="/second.js?test" defer></script>`;
        document.getElementById('slot')!.innerHTML = html;
      },
      [GATED, note('module')],
    );
    await expect.poll(() => ran(page)).toEqual(expect.arrayContaining(['of first', 'of second', 'module']));
    expect((await ran(page)).indexOf('first')).toBeLessThan((await ran(page)).indexOf('second'));
    const kept = await page.evaluate(() => {
      const { nonce, crossOrigin, referrerPolicy, type } = document.getElementById('first') as HTMLScriptElement;
      return { nonce, crossOrigin, referrerPolicy, type };
    });
    // The type is that of a waiting script again, so that a copy of the element waits too.
    expect(kept).toEqual({ nonce: 'R4nd0m', crossOrigin: 'anonymous', referrerPolicy: 'no-referrer', type: 'text/plain' });
  });

  test('runs whatever the names of its attributes, also in browsers that reject some of them', async ({ page, shop }) => {
    await page.addInitScript(() => {
      const { setAttribute } = Element.prototype;
      Element.prototype.setAttribute = function (name, value) {
        if (!/^[a-z_:][\w:.-]*$/i.test(name)) throw new DOMException('The string contains invalid characters.', 'InvalidCharacterError');
        setAttribute.call(this, name, value);
      };
    });
    const markup = `<script ${GATED} @load="a" (load)="b" [src]="c" id="it">${note('it')}</script>`;
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${markup.replace('"it"', '"parsed"')}<div id="slot"></div>` }));
    await page.evaluate((html) => (document.getElementById('slot')!.innerHTML = html), markup);
    await acceptAll(page);
    await expect.poll(() => ran(page)).toEqual(['it', 'it']);
    expect(await page.evaluate(() => ['@load', '(load)', '[src]'].map((name) => document.getElementById('it')!.getAttribute(name)))).toEqual(['a', 'b', 'c']);
  });

  test('calls load handlers and listeners that were added to the gated element', async ({ page, shop }) => {
    await page.route('**/external.js', (route) => route.fulfill({ contentType: 'application/javascript', body: note('external') }));
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await page.evaluate(() => {
      const script = document.createElement('script');
      script.type = 'text/plain';
      script.dataset.assent = 'analytics';
      script.src = '/external.js';
      const recorder = (what: string) => () => ((window as any).ran = (window as any).ran || []).push(what);
      script.onload = recorder('handler');
      script.addEventListener('load', recorder('listener'));
      document.body.append(script);
    });
    await expect.poll(() => ran(page)).toEqual(['external', 'handler', 'listener']);
  });

  test('can be removed later by a framework without an error', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: '<h1>x</h1><div id="root"></div>' }));
    await page.evaluate((code) => {
      const script = document.createElement('script');
      script.type = 'text/plain';
      script.dataset.assent = 'analytics';
      script.text = code;
      document.getElementById('root')!.append(script, document.createElement('p'));
      (window as any).known = script;
    }, note('known'));
    await acceptAll(page);
    await expect.poll(() => ran(page)).toEqual(['known']);
    await page.evaluate(() => document.getElementById('root')!.removeChild((window as any).known));
  });

  test('is gated again when consent is withdrawn while it loads, also one that was added by innerHTML', async ({ page, shop }) => {
    const path = `/${shop.pixel.id}/slow.js`;
    await shop.putScript(path, note('slow'));
    const release = await shop.delay(path);
    await page.goto(await shop.put('/', { body: '<h1>x</h1><div id="slot"></div>' }));
    await acceptAll(page);
    const requested = page.waitForRequest(`**${path}`);
    await page.evaluate(
      ([gated, src]) => (document.getElementById('slot')!.innerHTML = `<script ${gated} src="${src}" onerror="1"></script>`),
      [GATED, path],
    );
    await requested;
    await page.evaluate(() => (window as any).assent.withdraw());
    await release();
    await settle(page);
    expect(await ran(page)).toEqual([]);
    await expect(page.locator('script[type="text/plain"]')).toHaveAttribute('src', path);
    await page.evaluate(() => (window as any).assent.accept());
    await expect.poll(() => ran(page)).toEqual(['slow']);
  });
});

test.describe('document.write of a gated script', () => {
  const writes: [string, string, string[]][] = [
    ['write', `document.write('<p class="w">o', 'ne</p>'); document.write('<p class="w">two</p>')`, ['one', 'two']],
    ['writeln', `document.writeln('<p class="w">one</p>')`, ['one']],
    ['open and close', `document.open(); document.write('<p class="w">one</p>'); document.close()`, ['one']],
    ['pieces of one element', `document.write('<div class="w">'); document.write('one'); document.write('</div>')`, ['one']],
    ['a timer', `setTimeout(() => document.write('<p class="w">one</p>'), 50)`, ['one']],
    ['a timer of a timer', `setTimeout(() => setTimeout(() => { document.open(); document.write('<p class="w">one</p>') }), 20)`, ['one']],
    ['the next frame', `requestAnimationFrame(() => document.write('<p class="w">one</p>'))`, ['one']],
    ['a timer with code as a text', `setTimeout("document.write('<p class=w>one</p>')", 0)`, ['one']],
    ['an answer of the network', `fetch('data:text/plain,<p class=w>one</p>').then((r) => r.text()).then((t) => document.write(t))`, ['one']],
    ['code after an await', `(async () => { await new Promise((done) => setTimeout(done, 20)); document.write('<p class="w">one</p>') })()`, ['one']],
    ['a microtask', `queueMicrotask(() => { document.open(); document.write('<p class="w">o'); document.write('ne</p>'); document.close() })`, ['one']],
    ['a bound function', `Promise.resolve('<p class="w">one</p>').then(document.write.bind(document))`, ['one']],
    ['a picture that has loaded', `const i = new Image(); i.onload = () => document.writeln('<p class="w">one</p>'); i.src = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'`, ['one']],
    ['an attribute', `const i = new Image(); i.setAttribute('onerror', "document.write('<p class=w>one</p>')"); i.src = 'data:,x'`, ['one']],
    ['a request that has loaded', `const x = new XMLHttpRequest(); x.onload = () => document.write(x.response); x.open('GET', 'data:text/plain,<p class=w>one</p>'); x.send()`, ['one']],
    ['a script of its own that has loaded', `const s = document.createElement('script'); s.onload = () => document.write('<p class="w">one</p>'); s.src = 'data:text/javascript,0'; document.head.append(s)`, ['one']],
    ['an observer', `new MutationObserver((_, it) => { it.disconnect(); document.write('<p class="w">one</p>') }).observe(document.head, { childList: true }); document.head.append('')`, ['one']],
    ['an idle callback', `requestIdleCallback(() => document.write('<p class="w">one</p>'))`, ['one']],
    ['code that is made of a text', `setTimeout(new Function("Promise.resolve().then(() => document.write('<p class=w>one</p>'))"))`, ['one']],
    ['a script', `document.write('<script>document.write("<p class=w>one</p>")<\\/script><p class="w">two</p>')`, ['one', 'two']],
  ];
  for (const [name, code, texts] of writes) {
    test(`by ${name} inserts the text after the script, and keeps the page`, async ({ page, shop }) => {
      const body = `<h1>x</h1><div id="ad"><script ${GATED}>${code}; ${note('it')}</script></div><p id="end">the end</p>`;
      await page.goto(await shop.put('/', { body }));
      await acceptAll(page);
      await expect.poll(() => ran(page)).toContain('it');
      await expect(page.locator('#ad .w')).toHaveText(texts);
      await settle(page);
      await expect(page.locator('h1')).toHaveText('x');
      await expect(page.locator('#end')).toHaveText('the end');
      await expect(popup(page).wayBack).toBeVisible();
      // The same holds on later pages.
      await page.reload();
      await expect(page.locator('#ad .w')).toHaveText(texts);
      await expect(page.locator('#end')).toBeVisible();
    });
  }

  test('of an external script, immediately or in a handler, keeps the page', async ({ page, shop }) => {
    await page.route('**/external.js', (route) =>
      route.fulfill({
        contentType: 'application/javascript',
        body: `document.write('<p class="w">one</p>'); addEventListener('poke', () => document.write('<p class="w">two</p>')); ${note('it')}`,
      }),
    );
    await page.goto(await shop.put('/', { body: `<h1>x</h1><div id="ad"><script ${GATED} src="/external.js"></script></div>` }));
    await acceptAll(page);
    await expect.poll(() => ran(page)).toEqual(['it']);
    await page.evaluate(() => void dispatchEvent(new Event('poke')));
    await expect(page.locator('#ad .w')).toHaveText(['one', 'two']);
    await expect(page.locator('h1')).toHaveText('x');
  });

  for (const how of ['at once', 'after an await']) {
    test(`of an inline module ${how} keeps the page`, async ({ page, shop }) => {
      const code = `${how === 'at once' ? '' : 'await new Promise((done) => setTimeout(done, 20));'} document.write('<p class="w">one</p>'); ${note('it')}`;
      await page.goto(await shop.put('/', { body: `<h1>x</h1><div id="ad"><script ${GATED} data-assent-type="module">${code}</script></div>` }));
      await acceptAll(page);
      await expect.poll(() => ran(page)).toEqual(['it']);
      await expect(page.locator('#ad .w')).toHaveText(['one']);
      await expect(page.locator('h1')).toHaveText('x');
    });
  }

  test('of a script that a gated script loads, in a handler, keeps the page', async ({ page, shop }) => {
    const body = `addEventListener('poke', () => { document.open(); document.write('<p class="w">one</p>'); document.close() }); ${note('it')}`;
    await page.route('**/inner.js', (route) => route.fulfill({ contentType: 'application/javascript', body }));
    const code = `const s = document.createElement('script'); s.src = '/inner.js'; document.head.append(s)`;
    await page.goto(await shop.put('/', { body: `<h1>x</h1><div id="ad"><script ${GATED}>${code}</script></div>` }));
    await acceptAll(page);
    await expect.poll(() => ran(page)).toEqual(['it']);
    await page.evaluate(() => void dispatchEvent(new Event('poke')));
    await expect(page.locator('#ad .w')).toHaveText(['one']);
    await expect(page.locator('h1')).toHaveText('x');
  });

  // The test presses a button, because Firefox reports evaluated code as the document's first line.
  const own = `const replace = () => { document.open(); document.write('<p>The bank asks for a code</p>'); document.close() };
    document.getElementById('pay').onclick = () => Promise.resolve().then(() => replace())`;
  for (const [where, markup] of [
    ['an inline script', `<script>\n${own}</script>`],
    ['an external script', '<script src="/own.js"></script>'],
  ]) {
    test(`does not change calls of the page’s own code in ${where}`, async ({ page, shop }) => {
      await page.route('**/own.js', (route) => route.fulfill({ contentType: 'application/javascript', body: own }));
      await page.goto(await shop.put('/', { body: `<h1>x</h1><button id="pay">Pay</button>${markup}<script ${GATED}>document.write('<p>x')</script><iframe></iframe>` }));
      await acceptAll(page);
      await expect(page.locator('p', { hasText: /^x$/ })).toHaveCount(1);
      const inner = await page.evaluate(() => {
        const document = window.document.querySelector('iframe')!.contentDocument!;
        document.open();
        document.write('<p>inner</p>');
        document.close();
        return document.body.textContent;
      });
      expect(inner).toBe('inner');
      await page.locator('#pay').click();
      await expect(page.locator('body > p')).toHaveText(['The bank asks for a code']);
      await expect(page.locator('h1')).toHaveCount(0);
    });
  }
});
