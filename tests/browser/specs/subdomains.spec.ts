import { BrowserContext, Page } from '@playwright/test';
import { chromiumOnly, LACKS, RULES } from '../support/browsers';
import { acceptAll, expect, failOnErrors, popup, sendGpc, settle, Shop, state, test, watchRequests } from '../support/fixtures';
import { checkConsent, PLAIN_POLICY, readLog } from '../support/integrator';
import { delayChoice, requestsWith, sentChoices } from '../support/requests';

/** One choice for all subdomains: two subdomains of one site, each with pages of its own, in one browser. */

// Browsers treat names below `localhost` as secure, so that cookies with `Secure` can be set without a certificate.
test.use({ zone: 'localhost', consent: { ...PLAIN_POLICY, share_subdomains: true } });

const rules = { tag: RULES };

const put = (shop: Shop, subdomain: string, path = '/'): Promise<string> => shop.put(path, { host: `${subdomain}.${shop.pixel.host}` });

/** Opens a page and waits until the tag has decided what to show. */
const open = async (context: BrowserContext, url: string): Promise<Page> => {
  const page = await context.newPage();
  failOnErrors(page);
  await page.goto(url);
  await page.waitForFunction(() => (window as any).assent?.get);
  return page;
};

const openOn = async (context: BrowserContext, shop: Shop, subdomain: string): Promise<Page> => open(context, await put(shop, subdomain));

const call = (page: Page, method: 'accept' | 'decline' | 'withdraw', purposes?: string[]): Promise<boolean> =>
  page.evaluate(([name, wanted]) => (window as any).assent[name as string](wanted || undefined), [method, purposes] as const);

const expectState = (page: Page, expected: string | null): Promise<void> =>
  expect.poll(async () => (await state(page)).state, { message: expected || 'no choice' }).toBe(expected);

const cookieOf = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => document.cookie.split('; ').find((cookie) => cookie.startsWith('assent=')));

const setCookie = (page: Page, cookie: string): Promise<void> => page.evaluate((text) => void (document.cookie = text), cookie);

const entry = (page: Page, shop: Shop, end = ''): Promise<any> =>
  page.evaluate((key) => localStorage.getItem(key), `assent:${shop.pixel.id}${end}`);

/** The requests with which pages have asked the service about a stored choice. */
const checks = async (shop: Shop): Promise<number> =>
  (await requestsWith(shop.pixel.id)).filter(({ path }) => path.startsWith('/v1/consent/check')).length;

const latest = async (shop: Shop): Promise<string | undefined> => (await readLog(shop.base, shop.pixel))[0]?.consent_state;

/** The attributes of the cookie, besides its life. */
const attributes = (shop: Shop): string => `path=/;domain=${shop.pixel.host};secure;samesite=lax`;

/** Lets the cookie end within an hour. Safari lets all cookies that scripts have written end after seven days. */
const shorten = async (page: Page, shop: Shop): Promise<void> => setCookie(page, `${await cookieOf(page)};max-age=3600;${attributes(shop)}`);

/** For how many days the browser will keep the cookie. */
const daysLeft = async (context: BrowserContext): Promise<number> => {
  const cookie = (await context.cookies()).find(({ name }) => name === 'assent');
  return cookie ? (cookie.expires - Date.now() / 1_000) / 86_400 : 0;
};

/** Opens a page without the tag, on which nothing writes the cookie, and deletes it there. */
const deleteCookie = async (page: Page, shop: Shop, subdomain: string): Promise<void> => {
  await page.goto(await shop.put('/bare', { host: `${subdomain}.${shop.pixel.host}`, snippet: '<!---->' }));
  await setCookie(page, `assent=;max-age=0;${attributes(shop)}`);
  expect(await cookieOf(page)).toBeUndefined();
};

interface Forged {
  pixel?: string;
  state?: string;
  time?: number;
  purposes?: string[];
  visitor: string;
  receipt?: string;
}

/** Writes the cookie as a page of another subdomain could. */
const forge = (page: Page, shop: Shop, { pixel = shop.pixel.id, state: kind = 'accepted', time = Date.now() + 1_000, purposes = shop.policy.purposes, visitor, receipt = 'rcpt_forged' }: Forged): Promise<void> => {
  const value = [1, pixel, kind, time, purposes.join('~'), shop.policy.policy_hash, visitor, receipt, 'abc123'].join('.');
  return setCookie(page, `assent=${value};max-age=9999;${attributes(shop)}`);
};

/** Changes whether choices are shared, and waits until the tag is served with it. */
const shareFromNowOn = async (shop: Shop, share: boolean): Promise<void> => {
  await shop.configure({ ...PLAIN_POLICY, share_subdomains: share });
  const tag = async (): Promise<string> => (await fetch(`${shop.base}/px/${shop.pixel.id}.js`)).text();
  await expect.poll(async () => (await tag()).includes(`"share":"${share ? '' : '-'}${shop.pixel.host}"`)).toBe(true);
};

