import { Locator, Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { acceptAll, expect, popup, settle, test } from '../support/fixtures';
import { PLAIN_POLICY } from '../support/integrator';

const EVERY_PURPOSE = {
  ...PLAIN_POLICY,
  purposes: ['analytics', 'resolution', 'newsletter', 'email_sharing', 'phone_sharing', 'partner_email', 'partner_calls', 'partner_sms'],
  data_sharing: true,
  disclosed_parties: ['Partner One Ltd', 'Partner Two GmbH'],
  site_policy_url: 'https://shop.example/privacy',
};

/** Whether nothing covers an element of the popup, and no panel hides it by scrolling. */
const isUncovered = (element: Locator): Promise<boolean> =>
  element.evaluate((it) => {
    const root = it.getRootNode() as ShadowRoot;
    return [...it.getClientRects()].every(({ left, right, top, bottom }) =>
      [top + 3, (top + bottom) / 2, bottom - 3].every((y) => {
        const upper = root.elementFromPoint((left + right) / 2, y);
        return !!upper && (it === upper || it.contains(upper));
      }),
    );
  });

const LONG = `<h1>Long</h1>${'<p>A paragraph of the page.</p>'.repeat(200)}`;

test.describe('the page cannot cover or move the popup', () => {
  test('with an overlay in the highest layer', async ({ page, shop }) => {
    const body = `${LONG}<div style="position:fixed;inset:0;z-index:2147483647;background:#fffc">Subscribe!</div>`;
    await page.goto(await shop.put('/', { body }));
    await acceptAll(page);
    await popup(page).wayBack.click();
    await expect(popup(page).preferences).toBeVisible();
  });

  test('by moving, scaling or hiding the whole document', async ({ page, shop }) => {
    const head = '<style>html { transform: translateX(-5000px) scale(.3); filter: blur(9px); opacity: .1; overflow: hidden }</style>';
    await page.goto(await shop.put('/', { head }));
    const box = (await popup(page).banner.boundingBox())!;
    expect([box.width, box.y + box.height]).toEqual([630, 788.75]);
    await acceptAll(page);
    await expect(popup(page).wayBack).toBeInViewport();
  });

  test('and a browser without popovers uses the highest layer', async ({ page, shop }) => {
    await page.addInitScript(() => {
      delete (HTMLElement.prototype as any).popover;
      delete (HTMLElement.prototype as any).showPopover;
    });
    const body = `${LONG}<div style="position:fixed;inset:0;z-index:2147483646">Subscribe!</div>`;
    await page.goto(await shop.put('/', { body }));
    await acceptAll(page);
    await popup(page).wayBack.click();
    await expect(popup(page).preferences).toBeVisible();
  });
});

for (const [input, options] of [
  ['a mouse', {}],
  ['a finger', { hasTouch: true, viewport: { width: 390, height: 844 } }],
] as const) {
  test.describe(`with ${input}`, input === 'a finger' ? chromiumOnly(LACKS.touch) : {}, () => {
    test.use(options);
    test(`opening the preferences does not move the page or the banner (${input})`, async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: LONG }));
      await page.evaluate(() => scrollTo(0, 1500));
      const { banner, choose, preferences } = popup(page);
      const before = await banner.boundingBox();
      const press = (it: Locator): Promise<void> => (input === 'a mouse' ? it.click() : it.tap());
      await press(choose);
      await expect(preferences).toBeVisible();
      await settle(page);
      expect(await page.evaluate(() => scrollY)).toBe(1500);
      await page.keyboard.press('Escape');
      await expect(preferences).toBeHidden();
      await settle(page);
      expect(await page.evaluate(() => scrollY)).toBe(1500);
      expect(await banner.boundingBox()).toEqual(before);
    });
  });
}

test.describe('an error message is visible', () => {
  const views: [string, Parameters<typeof test.use>[0]][] = [
    ['a desktop', { consent: EVERY_PURPOSE } as object],
    ['a phone', { viewport: { width: 390, height: 844 }, consent: EVERY_PURPOSE } as object],
    ['a desktop at 400 %', { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 }],
    ['a desktop at 400 %, in German', { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4, locale: 'de', consent: EVERY_PURPOSE } as object],
  ];
  for (const [view, options] of views) {
    test.describe(`on ${view}`, () => {
      test.use(options);
      test(`in the banner and in the preferences (${view})`, async ({ page, shop }) => {
        await page.route('**/v1/consent/record', (route) => route.abort());
        await page.goto(await shop.put('/'));
        const banner = page.locator('assent-ui .p');
        for (const panel of [banner, page.locator('dialog')]) {
          if (panel !== banner) await banner.locator('button').nth(2).click();
          const accept = panel.locator('.x button').first();
          const alert = panel.getByRole('alert');
          await accept.focus();
          await page.keyboard.press('Enter');
          await expect(alert).not.toBeEmpty();
          await expect(alert).toBeInViewport({ ratio: 1 });
          expect(await isUncovered(alert), 'the message is visible').toBe(true);
          expect(await isUncovered(accept), 'and so is the button to try again').toBe(true);
          await expect(accept).toBeFocused();
        }
      });
    });
  }
});

