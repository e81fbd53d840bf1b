import { acceptAll, hideAutomation, expect, popup, screenshot, sendGpc, settle, state, stored, test, watchRequests } from '../support/fixtures';
import { checkConsent, PLAIN_POLICY, readLog, verifyReceipt } from '../support/integrator';
import { requestsWith } from '../support/requests';

test.describe('the journey of a visitor', () => {
  test('accepting creates a signed receipt and loads identification', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    const { banner, accept, wayBack } = popup(page);
    await expect(banner).toBeVisible();
    expect(await shop.tagLoads()).toBe(0);

    await accept.click();
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await expect(banner).toBeHidden();
    await expect(wayBack).toBeVisible();
    await screenshot(page, 'accepted');

    const [receipt, ...others] = await readLog(shop.base, shop.pixel);
    expect(others).toEqual([]);
    expect(receipt).toMatchObject({
      consent_state: 'accepted',
      purposes: ['analytics', 'resolution'],
      policy_hash: shop.policy.policy_hash,
      origin: shop.origin,
    });
    expect(await verifyReceipt(shop.base, receipt)).toBe(true);
    expect(await state(page)).toMatchObject({
      state: 'accepted',
      receipt: receipt.receipt_id,
      visitor: receipt.visitor_id,
    });
    expect(await checkConsent(shop.base, shop.pixel, receipt.visitor_id)).toMatchObject({ permitted: true, reason: 'ok' });
  });

  test('declining is recorded and loads nothing', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).decline.click();
    await expect(popup(page).banner).toBeHidden();
    await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0]?.consent_state).toBe('declined');
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
    expect((await state(page)).state).toBe('declined');
  });

  test('choosing grants the purposes that were switched on, and no others', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    const elements = popup(page);
    await elements.choose.click();
    await expect(elements.preferences).toBeVisible();
    await expect(elements.purpose('Statistics')).not.toBeChecked();
    await elements.purpose('Statistics').check();
    await elements.save.click();
    await expect(elements.saved).toBeVisible();
    const [receipt] = await readLog(shop.base, shop.pixel);
    expect(receipt.purposes).toEqual(['analytics']);
    await settle(page);
    expect(await shop.tagLoads()).toBe(0);
  });

  test('saving without a purpose is a decline', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).choose.click();
    await popup(page).save.click();
    await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0]?.consent_state).toBe('declined');
    expect((await state(page)).state).toBe('declined');
  });

  test('a visitor changes a choice in both directions with the small button', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    const elements = popup(page);
    await acceptAll(page);
    await elements.wayBack.click();
    await expect(elements.purpose('Recognising you')).toBeChecked();
    await elements.purpose('Recognising you').uncheck();
    await elements.save.click();
    await expect(elements.preferences).toBeHidden();
    expect((await state(page)).purposes).toEqual(['analytics']);

    await elements.wayBack.click();
    await expect(elements.purpose('Recognising you')).not.toBeChecked();
    await elements.declineAll.click();
    await expect(elements.preferences).toBeHidden();
    expect((await state(page)).purposes).toEqual([]);

    await elements.wayBack.click();
    await elements.acceptAll.click();
    await expect(elements.preferences).toBeHidden();
    expect((await state(page)).purposes).toEqual(['analytics', 'resolution']);
    const log = await readLog(shop.base, shop.pixel);
    expect(log.map((event) => [event.consent_state, event.purposes.length])).toEqual([
      ['accepted', 2],
      ['declined', 0],
      ['accepted', 1],
      ['accepted', 2],
    ]);
    expect(new Set(log.map((event) => event.visitor_id)).size, 'one visitor').toBe(1);
  });

  test('withdrawing takes two clicks and ends the permission', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    const { visitor } = await state(page);
    await popup(page).wayBack.click();
    await screenshot(page, 'reopened');
    await popup(page).withdraw.click();
    await expect.poll(async () => (await readLog(shop.base, shop.pixel))[0].consent_state).toBe('withdrawn');
    expect((await state(page)).state).toBe('withdrawn');
    expect(await checkConsent(shop.base, shop.pixel, visitor)).toMatchObject({
      permitted: false,
      reason: 'declined_or_withdrawn',
    });
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await settle(page);
    expect(await shop.tagLoads(), 'not loaded again').toBe(1);
  });

  test('after an acceptance, a reload does not ask again and loads identification', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await page.reload();
    await expect.poll(() => shop.tagLoads()).toBe(2);
    await expect(popup(page).banner).toBeHidden();
    expect(await readLog(shop.base, shop.pixel)).toHaveLength(1);
  });

  test('after a decline, a reload does not ask again', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).decline.click();
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await expect(popup(page).banner).toBeHidden();
    expect(await shop.tagLoads()).toBe(0);
  });

  test('after a change of the policy the visitor is asked again, and the old acceptance permits nothing until then', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    const { visitor } = await state(page);

    await shop.configure({ ...PLAIN_POLICY, purposes: [...PLAIN_POLICY.purposes, 'newsletter'] });
    await page.reload();
    await expect(popup(page).banner).toBeVisible();
    await expect(popup(page).banner).toContainText('Newsletter');
    expect((await state(page)).state).toBeNull();
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);

    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(2);
    expect((await state(page)).visitor, 'the same visitor').toBe(visitor);
  });

  test('after saving the same policy again nobody is asked again', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).decline.click();
    await shop.configure(PLAIN_POLICY);
    await page.reload();
    await expect(popup(page).wayBack).toBeVisible();
    await expect(popup(page).banner).toBeHidden();
  });

  test('before the choice no identifier is stored and only the script is requested', async ({ page, shop }) => {
    await hideAutomation(page);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await expect.poll(() => requests).toContain('POST /v1/consent/shown');
    expect(requests).toEqual(['GET /', `GET /px/${shop.pixel.id}.js`, 'POST /v1/consent/shown']);
    expect(await stored(page)).toEqual({});
    expect(await page.evaluate(() => Object.values(sessionStorage))).toEqual(['1']);
  });

  test('an impression is reported once in a tab', async ({ page, shop }) => {
    await hideAutomation(page);
    let sent = 0;
    page.on('request', (request) => request.url().endsWith('/consent/shown') && sent++);
    await page.goto(await shop.put('/'));
    await expect.poll(() => sent).toBe(1);
    await page.reload();
    await expect(popup(page).banner).toBeVisible();
    await page.waitForTimeout(800);
    expect(sent).toBe(1);
  });

  test('an interrupted impression is not sent again, because it may have arrived', async ({ page, shop }) => {
    await hideAutomation(page);
    let sent = 0;
    await page.route('**/consent/shown', async (route) => {
      sent++;
      await route.abort('connectionreset');
    });
    await page.goto(await shop.put('/'));
    await expect.poll(() => sent).toBe(1);
    await page.waitForTimeout(800);
    expect(sent).toBe(1);
  });

  test('a browser that is controlled by a program reports no impression', async ({ page, shop }) => {
    const requests = watchRequests(page);
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await page.waitForTimeout(800);
    expect(requests).toEqual(['GET /', `GET /px/${shop.pixel.id}.js`]);
  });

  test('only origin and path of the page are sent to the service', async ({ page, shop }) => {
    const address = `ann@${shop.pixel.host}`;
    await page.goto((await shop.put('/cart')) + `?email=${address}#secret`);
    await acceptAll(page);
    const sent = (await requestsWith(shop.pixel.id)).map(({ path, body }) => `${path} ${body}`).join();
    expect(sent).toContain(`"url":"${shop.origin}/cart"`);
    expect(sent).not.toMatch(/ann@|secret/);
    // The owner's sign-up used another address.
    expect(await requestsWith(address)).toEqual([]);
  });

  test('the banner names the controller and the purposes, and links to the notices', async ({ page, shop, context }) => {
    await shop.configure({
      ...PLAIN_POLICY,
      data_sharing: true,
      disclosed_parties: ['Partner One', 'Partner Two'],
      site_policy_url: 'https://shop.example/privacy',
    });
    await page.goto(await shop.put('/'));
    const { banner } = popup(page);
    await expect(banner).toContainText('Example Shop Ltd');
    await expect(banner).toContainText('Recognising you');
    await expect(banner).toContainText('Partner One, Partner Two');
    await expect(banner.getByRole('link', { name: 'This site’s privacy policy' })).toHaveAttribute(
      'href',
      'https://shop.example/privacy',
    );
    const opened = context.waitForEvent('page');
    await banner.getByRole('link', { name: 'Privacy notice' }).click();
    const notice = await opened;
    await expect(notice.locator('body')).toContainText('Example Shop Ltd');
  });
});