/** Records an acceptance as any page of the site can. */
const recordAcceptance = async (shop: Shop, visitor: string): Promise<void> => {
  const body = { pixel_id: shop.pixel.id, visitor_id: visitor, url: `http://c.${shop.pixel.host}/`, consent: 'accepted', affirmative: true };
  const acceptance = { ...body, policy_version_hash: shop.policy.policy_hash, purposes: shop.policy.purposes };
  const { status } = await fetch(`${shop.base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(acceptance) });
  expect(status).toBe(202);
};

test('an acceptance counts on another subdomain once the service has confirmed it', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const { visitor, receipt } = await state(one);
  expect(await cookieOf(one)).toMatch(
    new RegExp(`^assent=1\\.${shop.pixel.id}\\.accepted\\.\\d{13}\\.analytics~resolution\\.${shop.policy.policy_hash}\\.${visitor}\\.${receipt}\\.\\w+$`),
  );
  expect(await checks(shop)).toBe(0);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  expect(await state(other)).toMatchObject({ visitor, receipt, purposes: ['analytics', 'resolution'] });
  expect(await checks(shop)).toBe(1);
  await expect(popup(other).wayBack).toBeVisible();
  await expect(popup(other).banner).toBeHidden();
  await expect.poll(() => shop.tagLoads()).toBe(2);
  // The site itself, without a subdomain, is one of them.
  await expectState(await open(context, await shop.put('/')), 'accepted');
  expect((await readLog(shop.base, shop.pixel)).map(({ consent_state }) => consent_state)).toEqual(['accepted']);
});

test('the cookie is for the pixel’s host and below, only for secure pages, and lasts as long as the consent', async ({ context, shop }) => {
  const page = await openOn(context, shop, 'a');
  await acceptAll(page);
  await expect.poll(() => cookieOf(page)).toBeDefined();
  const cookies = (await context.cookies()).filter(({ name }) => name === 'assent');
  expect(cookies).toHaveLength(1);
  const [{ domain, secure, sameSite, expires, path, httpOnly }] = cookies;
  expect({ domain: domain.replace(/^\./, ''), secure, sameSite, path, httpOnly }).toEqual({
    domain: shop.pixel.host,
    secure: true,
    sameSite: 'Lax',
    path: '/',
    httpOnly: false,
  });
  expect(Math.abs(expires * 1_000 - Date.now() - 182 * 864e5)).toBeLessThan(60_000);
});

test('a confirmed acceptance is not checked on every page, but again after an hour', rules, async ({ context, shop }) => {
  const page = await openOn(context, shop, 'a');
  await acceptAll(page);
  await page.reload();
  await expectState(page, 'accepted');
  expect(await checks(shop)).toBe(0);
  await page.evaluate((key) => (localStorage[key] = Date.now() - 3_601_000), `assent:${shop.pixel.id}=`);
  await page.reload();
  await expectState(page, 'accepted');
  expect(await checks(shop)).toBe(1);
  await page.reload();
  await expectState(page, 'accepted');
  expect(await checks(shop)).toBe(1);
});

test('a withdrawal stops the open tabs of other subdomains, and is recorded once', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  await expect.poll(() => other.evaluate(() => (window as any).tagLoads)).toBe(1);
  await call(one, 'withdraw');
  await expectState(other, 'withdrawn');
  await expect.poll(() => other.evaluate(() => (window as any).tagHeard)).toContainEqual(['change', 'withdrawn']);
  await expect.poll(() => entry(other, shop)).toContain('"withdrawn"');
  await settle(other);
  expect((await readLog(shop.base, shop.pixel)).map(({ consent_state }) => consent_state)).toEqual(['withdrawn', 'accepted']);
  await expectState(await openOn(context, shop, 'c'), 'withdrawn');
});

test('after “Your data” was opened on one subdomain, a withdrawal there counts on the others', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  const { visitor } = await state(one);
  await popup(one).wayBack.click();
  const opened = context.waitForEvent('page');
  await one.getByRole('link', { name: 'Your data' }).click();
  await (await opened).close();
  await expect.poll(() => other.evaluate(() => document.cookie)).toContain('assent-ask=1');
  await one.close();
  const withdrawal = { pixel_id: shop.pixel.id, visitor_id: visitor, consent: 'withdrawn', url: `http://a.${shop.pixel.host}/` };
  const { status } = await fetch(`${shop.base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(withdrawal) });
  expect(status).toBe(202);
  const again = await openOn(context, shop, 'b');
  await expectState(again, 'withdrawn');
  expect(await again.evaluate(() => (window as any).tagLoads)).toBeUndefined();
});

test('after “Your data” was opened on one subdomain, an open page of another asks when the visitor returns', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  await expect.poll(() => entry(other, shop, '=')).not.toBeNull();
  await one.evaluate((key) => (localStorage[key] = Date.now()), `assent:${shop.pixel.id}?`);
  await expect.poll(() => other.evaluate(() => document.cookie)).toContain('assent-ask=1');
  const before = await checks(shop);
  await other.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
  await expect.poll(() => checks(shop)).toBe(before + 1);
  await expectState(other, 'accepted');
});

test('fewer purposes on one subdomain are fewer on all', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  await expect.poll(() => call(one, 'accept', ['analytics'])).toBe(true);
  await expect.poll(async () => (await state(other)).purposes).toEqual(['analytics']);
  // The purpose that was taken back comes only with another choice.
  await expect.poll(() => call(other, 'accept')).toBe(true);
  await expect.poll(async () => (await state(one)).purposes).toEqual(['analytics', 'resolution']);
});

test('an acceptance after a refusal counts everywhere: the later choice of the visitor', rules, async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await call(one, 'decline');
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'declined');
  expect(await call(other, 'accept')).toBe(true);
  await expectState(one, 'accepted');
  expect((await state(one)).visitor).toBe((await state(other)).visitor);
});

test.describe('a pending acceptance on one subdomain and a refusal on another', rules, () => {
  for (const first of ['the acceptance', 'the refusal'] as const) {
    for (const before of ['nothing', 'a refusal'] as const) {
      test(`after ${before}: ${first} arrives first, the refusal wins`, async ({ context, shop }) => {
        const one = await openOn(context, shop, 'a');
        const other = await openOn(context, shop, 'b');
        if (before === 'a refusal') {
          await call(one, 'decline');
          await expectState(other, 'declined');
          await expect.poll(async () => (await state(other)).receipt).not.toBeNull();
        }
        const acceptance = await delayChoice(shop, 'accepted');
        const refusal = await delayChoice(shop, 'declined');
        const accepted = call(one, 'accept');
        await acceptance.arrived();
        await call(other, 'decline');
        await refusal.arrived();
        await expectState(one, 'declined');
        for (const { release } of first === 'the acceptance' ? [acceptance, refusal] : [refusal, acceptance]) expect(await release()).toBe(202);
        expect(await accepted, 'it is not in force').toBe(false);
        await expect.poll(() => latest(shop), { timeout: 20_000 }).toBe('declined');
        await settle(one);
        for (const tab of [one, other]) expect((await state(tab)).state).toBe('declined');
        for (const { visitor_id } of await readLog(shop.base, shop.pixel)) {
          expect(await checkConsent(shop.base, shop.pixel, visitor_id)).toMatchObject({ permitted: false });
        }
        expect(await shop.tagLoads()).toBe(0);
      });
    }
  }
});

test('refusals on two subdomains at once do not replace each other for ever', rules, async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  const other = await openOn(context, shop, 'b');
  await Promise.all([call(one, 'decline'), call(other, 'decline')]);
  await one.waitForTimeout(3_000);
  const sent = (await sentChoices(shop)).length;
  expect(sent).toBeLessThanOrEqual(4);
  await one.waitForTimeout(3_000);
  expect((await sentChoices(shop)).length).toBe(sent);
  for (const tab of [one, other]) expect((await state(tab)).state).toBe('declined');
});

test('a withdrawal counts on all subdomains, although the page has replaced the interface', rules, async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  const other = await openOn(context, shop, 'b');
  await acceptAll(one);
  await expectState(other, 'accepted');
  await one.evaluate(() => {
    const { withdraw } = (window as any).assent;
    (window as any).assent = 'of the page';
    withdraw();
  });
  await expect.poll(() => cookieOf(one)).toContain('.withdrawn.');
  await expectState(other, 'withdrawn');
});

test('an acceptance that must be confirmed is not in force where storage is full', rules, async ({ context, shop }) => {
  const page = await openOn(context, shop, 'a');
  await acceptAll(page);
  await expect.poll(() => shop.tagLoads()).toBe(1);
  await deleteCookie(page, shop, 'a');
  await page.evaluate(() => {
    for (let length = 1 << 22; length >= 1; length >>= 1) {
      try {
        for (let number = 0; ; number++) localStorage[`${length}-${number}`] = 'x'.repeat(length);
      } catch {
        // It is full. Shorter values may still fit.
      }
    }
  });
  await page.goto(await put(shop, 'a'));
  await expect(popup(page).banner).toBeVisible();
  await settle(page);
  expect((await state(page)).state).toBeNull();
  expect(await shop.tagLoads()).toBe(1);
});

test.describe('a browser that does not keep the cookie as long as the choice', rules, () => {
  /** Declines, and waits until the cookie contains the receipt. After that the page does not write it again. */
  const declineOn = async (context: BrowserContext, shop: Shop): Promise<Page> => {
    const page = await openOn(context, shop, 'a');
    await call(page, 'decline');
    await expect.poll(async () => (await state(page)).receipt).not.toBeNull();
    const { receipt } = await state(page);
    await expect.poll(() => cookieOf(page)).toContain(`.${receipt}.`);
    return page;
  };

  test('a refusal is written again on every page, also on the first one of a subdomain', async ({ context, shop }) => {
    const page = await declineOn(context, shop);
    const cookie = await cookieOf(page);
    for (const subdomain of ['a', 'b', 'b']) {
      await shorten(page, shop);
      expect(await daysLeft(context)).toBeLessThan(1);
      await expectState(await openOn(context, shop, subdomain), 'declined');
      await expect.poll(() => daysLeft(context)).toBeGreaterThan(181);
    }
    expect(await cookieOf(page), 'it is the same choice').toBe(cookie);
    expect(await sentChoices(shop)).toHaveLength(1);
  });

  test('a refusal of another visitor id is written again as it is', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    await acceptAll(page);
    await forge(page, shop, { state: 'declined', purposes: [], visitor: 'somebody' });
    await expectState(page, 'declined');
    await settle(page);
    const cookie = await cookieOf(page);
    expect(cookie).toContain('.somebody.');
    expect(await daysLeft(context)).toBeLessThan(1);
    await page.reload();
    await expectState(page, 'declined');
    await expect.poll(() => daysLeft(context)).toBeGreaterThan(181);
    expect(await cookieOf(page)).toBe(cookie);
  });

  test('an acceptance is written again with every confirmation of the service', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    await acceptAll(page);
    await shorten(page, shop);
    await page.reload();
    await expectState(page, 'accepted');
    await settle(page);
    expect(await checks(shop), 'it counts for an hour').toBe(0);
    expect(await daysLeft(context)).toBeLessThan(1);
    await page.evaluate((key) => (localStorage[key] = Date.now() - 3_601_000), `assent:${shop.pixel.id}=`);
    await page.reload();
    await expectState(page, 'accepted');
    expect(await checks(shop)).toBe(1);
    await expect.poll(() => daysLeft(context)).toBeGreaterThan(181);
    await shorten(page, shop);
    await expectState(await openOn(context, shop, 'b'), 'accepted');
    expect(await checks(shop)).toBe(2);
    await expect.poll(() => daysLeft(context)).toBeGreaterThan(181);
  });

  test('an acceptance in local storage is confirmed and shared again after the cookie has ended', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    await acceptAll(page);
    const cookie = await cookieOf(page);
    await deleteCookie(page, shop, 'a');
    await page.goto(await put(shop, 'a'));
    await expectState(page, 'accepted');
    expect(await checks(shop)).toBe(1);
    await expect.poll(() => cookieOf(page)).toBe(cookie);
    expect(await daysLeft(context)).toBeGreaterThan(181);
  });

  test('a refusal in local storage is shared again after the cookie has ended', async ({ context, shop }) => {
    const page = await declineOn(context, shop);
    const cookie = await cookieOf(page);
    await deleteCookie(page, shop, 'a');
    await page.goto(await put(shop, 'a'));
    await expectState(page, 'declined');
    await expect.poll(() => cookieOf(page)).toBe(cookie);
    expect(await daysLeft(context)).toBeGreaterThan(181);
  });

  test('a refusal that has ended everywhere is asked for again, unless a server of the site sends the cookie back', async ({ context, shop }) => {
    const page = await declineOn(context, shop);
    const cookie = await cookieOf(page);
    await deleteCookie(page, shop, 'a');
    // The local storage of other subdomains is empty.
    const other = await openOn(context, shop, 'b');
    await expect(popup(other).banner).toBeVisible();
    await other.close();
    const headers = { 'Set-Cookie': `${cookie}; Max-Age=${182 * 86_400 - 60}; Path=/; Domain=${shop.pixel.host}; Secure; SameSite=Lax` };
    const renewed = await open(context, await shop.put('/', { host: `c.${shop.pixel.host}`, headers }));
    await expectState(renewed, 'declined');
    await expect(popup(renewed).wayBack).toBeVisible();
    await expect(popup(renewed).banner).toBeHidden();
  });
});

test.describe('a choice from before it was shared', rules, () => {
  test.use({ consent: PLAIN_POLICY });
  const shareNow = (shop: Shop) => shareFromNowOn(shop, true);

  test('an acceptance is confirmed and shared', async ({ context, shop }) => {
    const one = await openOn(context, shop, 'a');
    await acceptAll(one);
    expect(await cookieOf(one)).toBeUndefined();
    const { visitor } = await state(one);
    await expect(popup(await openOn(context, shop, 'b')).banner).toBeVisible();
    await shareNow(shop);
    await one.reload();
    await expectState(one, 'accepted');
    expect(await checks(shop)).toBe(1);
    await expect.poll(() => cookieOf(one)).toContain(visitor);
    const other = await openOn(context, shop, 'b');
    await expectState(other, 'accepted');
    expect((await state(other)).visitor).toBe(visitor);
  });

  test('an acceptance that was withdrawn elsewhere does not come back', async ({ context, shop }) => {
    const one = await openOn(context, shop, 'a');
    await acceptAll(one);
    const { visitor } = await state(one);
    const withdrawal = { pixel_id: shop.pixel.id, visitor_id: visitor, url: one.url(), consent: 'withdrawn', affirmative: false, purposes: [] };
    expect((await fetch(`${shop.base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(withdrawal) })).status).toBe(202);
    await shareNow(shop);
    await one.reload();
    await expectState(one, 'withdrawn');
    await expect.poll(() => cookieOf(one)).toContain('.withdrawn.');
  });

  test('a refusal is shared, and a refusal of another visitor id withdraws an older acceptance at the service too', async ({ context, shop }) => {
    const one = await openOn(context, shop, 'a');
    await acceptAll(one);
    const { visitor } = await state(one);
    const other = await openOn(context, shop, 'b');
    await call(other, 'decline');
    expect((await state(other)).visitor).not.toBe(visitor);
    await shareNow(shop);
    await other.reload();
    await expectState(other, 'declined');
    await one.reload();
    await expectState(one, 'declined');
    await expect.poll(() => checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({ permitted: false, reason: 'declined_or_withdrawn' });
  });

  test('a later acceptance of another visitor id leaves a refusal as it is', async ({ context, shop }) => {
    const one = await openOn(context, shop, 'a');
    await call(one, 'decline');
    const other = await openOn(context, shop, 'b');
    await acceptAll(other);
    await shareNow(shop);
    await other.reload();
    await expectState(other, 'accepted');
    await expect.poll(() => cookieOf(other)).toContain('.accepted.');
    await one.reload();
    await expectState(one, 'declined');
    await settle(one);
    expect((await state(one)).state).toBe('declined');
    expect((await state(other)).state).toBe('accepted');
    // The next choice is one for both.
    await call(one, 'withdraw');
    await expectState(other, 'withdrawn');
  });
});

