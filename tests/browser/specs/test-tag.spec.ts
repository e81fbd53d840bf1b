import { createServer, Server } from 'node:http';
import { AddressInfo } from 'node:net';
import { Page } from '@playwright/test';
import { acceptAll, accessibilityProblems, expect, popup, settle, state, test } from '../support/fixtures';
import { checkConsent, readLog, readStats } from '../support/integrator';
import { examplesOf } from '../support/tag-guide';

/** The test tag on a developer's own machine, and the advice where a tag is on the wrong host. */

/** A page on `localhost`, which the browser reaches directly. */
const serve = async (html: string): Promise<{ url: string; stop: () => void }> => {
  const server: Server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(html));
  await new Promise<void>((ready) => server.listen(0, 'localhost', ready));
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://localhost:${port}/`, stop };
};

const pageWith = (snippet: string): string => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Local shop</title>
<link rel="icon" href="data:,">${snippet}</head><body><main><h1>Local shop</h1><p>Bread</p></main></body></html>`;

const tagOf = (base: string, id: string): string => `<script async src="${base}/px/${id}.js"></script>`;

const listen = (page: Page): (() => string[]) => {
  const messages: string[] = [];
  page.on('console', (message) => messages.push(message.text()));
  return () => messages.filter((text) => text.startsWith('Assent: '));
};

test('the test tag of the guide asks on localhost, is marked, and its choices count nowhere', async ({ page, shop }) => {
  const messages = listen(page);
  const id = `test_${shop.pixel.id}`;
  const [example] = examplesOf('Test', shop.base, shop.pixel.id);
  expect(example.trim()).toBe(tagOf(shop.base, id));
  const site = await serve(pageWith(example));
  try {
    await page.goto(site.url);
    await expect(page.getByRole('dialog', { name: 'Test · Your privacy choice' })).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Test · Your privacy choice' })).toBeVisible();
    expect(await accessibilityProblems(page)).toEqual([]);
    await acceptAll(page);
    const { visitor, receipt, purposes } = await state(page);
    expect(purposes).toEqual(['analytics', 'resolution']);
    expect(receipt).toBeTruthy();
    // Identification is loaded through the gate, under the test id.
    const loaded = page.locator(`script[src="${shop.base}/pixels/${id}/p.js"]`);
    await expect(loaded).toHaveCount(1);
    const test = { ...shop.pixel, id };
    expect(await checkConsent(shop.base, test, visitor)).toMatchObject({ permitted: true });
    expect(await checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({ permitted: false, reason: 'no_consent_record' });
    expect(await readLog(shop.base, shop.pixel)).toEqual([]);
    expect(await readStats(shop.base, shop.pixel)).toMatchObject({ totals: { shown: 0, accepted: 0 } });
    // The reopened popup is marked too, and withdraws.
    await popup(page).wayBack.click();
    await expect(page.getByRole('dialog', { name: 'Test · Manage your choices' })).toBeVisible();
    await popup(page).withdraw.click();
    await expect.poll(async () => (await checkConsent(shop.base, test, visitor)).reason).toBe('declined_or_withdrawn');
    // After a reload the choice is known.
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    expect((await state(page)).state).toBe('withdrawn');
    expect(messages()).toEqual([]);
  } finally {
    site.stop();
  }
});

test('the pixel’s own tag on localhost names the test tag in one line', async ({ page, shop }) => {
  const messages = listen(page);
  const site = await serve(pageWith(tagOf(shop.base, shop.pixel.id)));
  try {
    await page.goto(site.url);
    const refused = page.waitForResponse((response) => response.url().endsWith('/v1/consent/record'));
    await popup(page).accept.click();
    expect((await refused).status()).toBe(403);
    await expect(popup(page).failed).toBeVisible();
    await expect.poll(messages).toHaveLength(1);
    expect(messages()[0]).toContain(tagOf(shop.base, `test_${shop.pixel.id}`));
    expect(messages()[0]).toContain('no choice is recorded on localhost');
    expect(messages()[0]).toContain(`${shop.base}/guide/tag#test`);
    await settle(page);
    expect(messages()).toHaveLength(1);
  } finally {
    site.stop();
  }
});

test('the test tag on a public site says where it works', async ({ page, shop }) => {
  const messages = listen(page);
  await page.goto(await shop.put('/', { snippet: tagOf(shop.base, `test_${shop.pixel.id}`) }));
  await popup(page).decline.click();
  await expect.poll(messages).toHaveLength(1);
  expect(messages()[0]).toContain('the test tag works on localhost');
});

test('a test host of the configuration takes the test tag', async ({ page, shop }) => {
  const host = `staging-${Date.now()}.example`;
  await shop.configure({ controller_name: 'Example Shop Ltd', purposes: ['analytics', 'resolution'], test_hosts: [host] });
  await page.goto(await shop.put('/', { host, snippet: tagOf(shop.base, `test_${shop.pixel.id}`) }));
  await acceptAll(page);
  expect(await readLog(shop.base, shop.pixel)).toEqual([]);
});
