import { Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { acceptAll, accessibilityProblems, expect, popup, screenshot, sendGpc, state, test } from '../support/fixtures';

/** What has the focus, looking into the shadow root. */
interface Stop {
  ours: boolean;
  label: string;
  inDialog: boolean;
  hidden: boolean;
  outline: number;
  /** False when the focus has gone on to the browser's own controls, which a headless browser does not have. */
  inPage: boolean;
}

const focused = (page: Page): Promise<Stop> =>
  page.evaluate(() => {
    const outer = document.activeElement!;
    const inner = outer.shadowRoot ? outer.shadowRoot.activeElement! : outer;
    const box = inner.getBoundingClientRect();
    const style = getComputedStyle(inner);
    // Hidden when, at its middle and its corners, something else lies on top of it.
    const points = [
      [box.x + box.width / 2, box.y + box.height / 2],
      [box.x + 3, box.y + 3],
      [box.right - 3, box.bottom - 3],
    ];
    const visible = points.some(([x, y]) => {
      const top = document.elementFromPoint(x, y);
      const deep = top?.shadowRoot ? top.shadowRoot.elementFromPoint(x, y) : top;
      return !!deep && (inner === deep || inner.contains(deep));
    });
    return {
      inPage: document.hasFocus(),
      ours: outer !== inner,
      label: inner.getAttribute('aria-label') || inner.textContent || inner.getAttribute('aria-labelledby') || '',
      inDialog: !!inner.closest('dialog'),
      hidden: inner !== document.body && !visible,
      outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
    };
  });

const press = async (page: Page, key: string): Promise<Stop> => {
  await page.keyboard.press(key);
  const stop = await focused(page);
  if (stop.ours) return stop;
  // The banner steps aside in the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return focused(page);
};

/**
 * Presses the first Tab and waits for the module that leads the keyboard from the banner to the page. A program presses
 * the following keys faster than a module loads.
 */
const enterBanner = async (page: Page): Promise<Stop> => {
  const stop = await press(page, 'Tab');
  await page.waitForFunction(async () => {
    const extras = performance.getEntriesByType('resource').find(({ name }) => name.includes('/extras.js'));
    if (!extras) return false;
    await import(extras.name);
    return new Promise((done) => setTimeout(() => done(true)));
  });
  return stop;
};

const expectNoViolations = async (page: Page): Promise<void> => {
  expect(await accessibilityProblems(page)).toEqual([]);
};

/** Everything lies inside the window's width, and every control is large enough to hit. */
const expectFits = async (page: Page): Promise<void> => {
  const problems = await page.evaluate(() => {
    const found: string[] = [];
    const root = document.querySelector('assent-ui')!.shadowRoot!;
    for (const panel of root.querySelectorAll('[role=dialog],dialog')) {
      if (panel.scrollWidth > panel.clientWidth) found.push('a panel scrolls sideways');
    }
    for (const control of root.querySelectorAll('a,button,input')) {
      const { left, right, width, height } = control.getBoundingClientRect();
      if (!width) continue;
      if (left < 0 || right > innerWidth) found.push(`${control.textContent} is cut off`);
      if (width < 24 || height < 24) found.push(`${control.textContent || control.id} measures ${width} by ${height}`);
    }
    return found;
  });
  expect(problems).toEqual([]);
};

const variants: [string, Parameters<typeof test.use>[0]][] = [
  ['ltr', {}],
  ['rtl', { locale: 'ar' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced-colours', { contextOptions: { forcedColors: 'active' } }],
  ['forced-colours-dark', { colorScheme: 'dark', contextOptions: { forcedColors: 'active' } }],
  ['phone', { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }],
  ['320px', { viewport: { width: 320, height: 640 } }],
  ['zoom-400', { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 }],
];

for (const [name, options] of variants) {
  test.describe(`in ${name}`, /dark|forced/.test(name) ? chromiumOnly(LACKS.colours) : {}, () => {
    test.use(options);

    test(`axe finds nothing in banner, preferences and the way back (${name})`, async ({ page, shop }) => {
      await page.goto(await shop.put('/'));
      const dialog = page.getByRole('dialog');
      await expect(dialog).toBeVisible();
      // In its first frame the popup is transparent and lets everything through.
      await expect(dialog).toHaveCSS('pointer-events', 'auto');
      await screenshot(page, `banner-${name}`);
      await expectNoViolations(page);
      await expectFits(page);

      await dialog.getByRole('button').nth(2).click();
      await expect(page.getByRole('switch').first()).toBeVisible();
      await screenshot(page, `preferences-${name}`);
      await expectNoViolations(page);
      await expectFits(page);

      await page.locator('dialog').getByRole('button').nth(1).click();
      await expect(page.locator('dialog')).toBeHidden();
      await expectNoViolations(page);
      await page.locator('assent-ui').getByRole('button').click();
      await expect(page.getByRole('switch').first()).toBeChecked();
      await screenshot(page, `reopened-${name}`);
      await expectNoViolations(page);
      await expectFits(page);
    });

    // Colours change nothing in the order of things.
    if (name.endsWith('dark')) return;

    test(`the keyboard reaches everything and nothing that has the focus is hidden (${name})`, async ({ page, shop }) => {
      await page.goto(await shop.put('/'));
      await expect(page.getByRole('dialog')).toBeVisible();
      // What lets everything through, as the popup does in its first frame, counts as hidden.
      await expect(page.getByRole('dialog')).toHaveCSS('pointer-events', 'auto');

      const first = await enterBanner(page);
      expect(first.ours, 'the first Tab lands in the popup').toBe(true);
      const walk = [first];
      for (let step = 1; step < 40 && walk[step - 1].inPage; step++) walk.push(await press(page, 'Tab'));
      if (!walk[walk.length - 1].inPage) walk.pop();
      expect(walk.filter((stop) => stop.hidden).map((stop) => stop.label)).toEqual([]);
      expect(walk.filter((stop) => stop.ours && stop.outline < 2)).toEqual([]);
      const labels = walk.map((stop) => stop.label);
      expect(labels, 'the page is reached too').toContain('Last link');
      expect(walk.filter((stop) => stop.ours).length).toBeGreaterThan(3);
    });

    test(`the focus stays in the preferences, Esc closes them and gives it back (${name})`, async ({ page, shop }) => {
      await page.goto(await shop.put('/'));
      await expect(page.getByRole('dialog')).toHaveCSS('pointer-events', 'auto');
      const choose = page.getByRole('dialog').getByRole('button').nth(2);
      await choose.focus();
      const { label } = await focused(page);
      await page.keyboard.press('Enter');
      await expect(page.locator('dialog')).toBeVisible();
      for (const key of ['Tab', 'Shift+Tab']) {
        // More than there are stops, so that it goes round.
        for (let step = 0; step < 14; step++) {
          const stop = await press(page, key);
          expect(stop.inDialog, `${key} number ${step} stays in the preferences`).toBe(true);
          expect(stop.hidden, `${stop.label} is visible`).toBe(false);
          expect(stop.outline).toBeGreaterThanOrEqual(2);
        }
      }
      await page.keyboard.press('Escape');
      await expect(page.locator('dialog')).toBeHidden();
      expect((await focused(page)).label).toBe(label);
    });
  });
}

test.describe('the keyboard', () => {
  test('goes through the answers in the order in which they stand, then to the page', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    const labels = [(await enterBanner(page)).label];
    for (let step = 0; step < 5; step++) labels.push((await press(page, 'Tab')).label);
    expect(labels).toEqual(['Privacy notice', 'Accept', 'Decline', 'Choose', 'First link', 'Buy']);
  });

  test('comes to the popup first on a page that was opened at a fragment too', async ({ page, shop }) => {
    const body = `<h1>Long</h1><p><a href="#x">Top link</a></p><h2 id="part" tabindex="-1">Part</h2><p><a href="#y">Part link</a></p>`;
    await page.goto((await shop.put('/', { body })) + '#nowhere');
    await page.evaluate(() => getSelection()!.collapse(document.querySelector('h2'), 0));
    await expect(popup(page).banner).toBeVisible();
    expect((await press(page, 'Tab')).label).toBe('Privacy notice');
  });

  test('puts the banner aside with Esc: nothing is recorded, and the next page asks again', async ({ page, shop }) => {
    let recorded = 0;
    page.on('request', (request) => request.url().endsWith('/record') && recorded++);
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await page.locator('#page-button').focus();
    await popup(page).accept.focus();
    await page.keyboard.press('Escape');
    await expect(popup(page).banner).toBeHidden();
    await expect(page.locator('#page-button'), 'the focus is back where it was').toBeFocused();
    await expect(popup(page).wayBack).toBeVisible();
    expect((await state(page)).state).toBeNull();
    expect(recorded).toBe(0);
    await page.reload();
    await expect(popup(page).banner).toBeVisible();
  });

  test('answers with Enter and Space alone', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    for (let step = 0; step < 4; step++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect(popup(page).preferences).toBeVisible();
    await popup(page).purpose('Statistics').focus();
    await page.keyboard.press('Space');
    await popup(page).save.focus();
    await page.keyboard.press('Enter');
    await expect(popup(page).saved).toBeVisible();
    expect((await state(page)).purposes).toEqual(['analytics']);
  });

  test('any element with data-assent-open is a way back, and gets the focus again', async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: '<h1>x</h1><a id="open" href="/elsewhere" data-assent-open>Your <b>privacy</b></a>' }));
    await acceptAll(page);
    await page.locator('#open').focus();
    await page.keyboard.press('Enter');
    await expect(popup(page).preferences).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(page.locator('#open')).toBeFocused();
    await page.locator('#open b').click();
    await expect(popup(page).preferences).toBeVisible();
  });

  test('the way-back button gets the focus again', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await acceptAll(page);
    await popup(page).wayBack.focus();
    await page.keyboard.press('Enter');
    await popup(page).save.focus();
    await page.keyboard.press('Enter');
    await expect(popup(page).preferences).toBeHidden();
    await expect(popup(page).wayBack).toBeFocused();
  });

  for (const [what, button] of [
    ['saving a choice', 'save'],
    ['declining all', 'declineAll'],
    ['accepting all', 'acceptAll'],
  ] as const) {
    test(`goes on where it was after ${what} in the preferences`, async ({ page, shop }) => {
      await page.goto(await shop.put('/'));
      await page.locator('#page-button').focus();
      await popup(page).choose.focus();
      await page.keyboard.press('Enter');
      await popup(page)[button].focus();
      await page.keyboard.press('Enter');
      await expect(popup(page).preferences).toBeHidden();
      await expect(page.locator('#page-button')).toBeFocused();
    });

    test(`goes to the small button after ${what}, when it came from nowhere, and from there into the page`, async ({ page, shop }) => {
      await page.goto(await shop.put('/'));
      await expect(popup(page).banner).toBeVisible();
      for (let step = 0; step < 4; step++) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await popup(page)[button].focus();
      await page.keyboard.press('Enter');
      await expect(popup(page).wayBack).toBeFocused();
      expect((await press(page, 'Tab')).label).toBe('First link');
    });
  }

  test('goes to the small button after an answer in the question too', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect(popup(page).wayBack).toBeFocused();
  });

  test('leaves the page as it was when it has led the visitor back to its beginning', async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    const before = await page.evaluate(() => document.documentElement.outerHTML.slice(0, 40));
    await enterBanner(page);
    for (let step = 0; step < 4; step++) await page.keyboard.press('Tab');
    await expect(page.locator('#first')).toBeFocused();
    expect(await page.evaluate(() => document.documentElement.outerHTML.slice(0, 40))).toBe(before);
  });

  test('is kept in the explanation under Global Privacy Control too', async ({ page, shop }) => {
    await sendGpc(page);
    await page.goto(await shop.put('/'));
    await page.evaluate(() => (window as any).assent.open());
    await expectNoViolations(page);
    for (let step = 0; step < 5; step++) expect((await press(page, 'Tab')).inDialog).toBe(true);
  });
});