test('switched off again, the cookie is removed and each subdomain keeps its choice', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  await other.close();
  await shareFromNowOn(shop, false);
  await one.reload();
  await expectState(one, 'accepted');
  await expect.poll(() => cookieOf(one)).toBeUndefined();
  expect(await entry(one, shop, '=')).toBeNull();
  // An acceptance that was shared is confirmed for the last time.
  const before = await checks(shop);
  const again = await openOn(context, shop, 'b');
  await expectState(again, 'accepted');
  expect(await checks(shop)).toBe(before + 1);
  await call(one, 'withdraw');
  await settle(one);
  expect(await cookieOf(one)).toBeUndefined();
  await again.reload();
  await expectState(again, 'accepted');
  expect(await checks(shop)).toBe(before + 1);
  await expect(popup(await openOn(context, shop, 'c')).banner).toBeVisible();
});

for (const first of ['a', 'b']) {
  test(`switched off again, a withdrawal on a counts on b, which was closed: ${first} is opened first`, async ({ context, shop }) => {
    const one = await openOn(context, shop, 'a');
    await acceptAll(one);
    const other = await openOn(context, shop, 'b');
    await expectState(other, 'accepted');
    await expect.poll(() => shop.tagLoads()).toBe(2);
    await other.close();
    await call(one, 'withdraw');
    await settle(one);
    await one.close();
    await shareFromNowOn(shop, false);
    await expectState(await openOn(context, shop, first), 'withdrawn');
    await expectState(await openOn(context, shop, first === 'a' ? 'b' : 'a'), 'withdrawn');
    expect(await shop.tagLoads()).toBe(2);
  });
}

