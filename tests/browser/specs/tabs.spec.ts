import { BrowserContext, Page } from '@playwright/test';
import { acceptAll, expect, failOnErrors, popup, settle, Shop, state, test } from '../support/fixtures';
import { checkConsent, readLog } from '../support/integrator';
import { countAnsweredChoices, delayChoice } from '../support/requests';

/** A visitor accepts in one tab and declines in another: the refusal is the latest receipt, whichever request is slow. */

const openTab = async (context: BrowserContext, url: string): Promise<Page> => {
  const page = await context.newPage();
  failOnErrors(page);
  await page.goto(url);
  await page.waitForFunction(() => (window as any).assent?.get);
  return page;
};

/** Withdraws, and waits until the page has received the response, from which it measures the time until the next attempt. */
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

test.describe('a pending acceptance in one tab and a refusal in another', () => {
  for (const first of ['the acceptance', 'the refusal'] as const) {
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
        expect(await accepted, 'it is not in force').toBe(false);
        await expectDeclined(shop, one, other);
      });
    }
  }

  test('a refusal after an acceptance without an answer, in the same tab, is sent again after the acceptance has timed out', async ({ page, shop }) => {
    await page.clock.install();
    await page.goto(await shop.put('/'));
    await callApi(page, 'decline');
    await expect.poll(() => latestState(shop)).toBe('declined');
    const { visitor } = await state(page);
    const { arrived } = await delayChoice(shop, 'accepted');
    const accepted = callApi(page, 'accept');
    await arrived();
    await page.clock.fastForward(8_100);
    expect(await accepted, 'it timed out').toBe(false);

    await withdraw(page, shop);
    expect(await latestState(shop)).toBe('withdrawn');
    await recordAcceptance(shop, visitor);
    await page.clock.fastForward(13_000);
    await expect.poll(() => latestState(shop)).toBe('withdrawn');
    await expect.poll(async () => (await state(page)).receipt).not.toBeNull();
  });

  test('a refusal is sent again after the acceptance of a closed tab has timed out', async ({ context, shop }) => {
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
    // A refusal that is not sent again on this page is sent on a later one.
    await other.clock.fastForward(13_000);
    await expect.poll(() => latestState(shop)).toBe('withdrawn');
    await expect.poll(async () => (await state(other)).receipt).not.toBeNull();
    expect(await other.evaluate(() => Object.keys(localStorage).length)).toBeLessThanOrEqual(2);
  });

  test('an acceptance with which another tab overwrites a refusal is withdrawn', async ({ context, shop }) => {
    const url = await shop.put('/');
    const one = await openTab(context, url);
    await acceptAll(one);
    const key = `assent:${shop.pixel.id}`;
    const stored = await one.evaluate((name) => localStorage.getItem(name)!, key);
    const other = await openTab(context, url);
    await callApi(other, 'decline');
    await expect.poll(() => latestState(shop)).toBe('declined');
    await expect.poll(async () => (await state(one)).state).toBe('declined');
    // As if the answer had arrived at the moment of the refusal.
    await one.evaluate(([name, text]) => localStorage.setItem(name, text), [key, stored]);
    await expect.poll(() => one.evaluate((name) => JSON.parse(localStorage.getItem(name)!).state, key)).toBe('declined');
    for (const tab of [one, other]) await expect.poll(async () => (await state(tab)).state).toBe('declined');
    expect(await latestState(shop)).toBe('declined');
  });
});

test('an acceptance after a refusal of another tab is in force, and is the latest receipt', async ({ context, shop }) => {
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