test('the three answers are equal in size, shape, colour and line', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  const { accept, decline, choose } = popup(page);
  await expect(accept).toBeVisible();
  const looks = await Promise.all(
    [accept, decline, choose].map((button) =>
      button.evaluate((element) => {
        const style = getComputedStyle(element);
        const { width, height, y } = element.getBoundingClientRect();
        const names = ['color', 'backgroundColor', 'borderTopColor', 'borderTopWidth', 'fontSize', 'fontWeight', 'boxShadow', 'opacity', 'borderRadius'] as const;
        return JSON.stringify([Math.round(width), Math.round(height), Math.round(y), ...names.map((name) => style[name])]);
      }),
    ),
  );
  expect(new Set(looks).size).toBe(1);
});

test('says aloud what happened', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  await expect(popup(page).banner).toHaveAccessibleName('Your privacy choice');
  await acceptAll(page);
  await expect(page.getByRole('status')).toHaveText('Your choice has been saved.');
  await page.route('**/v1/consent/record', (route) => route.abort());
  await popup(page).wayBack.click();
  await expect(popup(page).purpose('Recognising you')).toHaveAccessibleDescription(/Match your visit/);
  await popup(page).acceptAll.click();
  await expect(page.getByRole('alert')).toContainText('could not be saved');
  expect(await page.getByRole('status').textContent(), 'what was said before is no longer true').toBe('');
  await screenshot(page, 'failed');
});