for (const method of ['accept', 'decline'] as const) {
  test(`a page that clears its storage asks nobody again: ${method}`, async ({ context, shop }) => {
    const expected = method === 'accept' ? 'accepted' : 'declined';
    const one = await openOn(context, shop, 'a');
    // It is false if the service was late.
    await expect.poll(() => call(one, method)).toBe(true);
    const other = await openOn(context, shop, 'b');
    await expectState(other, expected);
    if (method === 'accept') await expect.poll(() => entry(other, shop, '=')).not.toBeNull();
    await other.evaluate(() => localStorage.clear());
    await other.waitForTimeout(2_500);
    expect(await cookieOf(other)).toContain(`.${expected}.`);
    await other.reload();
    await expectState(other, expected);
    await expectState(await openOn(context, shop, 'c'), expected);
    expect(await latest(shop)).toBe(expected);
  });
}

test('a refusal is sent again where an acceptance of a closed tab may be recorded after it', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await call(one, 'decline');
  const { visitor } = await state(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'declined');
  // As a tab leaves it that was closed before the answer.
  await one.evaluate((key) => (localStorage[key] = Date.now()), `assent:${shop.pixel.id}+`);
  await one.close();
  await call(other, 'decline');
  await recordAcceptance(shop, visitor);
  await expectState(await openOn(context, shop, 'a'), 'declined');
  await expect.poll(() => checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({ permitted: false, reason: 'declined_or_withdrawn' });
});

