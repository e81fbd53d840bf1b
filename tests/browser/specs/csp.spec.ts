import { acceptAll, expect, popup, settle, test } from '../support/fixtures';
import { PLAIN_POLICY } from '../support/integrator';

/** A strict policy: scripts with a nonce, no inline styles, and only the service's origin for connections. */
const policy = (base: string): string =>
  `default-src 'none'; script-src 'nonce-R4nd0m' 'strict-dynamic'; style-src 'self'; img-src 'self' data:; connect-src ${base}; base-uri 'none'; object-src 'none'`;

test('a complete visit raises no violation under a strict content security policy', async ({ page, shop }) => {
  const nonced = shop.policy.snippet.replace('<script ', '<script nonce="R4nd0m" ');
  const head = `<script nonce="R4nd0m">
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
  </script>`;
  const body = `<h1>x</h1><button id="page-button">Buy</button>
    <script type="text/plain" data-assent="analytics" nonce="R4nd0m">window.ran = 'inline'</script>`;
  await page.goto(await shop.put('/', { head, body, snippet: nonced, headers: { 'Content-Security-Policy': policy(shop.base) } }));

  const elements = popup(page);
  await expect(elements.banner).toBeVisible();
  const style = await elements.accept.evaluate((element) => getComputedStyle(element).minHeight);
  expect(style, 'it is styled').toBe('44px');
  await elements.choose.click();
  await elements.purpose('Statistics').check();
  await elements.acceptAll.click();
  await expect(elements.saved).toBeVisible();
  await expect.poll(() => shop.tagLoads(), 'the tag is allowed').toBe(1);
  expect(await page.evaluate(() => (window as any).ran), 'the nonce is kept').toBe('inline');
  await elements.wayBack.click();
  await elements.withdraw.click();
  await expect(elements.preferences).toBeHidden();
  expect(await page.evaluate(() => (window as any).violations)).toEqual([]);
  expect(await page.locator('[style]').count(), 'no inline style').toBe(0);
});

test.describe('a page that uses every module of the tag', () => {
  test.use({ zone: 'localhost', consent: { ...PLAIN_POLICY, share_subdomains: true } });

  for (const [what, trustedTypes] of [
    ['does not require Trusted Types', ''],
    ['allows the policy of Trusted Types', "; require-trusted-types-for 'script'; trusted-types assent"],
    ['allows no policy of Trusted Types', "; require-trusted-types-for 'script'; trusted-types 'none'"],
  ]) {
    test(`and ${what} raises no violation under a strict content security policy`, async ({ page, shop }) => {
      const attributes = 'nonce="R4nd0m" data-assent-signals="uet telepathy" data-assent-compat';
      const snippet = shop.policy.snippet.replace('<script ', `<script ${attributes} `);
      const head = `<script nonce="R4nd0m">
        window.violations = [];
        document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI));
      </script>`;
      const body = `<h1>x</h1><iframe data-assent="analytics" data-src="/frame" title="Video" width="400" height="300"></iframe>
        <script type="text/plain" data-category="analytics" nonce="R4nd0m">window.ran = 'inline'</script>`;
      await shop.put('/frame', { html: '<p>Shown</p>' });
      const loaded: string[] = [];
      page.on('requestfinished', (request) => loaded.push(new URL(request.url()).pathname));
      const headers = { 'Content-Security-Policy': `${policy(shop.base)}; frame-src 'self'${trustedTypes}` };
      await page.goto(await shop.put('/', { head, body, snippet, headers }));
      await expect(page.frameLocator('iframe').getByRole('button', { name: 'Show once' })).toBeVisible();
      await acceptAll(page);
      await expect(page.frameLocator('iframe').getByText('Shown')).toBeVisible();
      await expect.poll(() => page.evaluate(() => (window as any).ran)).toBe('inline');
      await page.evaluate(() => (window as any).assent.withdraw());
      await expect(page.frameLocator('iframe').getByRole('button', { name: 'Show once' })).toBeVisible();
      for (const module of ['share', 'signals', 'compat', 'placeholders', 'extras']) {
        await expect.poll(() => loaded, module).toContain(`/${module}.js`);
      }
      const violations: string[] = await page.evaluate(() => (window as any).violations);
      // Where no policy is allowed, the tag cannot set the address of the identification script.
      const ofTypes = trustedTypes.includes("'none'") ? /trusted-types/ : /^$/;
      expect(violations.filter((violation) => !ofTypes.test(violation))).toEqual([]);
    });
  }
});

