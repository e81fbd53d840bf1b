import { acceptAll, expect, popup, state, test } from '../support/fixtures';
import { blockingSnippet, chooseByKeyboard, clickAt, centreOf, inline, recorded, tabTo } from '../support/hostile';

/** Pages whose legitimate listeners interfere: shortcuts, gesture guards and listeners for every event. */

const TAGS = '/^(INPUT|TEXTAREA|SELECT|BUTTON|A)$/';
const GUARDS: [string, string][] = [
  ['keys on the document', `document.onkeydown = (e) => { if (/^( |Enter)$/.test(e.key) && !${TAGS}.test(e.target.tagName)) e.preventDefault() }`],
  [
    'keys on the window, before all other listeners',
    `for (const type of ['keydown', 'keypress', 'keyup'])
      addEventListener(type, (e) => { if (/^( |Enter)$/.test(e.key) && !${TAGS}.test(e.target.tagName)) e.preventDefault() }, true)`,
  ],
  [
    'presses on the document',
    `for (const type of ['touchstart', 'touchend', 'pointerdown', 'mousedown', 'click'])
      document.addEventListener(type, (e) => { if (!e.target.closest('a,button,input')) { e.preventDefault(); e.stopImmediatePropagation() } }, { capture: true, passive: false })`,
  ],
  [
    'everything on the body, and stops it',
    `addEventListener('DOMContentLoaded', () => { for (const type of ['keydown', 'keyup', 'click', 'mousedown', 'touchstart', 'focusin', 'input', 'change'])
      document.body.addEventListener(type, (e) => { e.stopPropagation(); if (e.cancelable) e.preventDefault() }, { capture: true, passive: false }) })`,
  ],
];

for (const [what, guard] of GUARDS) {
  test.describe(`a page that guards ${what}`, () => {
    test('can be used by keyboard', async ({ page, shop }) => {
      await page.goto(await shop.put('/', { head: inline(guard) }));
      await expect(popup(page).banner).toBeVisible();
      await tabTo(page, 'Decline');
      await page.keyboard.press('Space');
      await expect(popup(page).banner).toBeHidden();
      expect((await state(page)).state).toBe('declined');

      // The popup is opened again, changed by switch, and saved.
      await popup(page).wayBack.focus();
      await chooseByKeyboard(page);
    });

    test('can be used by mouse', async ({ page, shop }) => {
      await page.goto(await shop.put('/', { head: inline(guard) }));
      await expect(popup(page).banner).toBeVisible();
      await clickAt(page, 'decline');
      await expect(popup(page).banner).toBeHidden();
      await clickAt(page, 'wayBack');
      await expect(popup(page).preferences).toBeVisible();
      await popup(page).purpose('Statistics').click();
      await expect(popup(page).purpose('Statistics')).toBeChecked();
      // A click on the label.
      await popup(page).preferences.getByText('Recognising you').click();
      await expect(popup(page).purpose('Recognising you')).toBeChecked();
      await popup(page).purpose('Recognising you').click();
      await popup(page).save.click();
      await expect(popup(page).preferences).toBeHidden();
      expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['analytics'] });
      await expect.poll(() => recorded(shop)).toEqual(['accepted', 'declined']);
    });

    test.describe('by touch', () => {
      test.use({ hasTouch: true, viewport: { width: 390, height: 844 } });
      test('can be used', async ({ page, shop, browserName }) => {
        test.skip(browserName === 'firefox', 'Playwright’s taps reach no page in Debian’s Firefox');
        await page.goto(await shop.put('/', { head: inline(guard) }));
        await expect(popup(page).banner).toBeVisible();
        await page.touchscreen.tap(...(await centreOf(page, 'accept')));
        await expect(popup(page).banner).toBeHidden();
        expect((await state(page)).state).toBe('accepted');
        await page.touchscreen.tap(...(await centreOf(page, 'wayBack')));
        await expect(popup(page).preferences).toBeVisible();
        await page.touchscreen.tap(...(await centreOf(page, 'withdraw')));
        await expect(popup(page).preferences).toBeHidden();
        expect((await state(page)).state).toBe('withdrawn');
      });
    });
  });
}

