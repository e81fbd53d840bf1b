import { Locator } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { acceptAll, expect, popup, screenshot, settle, test } from '../support/fixtures';
import { PLAIN_POLICY } from '../support/integrator';
import { LANGUAGES } from '../support/languages';

const APPEARANCE = {
  position: 'bottom-right',
  colors: {
    light: { background: '#fff8ee', text: '#3a2410', button: '#6b3e12', button_text: '#ffffff', link: '#8a3b00' },
    dark: { background: '#241508', text: '#fbeedd', button: '#f0c894', button_text: '#241508', link: '#ffc58a' },
  },
  radius: 4,
  font: 'Georgia, serif',
  button: { show: true, position: 'top-right' },
};

test.describe('the site owner’s appearance', () => {
  test.use({ consent: { ...PLAIN_POLICY, appearance: APPEARANCE } });

  for (const scheme of ['light', 'dark'] as const) {
    test(`is applied in ${scheme}`, scheme === 'dark' ? chromiumOnly(LACKS.colours) : {}, async ({ page, shop }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(await shop.put('/'));
      const { banner, accept, decline, wayBack } = popup(page);
      await expect(banner).toBeVisible();
      await page.waitForTimeout(350);
      await screenshot(page, `own-look-${scheme}`);
      const { x, width } = (await banner.boundingBox())!;
      expect(x + width).toBeGreaterThan(1250);
      expect(width).toBeLessThan(600);
      const style = await accept.evaluate((element) => {
        const { backgroundColor, color, fontFamily } = getComputedStyle(element);
        return { backgroundColor, color, fontFamily };
      });
      expect(style).toEqual({
        backgroundColor: scheme === 'light' ? 'rgb(107, 62, 18)' : 'rgb(240, 200, 148)',
        color: scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(36, 21, 8)',
        fontFamily: 'Georgia, serif',
      });
      expect(await decline.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(style.backgroundColor);
      expect(await banner.evaluate((element) => getComputedStyle(element).borderRadius)).toBe('4px');
      await acceptAll(page);
      const corner = (await wayBack.boundingBox())!;
      expect(corner.x).toBeGreaterThan(1200);
      expect(corner.y).toBeLessThan(50);
    });
  }
});

test('the small button can be turned off', async ({ page, shop }) => {
  await shop.configure({ ...PLAIN_POLICY, appearance: { button: { show: false } } });
  await page.goto(await shop.put('/'));
  await acceptAll(page);
  await expect(popup(page).wayBack).toBeHidden();
  await page.evaluate(() => (window as any).assent.open());
  await expect(popup(page).preferences).toBeVisible();
});

test('the page’s own font is used if the site owner has chosen it', async ({ page, shop }) => {
  await shop.configure({ ...PLAIN_POLICY, appearance: { font: 'inherit' } });
  await page.goto(await shop.put('/', { head: '<style>body{font-family:"Courier New",monospace}</style>' }));
  expect(await popup(page).accept.evaluate((element) => getComputedStyle(element).fontFamily)).toBe('"Courier New", monospace');
});

test('the banner has the configured position', async ({ page, shop }) => {
  const url = await shop.put('/');
  for (const position of ['bottom', 'bottom-left', 'bottom-right', 'top', 'center']) {
    await shop.configure({ ...PLAIN_POLICY, appearance: { position } });
    await page.goto(url);
    await expect(popup(page).banner).toBeVisible();
    const { x, y, width, height } = (await popup(page).banner.boundingBox())!;
    const middle = { x: x + width / 2, y: y + height / 2 };
    expect(position.includes('left') ? x < 20 : position.includes('right') ? x + width > 1260 : Math.abs(middle.x - 640) < 12, position).toBe(true);
    expect(position === 'top' ? y < 20 : position === 'center' ? Math.abs(middle.y - 400) < 12 : y + height > 780, position).toBe(true);
  }
});

test.describe('with every purpose', () => {
  test.use({
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 2,
    consent: {
      ...PLAIN_POLICY,
      purposes: ['analytics', 'resolution', 'newsletter', 'email_sharing', 'phone_sharing', 'partner_email', 'partner_calls', 'partner_sms'],
      data_sharing: true,
      disclosed_parties: ['Partner One Ltd', 'Partner Two GmbH'],
      site_policy_url: 'https://shop.example/privacy',
    },
  });
  test('the buttons and half of the page stay visible on a phone', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    const { banner, accept, choose, save } = popup(page);
    await expect(accept).toBeInViewport({ ratio: 1 });
    expect((await banner.boundingBox())!.height).toBeLessThanOrEqual(423);
    await page.waitForTimeout(350);
    await screenshot(page, 'banner-all-purposes-phone');
    await choose.click();
    await expect(save).toBeInViewport({ ratio: 1 });
    await screenshot(page, 'preferences-all-purposes-phone');
  });
});

