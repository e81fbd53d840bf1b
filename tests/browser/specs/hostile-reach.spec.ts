import { Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { accessibilityProblems, expect, popup, Shop, state, test } from '../support/fixtures';
import { centreOf, chooseByKeyboard, clickAt, inline, library, tabTo } from '../support/hostile';

/** Pages that make everything but their own content inert, hidden or unreachable. */

const DIALOG = `<div id="own" role="dialog" aria-modal="true" aria-label="News"><button id="own-button">Subscribe</button></div>`;
const NATIVE = `<dialog id="own" aria-label="News"><button id="own-button">Subscribe</button></dialog>`;

const STATES: [string, string, () => void][] = [
  ['all children of its body inert', DIALOG, () => [...document.body.children].forEach((child) => child.id !== 'own' && child.setAttribute('inert', ''))],
  ['its body inert', '', () => (document.body.inert = true)],
  ['the whole document inert', '', () => (document.documentElement.inert = true)],
  ['a modal dialog', NATIVE, () => document.querySelector<HTMLDialogElement>('#own')!.showModal()],
  [
    'a modal dialog in an inert body',
    NATIVE,
    () => {
      document.body.inert = true;
      document.querySelector<HTMLDialogElement>('#own')!.showModal();
    },
  ],
  [
    'a modal dialog in a shadow root',
    '<div id="component"></div>',
    () => {
      const root = document.getElementById('component')!.attachShadow({ mode: 'open' });
      root.innerHTML = '<dialog aria-label="News"><button>Subscribe</button></dialog>';
      root.querySelector('dialog')!.showModal();
    },
  ],
  ['all but its dialog hidden from screen readers', DIALOG, () => [...document.body.children].forEach((child) => child.id !== 'own' && child.setAttribute('aria-hidden', 'true'))],
  ['its body hidden', '', () => (document.body.style.display = 'none')],
];

/** The popup is there for all: for a press at its place, for the keyboard, and for screen readers. */
const answer = async (page: Page, name: 'accept' | 'decline' | 'withdraw', press: typeof clickAt = clickAt): Promise<void> => {
  await expect(popup(page)[name]).toBeVisible();
  await expect(async () => {
    const before = (await state(page)).state;
    await press(page, name);
    await expect.poll(async () => (await state(page)).state, { timeout: 1_000 }).not.toBe(before);
  }).toPass();
};

const tapAt: typeof clickAt = async (page, name) => page.touchscreen.tap(...(await centreOf(page, name)));

/** Whether the focus is in the popup, wherever that lies. */
const isInside = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    let active = document.activeElement;
    while (active && active.localName !== 'assent-ui') active = active.shadowRoot?.activeElement ?? null;
    return !!active?.shadowRoot?.activeElement;
  });

/** Long enough for the popup to have been brought within reach. */
const NOTICED_MS = 700;

