import { BrowserContext, Page } from '@playwright/test';
import { acceptAll, expect, popup, settle, Shop, state, test } from '../support/fixtures';
import { checkConsent, readLog } from '../support/integrator';
import { countAnsweredChoices, delayChoice } from '../support/requests';

/** A visitor with two tabs, who accepts in one and declines in the other: the "no" is the last receipt, whatever is slow. */

const openTab = async (context: BrowserContext, url: string): Promise<Page> => {
  const page = await context.newPage();
  page.on('pageerror', (error) => {
    throw error;
  });
  await page.goto(url);
  await page.waitForFunction(() => (window as any).assent?.get);
  return page;
};

/** Withdraws, and waits until the page has its answer, after which it counts the time: a clock put forward earlier would end its patience. */
const withdraw = async (page: Page, shop: Shop): Promise<void> => {
  await callApi(page, 'withdraw');
  await expect.poll(() => countAnsweredChoices(shop, 'withdrawn')).toBe(1);
  await settle(page);
};

const callApi = (page: Page, method: 'accept' | 'decline' | 'withdraw'): Promise<boolean> =>
  page.evaluate((name) => (window as any).assent[name](), method);

const recordAcceptance = async (shop: Shop, visitor: string): Promise<void> => {
  const body = {
    pixel_id: shop.pixel.id,
    visitor_id: visitor,
    url: shop.origin,
    consent: 'accepted',
    affirmative: true,
    policy_version_hash: shop.policy.policy_hash,
    purposes: shop.policy.purposes,
  };
  const { status } = await fetch(`${shop.base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(body) });
  expect(status).toBe(202);
};

const latestState = async (shop: Shop): Promise<string | undefined> => (await readLog(shop.base, shop.pixel))[0]?.consent_state;

const expectDeclined = async (shop: Shop, ...tabs: Page[]): Promise<void> => {
  await expect.poll(() => latestState(shop), { timeout: 20_000 }).toBe('declined');
  await settle(tabs[0]);
  expect(await latestState(shop)).toBe('declined');
  for (const tab of tabs) expect((await state(tab)).state).toBe('declined');
  for (const { visitor_id } of await readLog(shop.base, shop.pixel)) {
    expect(await checkConsent(shop.base, shop.pixel, visitor_id)).toMatchObject({ permitted: false });
  }
  expect(await shop.tagLoads()).toBe(0);
};

test.describe('an acceptance on its way in one tab and a "no" in another', () => {
  for (const first of ['the acceptance', 'the "no"'] as const) {
    for (const visitor of ['a new visitor', 'a visitor who has declined before'] as const) {
      test(`${visitor}: ${first} arrives first`, async ({ context, shop }) => {
        const url = await shop.put('/');
        const one = await openTab(context, url);
        const other = await openTab(context, url);
        if (visitor !== 'a new visitor') {
          await callApi(one, 'decline');
          await expect.poll(() => latestState(shop)).toBe('declined');
          await expect.poll(async () => (await state(other)).receipt).not.toBeNull();
        }
        const acceptance = await delayChoice(shop, 'accepted');
        const refusal = await delayChoice(shop, 'declined');
        const accepted = callApi(one, 'accept');
        await acceptance.arrived();
        await callApi(other, 'decline');
        await refusal.arrived();
        await expect.poll(async () => (await state(one)).state).toBe('declined');
        for (const { release } of first === 'the acceptance' ? [acceptance, refusal] : [refusal, acceptance]) expect(await release()).toBe(202);
        expect(await accepted, 'it does not hold').toBe(false);
        await expectDeclined(shop, one, other);
      });
    }
  }

  test('of the same tab that had no answer: the "no" is said again when the acceptance has had its time', async ({ page, shop }) => {
    await page.clock.install();
    await page.goto(await shop.put('/'));
    await callApi(page, 'decline');
    await expect.poll(() => latestState(shop)).toBe('declined');
    const { visitor } = await state(page);
    const { arrived } = await delayChoice(shop, 'accepted');
    const accepted = callApi(page, 'accept');
    await arrived();
    await page.clock.fastForward(8_100);
    expect(await accepted, 'it was given up').toBe(false);

    await withdraw(page, shop);
    expect(await latestState(shop)).toBe('withdrawn');
    await recordAcceptance(shop, visitor);
    await page.clock.fastForward(13_000);
    await expect.poll(() => latestState(shop)).toBe('withdrawn');
    await expect.poll(async () => (await state(page)).receipt).not.toBeNull();
  });

  test('whose tab is closed meanwhile: the "no" is said again when the acceptance has had its time', async ({ context, shop }) => {
    const url = await shop.put('/');
    const one = await openTab(context, url);
    await callApi(one, 'decline');
    await expect.poll(() => latestState(shop)).toBe('declined');
    const other = await context.newPage();
    await other.clock.install();
    await other.goto(url);
    const { visitor } = await state(one);
    const { arrived } = await delayChoice(shop, 'accepted');
    callApi(one, 'accept').catch(() => {});
    await arrived();
    await one.close();

    await withdraw(other, shop);
    expect((await readLog(shop.base, shop.pixel)).map(({ consent_state }) => consent_state)).toEqual(['withdrawn', 'declined']);
    await recordAcceptance(shop, visitor);
    expect(await latestState(shop)).toBe('accepted');
    // What is not said again on this page is said on a later one.
    await other.clock.fastForward(13_000);
    await expect.poll(() => latestState(shop)).toBe('withdrawn');
    await expect.poll(async () => (await state(other)).receipt).not.toBeNull();
    expect(await other.evaluate(() => Object.keys(localStorage).length)).toBeLessThanOrEqual(2);
  });

  test('that another tab has written over the "no" is taken back', async ({ context, shop }) => {
    const url = await shop.put('/');
    const one = await openTab(context, url);
    await acceptAll(one);
    const key = `assent:${shop.pixel.id}`;
    const stored = await one.evaluate((name) => localStorage.getItem(name)!, key);
    const other = await openTab(context, url);
    await callApi(other, 'decline');
    await expect.poll(() => latestState(shop)).toBe('declined');
    await expect.poll(async () => (await state(one)).state).toBe('declined');
    // As if the answer had come at the very moment of the "no".
    await one.evaluate(([name, text]) => localStorage.setItem(name, text), [key, stored]);
    await expect.poll(() => one.evaluate((name) => JSON.parse(localStorage.getItem(name)!).state, key)).toBe('declined');
    for (const tab of [one, other]) await expect.poll(async () => (await state(tab)).state).toBe('declined');
    expect(await latestState(shop)).toBe('declined');
  });
});

test('an acceptance after a "no" of another tab holds, and is the last receipt', async ({ context, shop }) => {
  const url = await shop.put('/');
  const one = await openTab(context, url);
  const other = await openTab(context, url);
  await callApi(one, 'decline');
  await expect.poll(async () => (await state(other)).state).toBe('declined');
  expect(await callApi(other, 'accept')).toBe(true);
  await expect.poll(async () => (await state(one)).state).toBe('accepted');
  await settle(one);
  expect(await latestState(shop)).toBe('accepted');
  await expect(popup(one).banner).toBeHidden();
});
