import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Page } from '@playwright/test';
import ts from 'typescript';
import { chromiumOnly } from '../support/browsers';
import { acceptAll, expect, popup, sendGpc, settle, state, test } from '../support/fixtures';
import { PLAIN_POLICY } from '../support/integrator';

/** The help for developers of a page: types, a queue before the tag has loaded, and reasons in the console. */

test.describe('the types', chromiumOnly('the declarations are the same for every browser'), () => {
  const problems = (declarations: string, code: string): string[] => {
    const folder = mkdtempSync(join(tmpdir(), 'assent-types-'));
    try {
      writeFileSync(join(folder, 'assent.d.ts'), declarations);
      writeFileSync(join(folder, 'page.ts'), code);
      const options = { strict: true, noEmit: true, types: [], target: ts.ScriptTarget.ES2020, lib: ['lib.es2020.d.ts', 'lib.dom.d.ts'] };
      const program = ts.createProgram([join(folder, 'assent.d.ts'), join(folder, 'page.ts')], options);
      return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const served = async (base: string): Promise<string> => (await fetch(`${base}/assent.d.ts`)).text();

  test('describe the API, the queue, the event and the attributes', async ({ shop }) => {
    const code = `
      const now: Assent.Snapshot = assent.get();
      const purposes: Assent.Purpose[] = now.purposes;
      const off: () => void = assent.on('change', ({ state, gpc }) => console.log(state === 'accepted', gpc));
      const offQueued: () => void = window.assent('on', 'change', (snapshot) => console.log(snapshot.receipt));
      assent('track', 'add_to_cart', { id: 1 });
      assent('open');
      const saved: Promise<boolean> = assent.accept(['analytics']);
      assent.decline(); assent.withdraw(); assent.open(); assent.track('viewed_product');
      const queue: Assent.Queue = Object.assign(((..._call: unknown[]) => off) as Assent.Call, { q: [] });
      document.addEventListener('assent:change', ({ detail }) => console.log(detail.purposes.length));
      addEventListener('assent:change', ({ detail }) => console.log(detail.visitor));
      const tag: Assent.TagAttributes = { 'data-assent-signals': 'uet clarity', 'data-assent-compat': '', 'data-assent-layer': 'shopLayer' };
      const frame: Assent.FrameAttributes = { 'data-assent': 'analytics', 'data-src': '/map', 'data-assent-placeholder': 'none' };
      const script: Assent.ScriptAttributes = { 'data-assent': 'analytics resolution', 'data-assent-type': 'module', 'data-assent-cookies': '_ga' };
      console.log(purposes, off, offQueued, saved, queue, tag, frame, script);`;
    expect(problems(await served(shop.base), code)).toEqual([]);
  });

  test('refuse mistakes', async ({ shop }) => {
    const types = await served(shop.base);
    for (const mistake of ["assent.accept(['telepathy'])", "assent('nonsense')", "assent.on('changed', () => {})", 'assent.get().state = "maybe"']) {
      expect(problems(types, mistake), mistake).not.toEqual([]);
    }
  });

  test('have every attribute that the documentation lists', async ({ shop }) => {
    const types = await served(shop.base);
    const document = readFileSync(resolve(__dirname, '../../../docs/tag.md'), 'utf8');
    const attributes = [...document.matchAll(/^\| `(data-[a-z-]+)` \|/gm)].map(([, name]) => name);
    expect(attributes.length).toBeGreaterThan(8);
    for (const name of attributes) expect(types, name).toMatch(new RegExp(`^    '${name}'\\??: `, 'm'));
  });

  test('name every purpose and every method of the tag', async ({ page, shop }) => {
    const types = await served(shop.base);
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    const methods = await page.evaluate(() => Object.keys((window as any).assent));
    const members = await page.evaluate(() => Object.keys((window as any).assent.get()));
    for (const name of methods) expect(types, name).toMatch(new RegExp(`^    ${name}\\(`, 'm'));
    for (const name of members) expect(types, name).toMatch(new RegExp(`^    ${name}: `, 'm'));
  });
});

test.describe('the console says why nothing happens', () => {
  const listen = (page: Page): (() => string) => {
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    return () => messages.filter((text) => text.startsWith('Assent: ')).join('\n');
  };

  test('for a second tag on the page', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/', { snippet: shop.policy.snippet + shop.policy.snippet }));
    await expect(popup(page).banner).toBeVisible();
    await expect.poll(messages).toContain('this page contains two consent tags');
  });

  test('for an unknown call, and for an unknown event', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/'));
    await page.evaluate(() => (window as any).assent('acept'));
    await expect.poll(messages).toContain('there is no “acept”');
    await page.evaluate(() => (window as any).assent.on('changed', () => {}));
    await expect.poll(messages).toContain('there is no “changed”');
    expect(messages()).toContain(`${shop.base}/guide/tag#javascript-api`);
  });

  test('for an acceptance of unknown purposes, and for every choice under Global Privacy Control', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/'));
    const accept = (purposes: string[]): Promise<boolean> => page.evaluate((purposes) => (window as any).assent.accept(purposes), purposes);
    expect(await accept(['telepathy'])).toBe(false);
    await expect.poll(messages).toContain('the choice (telepathy) is made without the purposes that this site does not ask for');
    expect(await accept(['analytics', 'clairvoyance'])).toBe(true);
    await expect.poll(messages).toContain('the choice (analytics,clairvoyance) is made without');
    expect(await accept(['analytics', 'resolution'])).toBe(true);
    await sendGpc(page);
    await page.reload();
    await expect.poll(messages).toContain('Assent: GPC');
    await accept(['analytics']);
    await expect.poll(messages).toContain('the choice (analytics) is made without');
    expect(messages()).not.toContain('analytics,resolution');
  });

  test('for a vendor whose script is not on the page, and for one that is unknown', async ({ page, shop }) => {
    const messages = listen(page);
    await page.clock.install();
    const snippet = shop.policy.snippet.replace('<script ', '<script data-assent-signals="meta tiktok" ');
    await page.goto(await shop.put('/', { snippet }));
    await expect.poll(messages).toContain('“tiktok” in data-assent-signals is unknown');
    await page.clock.fastForward(31_000);
    await expect.poll(messages).toContain('“meta” is named in data-assent-signals, but its script is not on this page');
  });

  test('for a frame that cannot be given a placeholder', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/', { body: '<h1>x</h1><iframe sandbox="allow-scripts" data-assent="analytics" data-src="/map" title="Map"></iframe>' }));
    await expect.poll(messages).toContain('shows no placeholder');
  });

  test('for a frame that is too narrow for a placeholder', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/', { body: '<h1>x</h1><iframe width="40" data-assent="analytics" data-src="/map" title="Map"></iframe>' }));
    await expect.poll(messages).toContain('a frame narrower than 60 pixels shows no placeholder');
  });

  test('for frames whose address is in the wrong attribute, once each', async ({ page, shop }) => {
    const messages = listen(page);
    const video = await shop.put('/video');
    const frames = `<iframe data-assent="analytics" src="${video}" title="Video"></iframe><iframe data-assent="analytics" title="Map"></iframe>`;
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${frames}` }));
    await expect.poll(messages).toContain(`has no data-src, so it has loaded ${video} without waiting`);
    await expect.poll(messages).toContain('has no data-src, so it shows nothing');
    await acceptAll(page);
    await settle(page);
    expect(messages().split('\n')).toHaveLength(2);
  });

  test('for a frame whose address is not valid', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/', { body: '<h1>x</h1><iframe data-assent="analytics" data-src="https://" title="Map"></iframe>' }));
    await expect.poll(messages).toContain('the address “https://” of a frame is not valid');
  });

  test('for elements that do not wait, once each, and not for scripts that the tag has started', async ({ page, shop }) => {
    const messages = listen(page);
    await page.route('**/slow.js', async (route) => {
      await new Promise((done) => setTimeout(done, 300));
      await route.fulfill({ contentType: 'application/javascript', body: 'window.slow = 1' });
    });
    const body = `<h1>x</h1><script data-assent="analytics">window.early = 1</script><img data-assent="analytics" data-src="/x.png" alt="">
      <script type="text/plain" data-assent="analytics" src="/slow.js"></script>
      <script type="text/plain" data-assent="analytics">window.inline = 1</script>`;
    await page.goto(await shop.put('/', { body }));
    expect(await page.evaluate(() => (window as any).early), 'it has not waited').toBe(1);
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await expect.poll(() => page.evaluate(() => [(window as any).slow, (window as any).inline])).toEqual([1, 1]);
    await page.evaluate(() => document.body.append(document.createElement('p')));
    await expect.poll(messages).toContain('a <script> with data-assent does not wait');
    await expect.poll(messages).toContain('a <img> with data-assent does not wait');
    await settle(page);
    expect(messages().split('\n')).toHaveLength(2);
  });

  for (const element of ['<script data-assent="analytics">window.early = 1</script>', '<img data-assent="analytics" data-src="/x.png" alt="">']) {
    test(`for an element that does not wait and is the only one: ${element.slice(0, 8)}`, async ({ page, shop }) => {
      const messages = listen(page);
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${element}` }));
      await acceptAll(page);
      await expect.poll(messages).toContain('with data-assent does not wait');
    });
  }

  test('for an acceptance that the service does not record', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await page.route('**/v1/consent/record', (route) => route.fulfill({ status: 204, headers: { 'Access-Control-Allow-Origin': '*' } }));
    expect(await page.evaluate(() => (window as any).assent.accept())).toBe(false);
    await expect.poll(messages).toContain('the acceptance is not recorded');
    expect(messages()).toContain(`${shop.base}/guide/tag#popup`);
  });

  test('for a page that removes the popup again and again', async ({ page, shop }) => {
    const messages = listen(page);
    const remover = "<script>new MutationObserver(() => document.querySelector('assent-ui')?.remove()).observe(document, { childList: true, subtree: true })</script>";
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${remover}` }));
    await expect.poll(messages).toContain('the page has removed <assent-ui> several times');
  });

  test('for a host on which the pixel is not installed', async ({ page, shop }) => {
    const messages = listen(page);
    await page.route('**/external_api/install-pixel/tag-pixel*', (route) =>
      route.fulfill({ json: { pixel_id: null }, headers: { 'Access-Control-Allow-Origin': '*' } }),
    );
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(messages).toContain('identification is not available on');
  });

  test.describe('on a site with one choice for all subdomains', () => {
    test.use({ consent: { ...PLAIN_POLICY, share_subdomains: true } });

    test('for a module that cannot be loaded, without which nobody is asked', async ({ page, shop }) => {
      const messages = listen(page);
      await page.route('**/share.js*', (route) => route.abort());
      await page.goto(await shop.put('/'));
      await expect.poll(messages).toContain('/share.js cannot be loaded. Nothing is permitted on this page, and nobody is asked.');
      await settle(page);
      await expect(popup(page).banner).toHaveCount(0);
      expect(await state(page)).toMatchObject({ state: null, purposes: [] });
    });
  });

  test('for an element that waits for a purpose of no visitor', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/', { body: '<h1>x</h1><script type="text/plain" data-assent="marketing">1</script>' }));
    await acceptAll(page);
    await expect.poll(messages).toContain('an element waits for “marketing”');
  });

  test('and says nothing where everything works', async ({ page, shop }) => {
    const messages = listen(page);
    await page.goto(await shop.put('/', { body: '<h1>x</h1><script type="text/plain" data-assent="analytics">window.ran = 1</script>' }));
    await acceptAll(page);
    await settle(page);
    expect(messages()).toBe('');
  });
});