test('nothing moves, for whoever asks for less motion and for everybody else', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  await expect(popup(page).banner).toHaveCSS('opacity', '1');
  await expect(popup(page).banner).toHaveCSS('pointer-events', 'auto');
  const moving = (): Promise<number> =>
    page.evaluate(() => document.querySelector('assent-ui')!.shadowRoot!.querySelectorAll('*').length && document.getAnimations().length);
  expect(await moving()).toBe(0);
  await popup(page).choose.click();
  await popup(page).purpose('Statistics').check();
  expect(await moving()).toBe(0);
});

test('styles of the page do not reach the popup, and its own do not reach the page', async ({ page, shop }) => {
  const head = `<style>
    * { font-size: 40px !important; letter-spacing: 1em; color: red !important; text-transform: uppercase }
    :root { --b: red; --k: red } html > * { margin: 50px; transform: rotate(3deg); display: none } body { display: block; transform: none }
    div, assent-ui { display: none !important; opacity: 0 } button { background: red }</style>`;
  await page.goto(await shop.put('/', { head }));
  const { accept, banner } = popup(page);
  await expect(accept).toBeVisible();
  expect(await accept.evaluate((element) => getComputedStyle(element).fontSize)).toBe('15px');
  expect(await banner.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe('rgb(255, 255, 255)');
  expect(await accept.evaluate((element) => getComputedStyle(element).textTransform)).toBe('none');
});
