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

interface Forged {
  pixel?: string;
  state?: string;
  time?: number;
  purposes?: string[];
  visitor: string;
}

/** Writes the cookie as a page of another subdomain could. */
const forge = (page: Page, shop: Shop, { pixel = shop.pixel.id, state: kind = 'accepted', time = Date.now() + 1_000, purposes = shop.policy.purposes, visitor }: Forged): Promise<void> => {
  const value = [1, pixel, kind, time, purposes.join('~'), shop.policy.policy_hash, visitor, 'rcpt_forged', 'abc123'].join('.');
  return setCookie(page, `assent=${value};max-age=9999;path=/;domain=${shop.pixel.host};secure;samesite=lax`);
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

test('fewer purposes on one subdomain are fewer on all', async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
  await call(one, 'accept', ['analytics']);
  await expect.poll(async () => (await state(other)).purposes).toEqual(['analytics']);
  // The purpose that was taken back comes only with another choice.
  await call(other, 'accept');
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
  await call(one, 'withdraw');
  await settle(one);
  expect(await cookieOf(one)).toBeUndefined();
  await expectState(await openOn(context, shop, 'b'), 'accepted');
  await expect(popup(await openOn(context, shop, 'c')).banner).toBeVisible();
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
    await call(one, 'accept', ['analytics']);
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
  for (const page of [one, other]) {
    await page.evaluate(([name, time]) => localStorage.setItem(name, localStorage.getItem(name)!.replace(/"time":\d+/, `"time":${time}`)), [key, String(Date.now() + 180_000)]);
  }
  const time = JSON.parse(await entry(one, shop)).time;
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

test('without the module nothing is in force, and the visitor is not asked', rules, async ({ context, shop }) => {
  const one = await openOn(context, shop, 'a');
  await acceptAll(one);
  await expect.poll(() => shop.tagLoads()).toBe(1);
  await one.route('**/share.js*', (route) => route.abort());
  await one.reload();
  await one.waitForTimeout(1_500);
  expect((await state(one)).state).toBeNull();
  await expect(popup(one).banner).toBeHidden();
  expect(await shop.tagLoads()).toBe(1);
  await one.unroute('**/share.js*');
  await one.reload();
  await expectState(one, 'accepted');
});

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
  await page.addInitScript(() => {
    (window as any).prepared = true;
    Object.defineProperty(document, 'prerendering', { get: () => (window as any).prepared });
  });
  await page.reload();
  const other = await openOn(context, shop, 'b');
  await expectState(other, 'accepted');
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