test('events in the popup do not reach listeners that the page adds after the tag', async ({ page, shop }) => {
  const listen = inline(`
    window.heard = [];
    const note = ({ type, target }) => target?.localName === 'assent-ui' && heard.push(type);
    for (const name in HTMLElement.prototype) {
      if (!/^on/.test(name)) continue;
      for (const target of [window, document]) for (const capture of [true, false]) target.addEventListener(name.slice(2), note, capture);
    }
    for (const type of ['focusin', 'focusout']) addEventListener(type, note, true);`);
  await page.goto(await shop.put('/', { head: '', snippet: blockingSnippet(shop) + listen }));
  await expect(popup(page).banner).toBeVisible();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  await popup(page).choose.hover();
  await popup(page).choose.click();
  await popup(page).purpose('Statistics').click();
  await popup(page).purpose('Statistics').press('Space');
  await page.mouse.wheel(0, 100);
  await page.keyboard.press('Escape');
  await popup(page).decline.click();
  await expect(popup(page).banner).toBeHidden();
  await popup(page).wayBack.dblclick();
  expect(await page.evaluate(() => [...new Set((window as any).heard)])).toEqual([]);
});

test('listeners of the page still receive events of the page', async ({ page, shop }) => {
  const head = inline(`window.heard = []; for (const type of ['keydown', 'click', 'focusin']) addEventListener(type, (e) => heard.push(type + ' ' + e.target.id))`);
  await page.goto(await shop.put('/', { head }));
  await expect(popup(page).banner).toBeVisible();
  await page.locator('#page-button').click();
  await page.locator('#first').press('ArrowDown');
  expect(await page.evaluate(() => (window as any).heard)).toEqual(expect.arrayContaining(['click page-button', 'focusin page-button', 'keydown first']));
});

test.describe('data-assent-open', () => {
  const SHADOW = `customElements.define('site-footer', class extends HTMLElement {
    constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '<button data-assent-open><b>Privacy settings</b></button>' }
  })`;
  const NESTED = `${SHADOW}; customElements.define('site-page', class extends HTMLElement {
    constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '<p><site-footer></site-footer></p>' }
  })`;
  const placements: [string, string, string][] = [
    ['in an open shadow root', '<site-footer></site-footer>', SHADOW],
    ['in a shadow root of a shadow root', '<site-page></site-page>', NESTED],
    ['as slotted content', '<site-box data-assent-open><b>Privacy settings</b></site-box>', `customElements.define('site-box', class extends HTMLElement {
      constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '<div><slot></slot></div>' } })`],
    ['below a handler that stops clicks', '<nav onclick="event.stopPropagation()"><button data-assent-open><b>Privacy settings</b></button></nav>', ''],
    [
      'below a guard of the document that stops all clicks',
      '<button data-assent-open><b>Privacy settings</b></button>',
      `document.addEventListener('click', (e) => { e.stopImmediatePropagation(); e.preventDefault() }, true)`,
    ],
    ['on a link', '<a href="#nowhere" data-assent-open><b>Privacy settings</b></a>', ''],
  ];
  for (const [placement, markup, script] of placements) {
    for (const input of ['mouse', 'keyboard'] as const) {
      test(`${placement} opens the preferences by ${input}, before and after the choice`, async ({ page, shop }) => {
        await page.goto(await shop.put('/', { body: `<h1>x</h1>${inline(script)}${markup}` }));
        const open = async (): Promise<void> => {
          const text = page.getByText('Privacy settings');
          if (input === 'mouse' || (await text.evaluate((element) => !element.closest('a,button')))) return text.click();
          await text.evaluate((element) => element.closest<HTMLElement>('a,button')!.focus());
          await page.keyboard.press('Enter');
        };
        await expect(popup(page).banner).toBeVisible();
        await open();
        await expect(popup(page).preferences).toBeVisible();
        await page.keyboard.press('Escape');
        await expect(popup(page).preferences).toBeHidden();
        await acceptAll(page);
        await open();
        await popup(page).withdraw.click();
        await expect(popup(page).preferences).toBeHidden();
        expect((await state(page)).state).toBe('withdrawn');
        expect(new URL(page.url()).hash).toBe('');
      });
    }
  }
});
