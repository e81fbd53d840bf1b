import { acceptAll, expect, popup, settle, Shop, state, test } from '../support/fixtures';
import { PLAIN_POLICY } from '../support/integrator';
import { examplesOf, guideFor, LANGUAGES_OF_EXAMPLES, SECTIONS } from '../support/tag-guide';
import { commands, lastSignal } from '../support/vendors';

/** The examples of the guide to the tag, as they are written there. */

const examples = (shop: Shop, section: string, language?: string): string[] => examplesOf(section, shop.base, shop.pixel.id, language);

test('every example of the guide is run: those of Test by the tests of the test tag, all others here', async ({ page, shop }) => {
  expect(LANGUAGES_OF_EXAMPLES).toEqual({
    Install: ['html'],
    Configure: ['json'],
    'Gate scripts and frames': ['html'],
    'Videos and maps': ['html'],
    'Google Consent Mode': ['html'],
    Signals: ['html', 'html'],
    Migrate: ['html', 'html'],
    'JavaScript API': ['html'],
    'One choice for all subdomains': [''],
    Test: ['html'],
  });
  const [install] = examples(shop, 'Install');
  expect(install.trim()).toBe(shop.policy.snippet);
  await page.goto(await shop.put('/', { snippet: install }));
  await expect(popup(page).banner).toBeVisible();
});

test('the short document for models has the examples of the guide', async ({ page, shop }) => {
  const short = await (await page.request.get(`${shop.base}/docs/front-end.md`)).text();
  const blocks = [...short.matchAll(/^```(html|json)\n(.*?)^```$/gms)];
  expect(blocks.filter(([, language]) => language === 'html').length).toBeGreaterThan(4);
  for (const [, language, text] of blocks) {
    if (language === 'html') expect(guideFor(shop.base, 'PIXEL_ID')).toContain(text);
    else expect(JSON.parse(text)).toEqual(JSON.parse(examples(shop, 'Configure', 'json')[0]));
  }
});

test('the example of an appearance sets position, font and button', async ({ page, shop }) => {
  const [appearance] = examples(shop, 'Configure', 'json');
  await shop.configure({ ...PLAIN_POLICY, ...JSON.parse(appearance) });
  await page.goto(await shop.put('/', { head: '<style>body { font-family: Georgia, serif }</style>' }));
  await expect(popup(page).banner).toHaveAttribute('data-p', 'bottom-left');
  await expect(popup(page).banner).toHaveCSS('border-radius', '12px');
  await expect(popup(page).accept).toHaveCSS('font-family', 'Georgia, serif');
  await popup(page).decline.click();
  await expect(popup(page).wayBack).toHaveAttribute('data-p', 'bottom-right');
});

test.describe('on a site with one choice for all subdomains', () => {
  test.use({ zone: 'localhost', consent: { ...PLAIN_POLICY, share_subdomains: true } });

  test('the cookie has the parts of the example, in its order', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    const { visitor, receipt } = await state(page);
    const cookie = (): Promise<string | undefined> =>
      page.evaluate(() => document.cookie.split('; ').find((pair) => pair.startsWith('assent='))?.slice('assent='.length));
    await expect.poll(cookie).toBeDefined();
    const value = (await cookie())!;
    const parts = value.split('.');
    const filled = examples(shop, 'One choice for all subdomains', '')[0]
      .trim()
      .replace(/\d{13}/, parts[3])
      .replace('POLICY_HASH', shop.policy.policy_hash)
      .replace('VISITOR_ID', visitor)
      .replace('RECEIPT_ID', receipt)
      .replace('CHOICE_ID', parts[8]);
    expect(value).toBe(filled);
    expect(Math.abs(Number(parts[3]) - Date.now())).toBeLessThan(60_000);
  });
});

test('the recipes for videos and maps show a placeholder of their provider, and load its address after an acceptance', async ({ page, shop }) => {
  const [recipes] = examples(shop, 'Videos and maps');
  const requested: string[] = [];
  await page.route(/youtube|vimeo|google|openstreetmap/, (route) => {
    requested.push(new URL(route.request().url()).hostname);
    return route.fulfill({ contentType: 'text/html', body: '<h2>Content</h2>' });
  });
  await page.goto(await shop.put('/', { body: `<h1>x</h1>${recipes}` }));
  for (const [index, provider] of ['YouTube', 'Vimeo', 'Google Maps', 'OpenStreetMap'].entries()) {
    await expect(page.frameLocator('iframe').nth(index).getByRole('group')).toContainText(`Content from ${provider}`);
  }
  await settle(page);
  expect(requested).toEqual([]);
  await acceptAll(page);
  await expect.poll(() => [...requested].sort()).toEqual(['player.vimeo.com', 'www.google.com', 'www.openstreetmap.org', 'www.youtube-nocookie.com']);
});