/** Everything that a visitor must see for an informed choice is visible. */
const expectInformed = async (page: Page): Promise<void> => {
  const banner = page.locator('assent-ui .p');
  await expect(banner).toBeVisible();
  // In its first frame the banner is transparent and ignores presses.
  await expect(banner).toHaveCSS('pointer-events', 'auto');
  for (const element of [banner.getByRole('heading'), banner.getByRole('link').first(), ...(await banner.locator('p:not(:empty), li b').all())]) {
    expect(await isUncovered(element), `“${await element.textContent()}” is visible`).toBe(true);
  }
  expect(await banner.evaluate((it) => it.scrollHeight - it.clientHeight), 'nothing is left to scroll to').toBe(0);
};

test.describe('the whole banner is visible while it can be accepted', () => {
  const THREE = { ...EVERY_PURPOSE, purposes: ['analytics', 'resolution', 'newsletter'] };
  for (const [name, options] of [
    ['three purposes in German on a small phone', { locale: 'de', viewport: { width: 360, height: 640 }, consent: THREE }],
    ['eight purposes in German on a small phone', { locale: 'de', viewport: { width: 360, height: 640 }, consent: EVERY_PURPOSE }],
    ['eight purposes in Arabic on a phone', { locale: 'ar', viewport: { width: 390, height: 844 }, consent: EVERY_PURPOSE }],
    ['eight purposes in German on a desktop', { locale: 'de', consent: EVERY_PURPOSE }],
  ] as const) {
    test.describe(name, () => {
      test.use(options as object);
      test(name, async ({ page, shop }) => {
        await page.goto(await shop.put('/'));
        await expectInformed(page);
      });
    });
  }

  test.describe('on a phone', () => {
    test.use({ viewport: { width: 390, height: 844 } });
    test('two purposes take at most a third of the screen', async ({ page, shop }) => {
      await page.goto(await shop.put('/'));
      await expectInformed(page);
      expect((await popup(page).banner.boundingBox())!.height).toBeLessThanOrEqual(844 / 3);
    });
  });
});

test.describe('with every purpose', () => {
  test.use({ consent: EVERY_PURPOSE });
  test('the gravest is shown first, and the recorded purposes stay sorted', async ({ page, shop }) => {
    const order = ['Recognising you', 'Sharing your phone number', 'Sharing your email address', 'Calls from partners', 'Text messages from partners', 'Emails from partners', 'Newsletter', 'Statistics'];
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner.locator('b')).toHaveText(order);
    await popup(page).choose.click();
    await expect(popup(page).preferences.locator('b')).toHaveText(order);
    await popup(page).acceptAll.click();
    await expect(popup(page).saved).toBeVisible();
    expect(await page.evaluate(() => (window as any).assent.get().purposes)).toEqual([...EVERY_PURPOSE.purposes].sort());
  });
});

test.describe('less important elements are less prominent', () => {
  test('the close button has no background, and is large enough to press', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await popup(page).choose.click();
    const close = page.getByRole('button', { name: 'Close' });
    const { width, height } = (await close.boundingBox())!;
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(24);
    const background = (it: Locator): Promise<string> => it.evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(await background(close)).toBe('rgba(0, 0, 0, 0)');
    expect(await background(popup(page).save)).toBe(await background(popup(page).acceptAll));
  });

  test('the message that a choice was saved is only for screen readers and covers nothing', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    const middle = await popup(page).saved.evaluate((it) => {
      const { x, y, width, height } = it.getBoundingClientRect();
      return document.elementFromPoint(x + width / 2, y + height / 2)?.localName;
    });
    expect(middle).not.toBe('assent-ui');
  });

  for (const width of [320, 360, 390, 1280]) {
    test(`no label in the preferences touches an edge (${width} px)`, async ({ page, shop }) => {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(await shop.put('/'));
      await acceptAll(page);
      await popup(page).wayBack.click();
      // The preferences are loaded by a script of their own; `evaluateAll` does not wait for it.
      await expect(popup(page).preferences).toBeVisible();
      const gaps = await popup(page)
        .preferences.locator('.x button')
        .evaluateAll((buttons) =>
          buttons.map((button) => {
            const range = document.createRange();
            range.selectNodeContents(button);
            const [text, box] = [range.getBoundingClientRect(), button.getBoundingClientRect()];
            return Math.min(text.left - box.left, box.right - text.right);
          }),
        );
      expect(gaps).toHaveLength(4);
      expect(Math.min(...gaps)).toBeGreaterThan(6);
    });
  }
});