test('a withdrawal before the shared choice is read is one of the same visitor', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const { visitor } = await state(one);
  const page = await context.newPage();
  // No answer: the stored choice is never applied.
  await page.route('**/share.js', () => {});
  await page.goto(await put(shop, 'a'), { waitUntil: 'commit' });
  await page.waitForFunction(() => (window as any).assent?.get);
  await call(page, 'withdraw');
  await expect.poll(() => checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({ permitted: false, reason: 'declined_or_withdrawn' });
});

test('under Global Privacy Control the cookie is removed, although the page that withdrew was left at once', async ({ context, shop }) => {
  const page = await context.newPage();
  await page.goto(await shop.put('/bare', { host: `a.${shop.pixel.host}`, snippet: '<!---->' }));
  // This is the cookie that such a page leaves.
  await forge(page, shop, { state: 'withdrawn', purposes: [], visitor: 'somebody', receipt: '', time: Date.now() });
  await sendGpc(page);
  await page.goto(await put(shop, 'b'));
  await expect.poll(() => cookieOf(page)).toBeUndefined();
  expect(await sentChoices(shop)).toEqual([]);
});

test('an acceptance of the current policy overrules a refusal of another visitor id for an earlier policy', async ({ context, shop }) => {
  await shareFromNowOn(shop, false);
  const one = await openOn(context, shop, 'a');
  await call(one, 'decline');
  await one.close();
  await shop.configure({ ...PLAIN_POLICY, purposes: ['analytics', 'resolution', 'newsletter'], share_subdomains: true });
  const other = await openOn(context, shop, 'b');
  await acceptAll(other);
  await expect.poll(() => cookieOf(other)).toContain('.accepted.');
  await expectState(await openOn(context, shop, 'a'), 'accepted');
});