test('the snippet for signals denies to the vendors that it names, and updates them', async ({ page, shop }) => {
  const [snippet, before] = examples(shop, 'Signals');
  await page.goto(await shop.put('/', { snippet: before + snippet }));
  expect(await commands(page, 'uet')).toContainEqual(['consent', 'default', { ad_storage: 'denied' }]);
  expect(await lastSignal(page, 'clarity')).toEqual({ ads: false, statistics: false });
  await acceptAll(page);
  await expect.poll(() => lastSignal(page, 'uet')).toEqual({ ads: true });
  await expect.poll(() => lastSignal(page, 'clarity')).toEqual({ ads: true, statistics: true });
});

test('the snippets for migrating honour the markup of other tools', async ({ page, shop }) => {
  const [plain, mapped] = examples(shop, 'Migrate');
  const body = `<h1>x</h1><script type="text/plain" data-cookieconsent="statistics">(window.ran = window.ran || []).push('statistics')</script>
    <script type="text/plain" data-name="matomo">(window.ran = window.ran || []).push('matomo')</script>`;
  const ran = (): Promise<unknown> => page.evaluate(() => (window as any).ran);
  await page.goto(await shop.put('/', { body, snippet: plain }));
  await acceptAll(page);
  await expect.poll(ran).toEqual(['statistics']);
  await page.goto(await shop.put('/mapped', { body, snippet: mapped }));
  await expect.poll(ran).toEqual(['statistics', 'matomo']);
});

test('the queue passes calls on, and returns a function that removes a listener, before and after the tag has loaded', async ({ page, shop }) => {
  const [example] = examples(shop, 'JavaScript API');
  const messages: string[] = [];
  page.on('console', (message) => messages.push(message.text()));
  const head = `${example}<script>
    window.heard = [];
    var offEarly = assent('on', 'change', function () { heard.push('early') });
    window.offLate = assent('on', 'change', function (now) { heard.push('late ' + now.state) });
    assent('on', 'change', function () { heard.push('kept') });
    assent('track', 'viewed_product', { id: 1 });
    offEarly();
  </script>`;
  await page.goto(await shop.put('/', { head }));
  await acceptAll(page);
  const heard = (): Promise<string[]> => page.evaluate(() => (window as any).heard);
  expect(await heard()).toEqual(['late accepted', 'kept']);
  expect(messages.join()).toContain('accepted');
  await expect.poll(() => page.evaluate(() => (window as any).tagHeard)).toEqual([['track', 'viewed_product', { id: 1 }]]);
  await page.evaluate(() => (window as any).offLate());
  await page.evaluate(() => (window as any).assent.decline());
  expect(await heard()).toEqual(['late accepted', 'kept', 'kept']);
});

test('the lines for a tag manager and the gated elements work as written', async ({ page, shop }) => {
  const [defaults] = examples(shop, 'Google Consent Mode');
  const [gated] = examples(shop, 'Gate scripts and frames');
  await page.route('https://stats.example/s.js', (route) => route.fulfill({ contentType: 'application/javascript', body: 'window.counted = true' }));
  await page.route('https://videos.example/embed/1', (route) => route.fulfill({ contentType: 'text/html', body: '<h2>Content</h2>' }));
  await page.goto(await shop.put('/', { head: defaults, body: `<h1>x</h1>${gated}` }));
  await expect(page.frameLocator('iframe').getByRole('group')).toContainText('Content from videos.example');
  await acceptAll(page);
  await expect.poll(() => page.evaluate(() => (window as any).counted)).toBe(true);
  await expect(page.frameLocator('iframe').locator('h2')).toHaveText('Content');
  expect(await page.evaluate(() => (window as any).dataLayer.map((entry: any) => entry[1]))).toEqual(['default', 'default', 'update']);
  expect(await state(page)).toMatchObject({ state: 'accepted' });
  await expect(popup(page).wayBack).toBeVisible();
});

test('the guide is a page of the service, with an anchor for every section and no broken link to one', async ({ page, shop }) => {
  await page.goto(`${shop.base}/guide/tag`);
  await expect(page.getByRole('heading', { name: 'The consent tag' }).first()).toBeVisible();
  for (const title of SECTIONS) await expect(page.getByRole('heading', { name: title, exact: true })).toHaveCount(1);
  const broken = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLAnchorElement>('article a[href^="#"]')].map(({ hash }) => hash).filter((hash) => !document.querySelector(hash)),
  );
  expect(broken).toEqual([]);
  expect(await page.locator('article').innerText()).toContain(`${shop.base}/px/PIXEL_ID.js`);
});