test.describe('Global Privacy Control', () => {
  test('shows nothing, stores nothing and sends nothing', async ({ page, shop }) => {
    await sendGpc(page);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(await shop.put('/'));
    await settle(page);
    await page.waitForTimeout(600);
    await expect(popup(page).banner).toBeHidden();
    expect(requests).toEqual(['/', `/px/${shop.pixel.id}.js`]);
    expect(await stored(page)).toEqual({});
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    expect(await state(page)).toMatchObject({ state: 'declined', gpc: true, purposes: [], visitor: null });
    expect(await page.evaluate(() => (window as any).assent.accept())).toBe(false);
    expect(await readLog(shop.base, shop.pixel)).toEqual([]);
  });

  test('assent.open() shows why there is nothing to choose', async ({ page, shop }) => {
    await sendGpc(page);
    await page.goto(await shop.put('/'));
    await page.evaluate(() => (window as any).assent.open());
    await expect(popup(page).banner).toContainText('Global Privacy Control');
    await screenshot(page, 'gpc');
    await page.keyboard.press('Escape');
    await expect(popup(page).banner).toBeHidden();
  });

  test('an earlier acceptance has no effect while the signal is on', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await expect.poll(() => shop.tagLoads()).toBe(1);
    await sendGpc(page);
    await page.reload();
    await settle(page);
    expect(await shop.tagLoads()).toBe(1);
    expect(await state(page)).toMatchObject({ state: 'declined', gpc: true });
  });
});