test.describe('a forged cookie', rules, () => {
  test('of a visitor whom the service does not know: the visitor is asked, nothing loads', async ({ context, shop }) => {
    const page = await open(context, await shop.put('/other', { host: `a.${shop.pixel.host}`, snippet: '<script>window.assent={get(){}}</script>' }));
    await forge(page, shop, { visitor: 'nobody' });
    await page.goto(await put(shop, 'a'));
    await expect(popup(page).banner).toBeVisible();
    expect(await checks(shop)).toBe(1);
    await expect.poll(() => cookieOf(page)).toBeUndefined();
    expect(await shop.tagLoads()).toBe(0);
    expect((await state(page)).state).toBeNull();
  });

  test('that has not exactly nine parts is ignored', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    const refusal = [1, shop.pixel.id, 'declined', Date.now(), '', shop.policy.policy_hash, 'somebody', 'rcpt_1'].join('.');
    for (const value of [refusal, refusal + '.', refusal + '.abc123.', refusal + '.abc123.more']) {
      await setCookie(page, `assent=${value};max-age=9999;path=/;domain=${shop.pixel.host};secure;samesite=lax`);
      await page.reload();
      await expect(popup(page).banner, value).toBeVisible();
    }
    await setCookie(page, `assent=${refusal}.abc123;max-age=9999;path=/;domain=${shop.pixel.host};secure;samesite=lax`);
    await expectState(page, 'declined');
  });

  test('that turns the visitor’s refusal into an acceptance: it stays a refusal', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    await call(page, 'decline');
    await expect.poll(async () => (await state(page)).receipt).not.toBeNull();
    await forge(page, shop, { visitor: (await state(page)).visitor });
    await expect.poll(() => checks(shop)).toBe(1);
    await expect.poll(() => cookieOf(page)).toContain('.withdrawn.');
    await expectState(page, 'withdrawn');
    await page.reload();
    await expectState(page, 'withdrawn');
    expect(await shop.tagLoads()).toBe(0);
  });

  test('of another visitor who has really accepted: a refusal stays a refusal', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    await call(page, 'decline');
    await recordAcceptance(shop, 'somebody-else');
    await forge(page, shop, { visitor: 'somebody-else' });
    await page.waitForTimeout(2_500);
    expect((await state(page)).state).toBe('declined');
    await page.reload();
    await expectState(page, 'declined');
    expect(await checks(shop)).toBe(0);
    expect(await shop.tagLoads()).toBe(0);
  });

  test('with more purposes than the service has recorded: only those count', async ({ context, shop }) => {
    const one = await openOn(context, shop, 'a');
    // It is false if the service was late.
    await expect.poll(() => call(one, 'accept', ['analytics'])).toBe(true);
    await forge(one, shop, { visitor: (await state(one)).visitor });
    const other = await openOn(context, shop, 'b');
    await expectState(other, 'accepted');
    expect((await state(other)).purposes).toEqual(['analytics']);
    expect(await shop.tagLoads()).toBe(0);
  });

  test('that the service cannot be asked about: nothing is in force until it answers', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    const other = await context.newPage();
    await other.route('**/v1/consent/check*', (route) => route.abort());
    await other.goto(await put(shop, 'b'));
    await other.waitForTimeout(1_500);
    expect((await state(other)).state).toBeNull();
    expect(await shop.tagLoads()).toBe(1);
    await other.unroute('**/v1/consent/check*');
    await expectState(other, 'accepted');
  });

  test('of the future, of another pixel, or without the form of a choice: it is ignored', async ({ context, shop }) => {
    const page = await openOn(context, shop, 'a');
    await call(page, 'decline');
    const { visitor } = await state(page);
    await forge(page, shop, { visitor, time: Date.now() + 600_000 });
    await page.waitForTimeout(1_500);
    await forge(page, shop, { visitor, pixel: 'anotherpixel00000000' });
    await page.waitForTimeout(1_500);
    for (const text of ['assent=', 'assent=1', 'assent=2.x.accepted', 'assent=%7B%7D', 'assent=1.........................']) {
      await setCookie(page, `${text};path=/;domain=${shop.pixel.host};secure`);
      await page.reload();
      await expectState(page, 'declined');
    }
    expect(await checks(shop)).toBe(0);
    await expect.poll(() => cookieOf(page)).toContain(`.declined.`);
  });
});