test('no element of the popup has a name that block lists contain', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  await expect(popup(page).banner).toBeVisible();
  const names = await page.evaluate(() => {
    const host = document.querySelector('assent-ui')!;
    const inner = [...host.shadowRoot!.querySelectorAll('*')];
    return [host, ...inner].flatMap((element) => [element.localName, element.id, element.className]).join(' ');
  });
  expect(names).not.toMatch(/cookie|consent|gdpr|banner|cmp|ccpa|overlay|popup|tracking/i);
});

test('where Trusted Types forbid the markup of a frame’s own placeholder, a withdrawal empties all frames', async ({ page, shop }) => {
  const video = await shop.put('/video', { html: '<h2>A video</h2>' });
  const frame = (id: string, more: string): string =>
    `<div id="${id}"><iframe ${more} data-assent="analytics" data-src="${video}" title="${id}" width="400" height="300"></iframe></div>`;
  const body = `<h1>x</h1>${frame('one', 'srcdoc="<p>Own words</p>"')}${frame('two', '')}`;
  const headers = { 'Content-Security-Policy': "require-trusted-types-for 'script'; trusted-types 'none'" };
  await page.goto(await shop.put('/', { body, headers }));
  await expect(page.frameLocator('#one iframe').getByText('Own words')).toBeVisible();
  await acceptAll(page);
  const shown = (id: string) => page.frameLocator(`#${id} iframe`).locator('h2');
  for (const id of ['one', 'two']) await expect(shown(id)).toHaveText('A video');
  await page.evaluate(() => (window as any).assent.withdraw());
  for (const id of ['one', 'two']) await expect(shown(id)).toHaveCount(0);
  await expect(page.frameLocator('#two iframe').getByRole('button', { name: 'Show once' })).toBeVisible();
});

test.describe('a page that requires Trusted Types', () => {
  const policies: [string, string, boolean][] = [
    ['and allows the policy', "require-trusted-types-for 'script'; trusted-types assent", true],
    ['and allows any policy', "require-trusted-types-for 'script'", true],
    ['and allows no policy', "require-trusted-types-for 'script'; trusted-types 'none'", false],
  ];
  const recordViolations = `<script>
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective));
  </script>`;

  for (const [what, header, allowed] of policies) {
    test(`${what}: ${allowed ? 'identification and gated scripts run' : 'identification is not loaded, without an error'}`, async ({ page, shop }) => {
      await shop.putScript('/gated.js', `(window.ran = window.ran || []).push('external')`);
      const gated = 'type="text/plain" data-assent="analytics"';
      const body = `<h1>x</h1><script ${gated} src="/gated.js"></script>
        <script ${gated}>(window.ran = window.ran || []).push('inline')</script>`;
      await page.goto(await shop.put('/', { head: recordViolations, body, headers: { 'Content-Security-Policy': header } }));
      await popup(page).choose.click();
      // The preferences are part of a module, to which Trusted Types do not apply.
      await popup(page).acceptAll.click();
      await expect(popup(page).saved).toBeVisible();
      await expect.poll(() => page.evaluate(() => (window as any).ran)).toEqual(['external', 'inline']);
      if (allowed) {
        await expect.poll(() => page.evaluate(() => (window as any).tagLoads)).toBe(1);
        expect(await page.evaluate(() => (window as any).violations)).toEqual([]);
      }
      await page.evaluate(() => (window as any).assent.withdraw());
      await page.evaluate(() => (window as any).assent.accept());
      await settle(page);
      expect(await shop.tagLoads()).toBe(allowed ? 1 : 0);
    });

    test(`${what}: the immediate snippet ${allowed ? 'runs' : 'does not run, without an error'}`, async ({ page, shop }) => {
      const url = await shop.put('/', { head: recordViolations, snippet: shop.pixel.immediate, headers: { 'Content-Security-Policy': header } });
      await page.goto(url);
      if (allowed) {
        await expect.poll(() => page.evaluate(() => (window as any).tagLoads)).toBe(1);
        expect(await page.evaluate(() => (window as any).violations)).toEqual([]);
      }
      await settle(page);
      expect(await shop.tagLoads()).toBe(allowed ? 1 : 0);
    });
  }
});