for (const [what, markup, act] of STATES) {
  for (const when of ['while it asks', 'before it asks'] as const) {
    // An already open modal component cannot be detected; it is noticed when the focus moves.
    if (what.endsWith('shadow root') && when === 'before it asks') continue;
    test(`a page with ${what} ${when} can be answered by mouse, and the choice opened again`, async ({ page, shop }) => {
      const head = when === 'before it asks' ? inline(`addEventListener('DOMContentLoaded', ${act})`) : '';
      await page.goto(await shop.put('/', { head, body: `<h1>x</h1>${markup}` }));
      await page.waitForFunction(() => (window as any).assent?.get);
      if (when === 'while it asks') {
        await expect(popup(page).banner).toBeVisible();
        await page.evaluate(act);
      }
      await answer(page, 'accept');
      await page.evaluate(() => (window as any).assent.open());
      await answer(page, 'withdraw');
      expect((await state(page)).state).toBe('withdrawn');
    });
  }

  test(`a page with ${what} can be answered by keyboard`, async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${markup}` }));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate(act);
    await page.evaluate(() => {
      const html = document.documentElement;
      // Firefox gives no keys to a page whose body has no box, unless something has the focus.
      if (!document.body.getClientRects()[0]) html.tabIndex = -1;
      (document.getElementById('own-button') || html).focus();
    });
    await page.waitForTimeout(NOTICED_MS);
    await page.keyboard.press('Tab');
    await expect.poll(() => isInside(page)).toBe(true);
    await tabTo(page, 'Decline');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await state(page)).state).toBe('declined');
  });

  test.describe('by finger', chromiumOnly(LACKS.touch), () => {
    test.use({ hasTouch: true, viewport: { width: 390, height: 844 } });
    test(`a page with ${what} can be answered by finger`, async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body: `<h1>x</h1>${markup}` }));
      await expect(popup(page).banner).toBeVisible();
      await page.evaluate(act);
      await answer(page, 'accept', tapAt);
      await page.evaluate(() => (window as any).assent.open());
      await answer(page, 'withdraw', tapAt);
    });
  });
}

test('a page’s own dialog can still be used beside the question, and the question outlives it', async ({ page, shop }) => {
  await page.goto(await shop.put('/', { body: `<h1>x</h1>${NATIVE}` }));
  await expect(popup(page).banner).toBeVisible();
  await page.evaluate(() => {
    const own = document.querySelector<HTMLDialogElement>('#own')!;
    own.showModal();
    document.getElementById('own-button')!.onclick = () => own.close();
  });
  await page.waitForTimeout(600);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.locator('#own-button').click();
  await expect(page.locator('#own')).toBeHidden();
  await expect(popup(page).banner).toBeVisible();
  await answer(page, 'decline');
  await expect(popup(page).wayBack).toBeVisible();
});

test('a document that is inert no more can be used as before', async ({ page, shop }) => {
  await page.goto(await shop.put('/'));
  await expect(popup(page).banner).toBeVisible();
  await page.evaluate(() => (document.documentElement.inert = true));
  await page.waitForTimeout(600);
  await page.evaluate(() => {
    document.documentElement.inert = false;
    document.getElementById('page-button')!.onclick = () => (document.title = 'bought');
  });
  await page.locator('#page-button').click();
  expect(await page.title()).toBe('bought');
  await answer(page, 'accept');
});

const TRAPS: [string, string][] = [
  ['pulls the focus back', `document.addEventListener('focusin', (e) => { if (!own.contains(e.target)) own.querySelector('button').focus() }, true)`],
  [
    'pulls the focus back when it leaves, and cancels presses outside',
    `own.addEventListener('focusout', (e) => { if (!own.contains(e.relatedTarget)) setTimeout(() => own.contains(document.activeElement) || own.querySelector('button').focus()) });
     for (const type of ['mousedown', 'pointerdown', 'touchstart', 'click'])
       document.addEventListener(type, (e) => { if (!own.contains(e.target)) { e.preventDefault(); e.stopImmediatePropagation() } }, { capture: true, passive: false })`,
  ],
  [
    'takes the focus back at once when it leaves, and keeps Tab',
    `document.addEventListener('focusin', (e) => { if (!own.contains(e.target)) own.querySelector('button').focus() });
     document.addEventListener('focusout', (e) => { if (e.relatedTarget && !own.contains(e.relatedTarget)) own.querySelector('button').focus() });
     document.addEventListener('keydown', (e) => { if (e.key === 'Tab') { e.preventDefault(); own.querySelector('button').focus() } })`,
  ],
  ['is a focus-trap', `${library('tabbable/dist/index.umd.min.js')};${library('focus-trap/dist/focus-trap.umd.min.js')};focusTrap.createFocusTrap(own, { escapeDeactivates: false }).activate()`],
];
for (const [what, code] of TRAPS) {
  const body = `<h1>x</h1>${DIALOG}${inline(`const own = document.getElementById('own'); own.querySelector('button').focus(); ${code}`)}`;

  test(`a dialog of the page that ${what} leaves the question to be answered by mouse`, async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body }));
    await expect(popup(page).banner).toBeVisible();
    await clickAt(page, 'choose');
    await expect(popup(page).preferences).toBeVisible();
    await popup(page).purpose('Statistics').click();
    await expect(popup(page).purpose('Statistics')).toBeChecked();
    await popup(page).save.click();
    await expect(popup(page).preferences).toBeHidden();
    expect(await state(page)).toMatchObject({ state: 'accepted', purposes: ['analytics'] });
    await clickAt(page, 'wayBack');
    await popup(page).withdraw.click();
    await expect(popup(page).preferences).toBeHidden();
  });
  test(`a dialog of the page that ${what} leaves the question to be answered by keyboard`, async ({ page, shop }) => {
    await page.goto(await shop.put('/', { body }));
    await expect(popup(page).banner).toBeVisible();
    await page.waitForTimeout(NOTICED_MS);
    expect(await isInside(page)).toBe(false);
    await page.keyboard.press('Tab');
    await expect.poll(() => isInside(page)).toBe(true);
    await tabTo(page, 'Choose');
    await chooseByKeyboard(page);
    // The dialog has the focus again.
    await expect(page.locator('#own-button')).toBeFocused();
  });

  test.describe('by finger', chromiumOnly(LACKS.touch), () => {
    test.use({ hasTouch: true, viewport: { width: 390, height: 844 } });
    test(`a dialog of the page that ${what} leaves the question to be answered by finger`, async ({ page, shop }) => {
      await page.goto(await shop.put('/', { body }));
      await answer(page, 'accept', tapAt);
      await tapAt(page, 'wayBack');
      await answer(page, 'withdraw', tapAt);
    });
  });
}

test.describe('a page that handles Tab itself', () => {
  const handler = `document.addEventListener('keydown', (e) => { if (e.key === 'Tab') { e.preventDefault(); window.tabs = (window.tabs || 0) + 1; own.focus() } })`;
  const open = async (page: Page, shop: Shop, markup: string): Promise<void> => {
    await page.goto(await shop.put('/', { body: `<h1>x</h1>${markup}${inline(`const own = document.getElementById('own'); own.focus(); ${handler}`)}` }));
    await expect(popup(page).banner).toBeVisible();
    await page.waitForTimeout(NOTICED_MS);
    await page.keyboard.press('Tab');
  };

  test('and does not say that its dialog is modal is answered by keyboard', async ({ page, shop }) => {
    await open(page, shop, '<div role="dialog" aria-label="News"><button id="own">Subscribe</button></div>');
    await expect.poll(() => isInside(page)).toBe(true);
    await tabTo(page, 'Decline');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await state(page)).state).toBe('declined');
    await expect(page.locator('#own')).toBeFocused();
  });

  test('is left alone while its visitor goes on, and the next Tab leads into the popup', async ({ page, shop }) => {
    let release = (): void => {};
    const released = new Promise<void>((done) => (release = done));
    await page.route('**/extras.js*', async (route) => {
      await released;
      await route.continue();
    });
    await open(page, shop, '<div role="dialog" aria-modal="true" aria-label="News"><input id="own" aria-label="Email"></div>');
    await page.keyboard.type('a');
    const loaded = page.waitForResponse('**/extras.js*');
    release();
    await (await loaded).finished();
    await page.waitForTimeout(NOTICED_MS);
    await expect(page.locator('#own')).toBeFocused();
    await expect(page.locator('#own')).toHaveValue('a');
    await page.keyboard.press('Tab');
    await expect.poll(() => isInside(page)).toBe(true);
  });

  test('in an editor keeps the focus there', async ({ page, shop }) => {
    await open(page, shop, '<textarea id="own" aria-label="Code"></textarea>');
    await page.waitForTimeout(NOTICED_MS);
    await expect(page.locator('#own')).toBeFocused();
    expect(await page.evaluate(() => (window as any).tabs)).toBe(1);
  });
});

const STYLES: [string, string][] = [
  ['body * ', 'body * { display: none !important }'],
  ['html > :not(head)', 'html > :not(head) { display: none !important }'],
  ['everything by name', 'assent-ui, body > :last-child { display: none !important; visibility: hidden !important; opacity: 0 !important; position: absolute !important; left: -9999px !important }'],
  ['popovers and dialogs', '[popover], dialog, button { display: none !important } * { pointer-events: none !important }'],
];
for (const [what, css] of STYLES) {
  test(`a style that hides ${what} does not hide the question`, async ({ page, shop }) => {
    await page.goto(await shop.put('/', { head: `<style>${css}</style>` }));
    await expect(popup(page).banner).toBeVisible();
    await answer(page, 'decline');
    await expect(popup(page).wayBack).toBeVisible();
  });
}

const SWAPS: [string, () => void][] = [
  ['empties its body', () => (document.body.innerHTML = '<h1>new</h1>')],
  ['takes the popup out', () => document.querySelector('assent-ui')!.remove()],
  ['moves the popup', () => document.querySelector('h1')!.append(document.querySelector('assent-ui')!)],
  ['swaps its body', () => document.body.replaceWith(document.createElement('body'))],
  ['swaps its document', () => document.replaceChild(document.documentElement.cloneNode(true), document.documentElement)],
  ['swaps its body in a transition of views', () => {
    const swap = (): void => document.body.replaceChildren('new');
    const { startViewTransition } = document as any;
    if (startViewTransition) startViewTransition.call(document, swap);
    else swap();
  }],
];
for (const [what, act] of SWAPS) {
  test(`a page that ${what} is asked all the same, before the answer and after it`, async ({ page, shop }) => {
    await page.goto(await shop.put('/'));
    await expect(popup(page).banner).toBeVisible();
    await page.evaluate(act);
    await answer(page, 'accept');
    await expect(popup(page).wayBack).toBeVisible();
    await page.evaluate(() => document.querySelector('h1') || document.body.prepend(document.createElement('h1')));
    await page.evaluate(act);
    await expect(page.locator('assent-ui')).toHaveCount(1);
    await expect(popup(page).wayBack).toBeVisible();
    await expect(async () => {
      await clickAt(page, 'wayBack');
      await expect(popup(page).withdraw).toBeVisible({ timeout: 1_000 });
    }).toPass();
    await popup(page).withdraw.click();
    await expect(popup(page).preferences).toBeHidden();
    expect((await state(page)).state).toBe('withdrawn');
  });
}