test('of two cookies with the name, the later choice counts', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const accepted = await cookieOf(one);
  await call(one, 'withdraw');
  await expect.poll(() => cookieOf(one)).toContain('.withdrawn.');
  // A cookie of this host alone is sent beside that of the site.
  const other = await openOn(context, shop, 'b');
  await setCookie(other, `${accepted};path=/;secure`);
  await other.reload();
  await expectState(other, 'withdrawn');
  expect(await other.evaluate(() => document.cookie.match(/assent=/g)!.length)).toBe(2);
  await settle(other);
  expect((await state(other)).state).toBe('withdrawn');
});

test('a refusal counts after an acceptance with a later time: the clock was set back', rules, async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  // Both subdomains have an acceptance of three minutes in the future.
  const key = `assent:${shop.pixel.id}`;
  const time = Date.now() + 180_000;
  for (const page of [one, other]) {
    await page.evaluate(([name, at]) => localStorage.setItem(name, localStorage.getItem(name)!.replace(/"time":\d+/, `"time":${at}`)), [key, String(time)]);
  }
  await expect.poll(() => cookieOf(one)).toContain(`.${time}.`);
  await call(one, 'withdraw');
  await expectState(other, 'withdrawn');
  await settle(one);
  expect((await state(one)).state).toBe('withdrawn');
  expect(await latest(shop)).toBe('withdrawn');
});

const MISSING: [module: string, expected: string[]][] = [
  ['share', ['/share.js cannot be loaded. Nothing is permitted on this page, and nobody is asked.']],
  // Messages need this module too. Only the browser reports it.
  ['extras', []],
];
for (const [module, expected] of MISSING) {
  test(`without /${module}.js nothing is in force, and the visitor is not asked`, rules, async ({ context, shop }) => {
    const one = await openOn(context, shop, 'a');
    await acceptAll(one);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    const messages: string[] = [];
    one.on('console', (message) => messages.push(message.text()));
    await one.route(`**/${module}.js*`, (route) => route.abort());
    await one.reload();
    await one.waitForTimeout(1_500);
    expect((await state(one)).state).toBeNull();
    await expect(popup(one).banner).toBeHidden();
    expect(await shop.tagLoads()).toBe(1);
    expect(messages.filter((text) => text.startsWith('Assent: '))).toEqual(expected.map((text) => expect.stringContaining(text)));
    await one.unroute(`**/${module}.js*`);
    await one.reload();
    await expectState(one, 'accepted');
  });
}