/** The words of buttons that are split over two lines. */
const splitWords = (buttons: Locator): Promise<string[]> =>
  buttons.evaluateAll((elements) =>
    elements.flatMap((button) => {
      const text = button.firstChild as Text;
      return [...text.data.matchAll(/\S+/g)]
        .filter(({ 0: word, index }) => {
          const range = document.createRange();
          range.setStart(text, index);
          range.setEnd(text, index + word.length);
          return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
        })
        .map(([word]) => word);
    }),
  );

test.describe('on a phone 360 px wide', () => {
  test.use({ viewport: { width: 360, height: 780 } });
  test('no word of the three buttons is split, in any language', chromiumOnly('Firefox draws letters that no font of the machine has as wide boxes'), async ({ page, shop }) => {
    const broken: Record<string, string[]> = {};
    for (const lang of LANGUAGES) {
      await page.goto(await shop.put(`/${lang}`, { snippet: shop.policy.snippet.replace('.js"', `.js?lang=${lang}"`) }));
      const buttons = page.locator('assent-ui .x button');
      await expect(buttons).toHaveCount(3);
      await expect(page.locator('assent-ui > div')).toHaveAttribute('lang', new RegExp(`^${lang}$`, 'i'));
      const split = await splitWords(buttons);
      if (split.length) broken[lang] = split;
    }
    expect(broken).toEqual({});
  });
});

const withoutConstructedSheets = () => {
  window.CSSStyleSheet = class {
    constructor() {
      throw new TypeError('Illegal constructor');
    }
  } as unknown as typeof CSSStyleSheet;
};

test('a browser without constructed style sheets shows the same popup, and it works', async ({ page, shop }) => {
  const measure = async () => {
    const { banner, decline } = popup(page);
    await expect(banner).toBeVisible();
    // In its first frame the popup ignores presses, and its buttons inherit that.
    await expect(banner).toHaveCSS('pointer-events', 'auto');
    const style = await decline.evaluate((element) => ({ ...getComputedStyle(element) }));
    return { box: await banner.boundingBox(), style };
  };
  await page.goto(await shop.put('/'));
  const modern = await measure();
  await page.addInitScript(withoutConstructedSheets);
  await page.reload();
  expect(await measure()).toEqual(modern);
  await popup(page).choose.click();
  await expect(popup(page).preferences).toBeVisible();
  await page.keyboard.press('Escape');
  await acceptAll(page);
  await expect.poll(() => shop.tagLoads()).toBe(1);
});

test('a browser that has no dialogs either shows nothing and loads nothing', async ({ page, shop }) => {
  await page.addInitScript(withoutConstructedSheets);
  await page.addInitScript(() => delete (window as any).HTMLDialogElement);
  await page.goto(await shop.put('/'));
  await settle(page);
  await expect(popup(page).banner).toHaveCount(0);
  await page.evaluate(() => (window as any).assent.open()).catch(() => {});
  await expect(popup(page).preferences).toHaveCount(0);
  expect(await shop.tagLoads()).toBe(0);
});