test('on a page of another host, such as a checkout, no cookie is set', async ({ context, shop }) => {
  const page = await open(context, await shop.put('/pay', { host: 'checkout.localhost' }));
  await expect(popup(page).banner).toBeVisible();
  await call(page, 'decline');
  await settle(page);
  expect(await cookieOf(page)).toBeUndefined();
  await expect(popup(await openOn(context, shop, 'a')).banner).toBeVisible();
});

test('Global Privacy Control withdraws an acceptance of another subdomain once, and removes the cookie', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const { visitor } = await state(one);
  await one.close();
  const other = await context.newPage();
  await sendGpc(other);
  await other.goto(await put(shop, 'b'));
  await expect.poll(() => latest(shop)).toBe('withdrawn');
  await expect.poll(() => cookieOf(other)).toBeUndefined();
  await other.reload();
  await settle(other);
  expect(await other.evaluate(() => Object.keys(localStorage))).toEqual([]);
  expect((await readLog(shop.base, shop.pixel)).map(({ consent_state }) => consent_state)).toEqual(['withdrawn', 'accepted']);
  expect(await checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({ permitted: false });
  // The acceptance in the storage of the first subdomain is not in force any more, also without the signal.
  const again = await openOn(context, shop, 'a');
  await expectState(again, 'withdrawn');
});

test('Global Privacy Control without an earlier choice stores nothing', rules, async ({ context, shop }) => {
  const page = await context.newPage();
  await sendGpc(page);
  await page.goto(await put(shop, 'a'));
  await page.waitForTimeout(1_500);
  expect(await cookieOf(page)).toBeUndefined();
  expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([]);
  expect(await sentChoices(shop)).toEqual([]);
});

test.describe('a site that has never shared', () => {
  test.use({ consent: PLAIN_POLICY });

  test('stores no cookie and loads no module', async ({ page, shop }) => {
    const requests = watchRequests(page);
    await page.goto(await put(shop, 'a'));
    await acceptAll(page);
    await settle(page);
    expect(await cookieOf(page)).toBeUndefined();
    expect(requests.filter((request) => request.includes('share.js'))).toEqual([]);
  });
});

test('a page from the back/forward cache applies a withdrawal of another subdomain', chromiumOnly(LACKS.historyBack), async ({ context, shop }) => {
  const page = await openOn(context, shop, 'a');
  await page.evaluate(() => addEventListener('pageshow', (event) => ((window as any).cached = event.persisted)));
  await acceptAll(page);
  // Chromium keeps no page with an unfinished request.
  await settle(page);
  await page.goto(await put(shop, 'b'));
  await expectState(page, 'accepted');
  await call(page, 'withdraw');
  await page.evaluate(() => history.back());
  // The step back may end an evaluation.
  await expect.poll(() => page.evaluate(() => (window as any).cached).catch(() => null), 'the page came from the cache').toBe(true);
  await expectState(page, 'withdrawn');
});

test('a prerendered page applies a withdrawal of another subdomain when it is activated', async ({ context, shop }) => {
  const page = await openOn(context, shop, 'a');
  await acceptAll(page);
  await expect.poll(() => shop.tagLoads()).toBe(1);
  await page.addInitScript(() => {
    (window as any).prepared = true;
    Object.defineProperty(document, 'prerendering', { get: () => (window as any).prepared });
  });
  await page.reload();
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  await expect.poll(() => shop.tagLoads()).toBe(2);
  await call(other, 'withdraw');
  await settle(page);
  expect((await state(page)).state).toBeNull();
  await page.evaluate(() => {
    (window as any).prepared = false;
    document.dispatchEvent(new Event('prerenderingchange'));
  });
  await expectState(page, 'withdrawn');
  expect(await shop.tagLoads()).toBe(2);
});

test.describe('the console says where a choice is not shared', () => {
  test.use({ zone: 'example' });

  const messagesOf = async (page: Page, url: string): Promise<string> => {
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    await page.goto(url);
    await expect(popup(page).banner).toBeVisible();
    return messages.join('\n');
  };

  test('on a page without HTTPS', async ({ page, shop }) => {
    expect(await messagesOf(page, await shop.put('/'))).toContain('the cookie needs HTTPS');
  });

  test('on a page of another host', async ({ page, shop }) => {
    const elsewhere = `checkout-of-${shop.pixel.host}`;
    const messages = await messagesOf(page, await shop.put('/', { host: elsewhere }));
    expect(messages).toContain(`the choice on ${elsewhere} is not shared: the cookie is for ${shop.pixel.host} and its subdomains`);
  });
});
