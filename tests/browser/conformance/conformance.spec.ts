import { expect, Page, test as plain } from '@playwright/test';
import { popup, settle } from '../support/fixtures';
import { APPS } from './apps';
import { HOST_RULES } from './setup';

interface Visit {
  app: string;
  /** Opens the home page of the application. */
  open(): Promise<void>;
  /** The addresses that the page has requested, in order. */
  requests: string[];
}

const test = plain.extend<{ visit: Visit; app: string }>({
  app: ['', { option: true }],

  launchOptions: async ({}, use) =>
    use({
      executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run', `--host-resolver-rules=${process.env[HOST_RULES]}`],
    }),

  visit: async ({ page, app }, use) => {
    const requests: string[] = [];
    const problems: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      // The applications have no icon.
      const isIcon = message.location().url.endsWith('/favicon.ico');
      if (['error', 'warning'].includes(message.type()) && !isIcon) problems.push(message.text());
    });
    const open = async (): Promise<void> => {
      await page.goto(`http://${app}.example/`);
      await isInteractive(page);
    };
    await use({ app, open, requests });
    expect(problems, 'no error, and no mismatch while hydrating').toEqual([]);
  },
});

const isInteractive = (page: Page): Promise<void> =>
  expect(async () => {
    const before = await page.getByText(/^Bought \d+$/).textContent();
    await page.getByText(/^Bought \d+$/).click();
    await expect(page.getByText(/^Bought \d+$/)).not.toHaveText(before!, { timeout: 500 });
  }).toPass();

const gateIs = (page: Page, text: 'on' | 'off'): Promise<void> => expect(page.getByText(/^Statistics are/)).toHaveText(`Statistics are ${text}`);
const frameSource = (page: Page): Promise<string | null> => page.locator('iframe[title="Video"]').getAttribute('src');
const statsRuns = (page: Page): Promise<number> => page.evaluate(() => (window as any).statsRuns || 0);
const count = ({ requests }: Visit, text: string): number => requests.filter((url) => url.includes(text)).length;
const thirdParties = (visit: Visit): number => count(visit, '//stats.example/') + count(visit, '//videos.example/');

/** Follows a link without loading the document again. */
const navigate = async (page: Page, link: string, heading: string): Promise<void> => {
  await page.evaluate(() => ((window as any).sameDocument = true));
  await page.getByRole('link', { name: link }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(heading);
  expect(await page.evaluate(() => (window as any).sameDocument), 'it was client-side navigation').toBe(true);
};

const accept = async (page: Page): Promise<void> => {
  await popup(page).accept.click();
  await expect(popup(page).banner).toBeHidden();
  await expect.poll(() => page.evaluate(() => window.localStorage.length)).toBeGreaterThan(0);
  await expect.poll(() => page.evaluate(() => (window as any).assent.get().receipt)).not.toBeNull();
};

const expectOnePopup = async (page: Page, visit: Visit): Promise<void> => {
  await expect(page.locator('assent-ui')).toHaveCount(1);
  expect(count(visit, '/px/'), 'one tag was loaded').toBe(1);
};

for (const app of APPS) {
  test.describe(app, () => {
    test.use({ app });

    test('requests nothing of third parties before consent, and starts it after acceptance', async ({ page, visit }) => {
      await visit.open();
      await expect(popup(page).banner).toBeVisible();
      await settle(page);
      await gateIs(page, 'off');
      expect(thirdParties(visit)).toBe(0);
      await expectOnePopup(page, visit);
      await accept(page);
      await gateIs(page, 'on');
      await expect.poll(() => statsRuns(page)).toBe(1);
      await expect.poll(() => frameSource(page)).toBe('http://videos.example/embed');
      await page.getByText('Privacy settings').click();
      await expect(popup(page).preferences).toBeVisible();
    });

    // The application without a line of the tag loads it with a script, which the install check does not run.
    if (app !== 'vite-react') {
      test('names the tag in its HTML, where the install check finds it', async ({ page }) => {
        const response = await page.goto(`http://${app}.example/`);
        expect(await response!.text()).toContain(`//consent.example/px/${app}.js`);
      });
    }

    test('stays off after a refusal, on this page and on the next', async ({ page, visit }) => {
      await visit.open();
      await popup(page).decline.click();
      await expect(popup(page).banner).toBeHidden();
      await navigate(page, 'Second page', 'Second');
      await visit.open();
      await gateIs(page, 'off');
      await settle(page);
      expect(thirdParties(visit)).toBe(0);
      await expect(popup(page).banner).toBeHidden();
    });

    test('stops after withdrawal: the page at once, the script with the next load', async ({ page, visit }) => {
      await visit.open();
      await accept(page);
      await gateIs(page, 'on');
      await expect.poll(() => statsRuns(page)).toBe(1);
      await page.evaluate(() => (window as any).assent.withdraw());
      await gateIs(page, 'off');
      await expect.poll(() => frameSource(page)).toBeNull();
      const before = thirdParties(visit);
      await visit.open();
      await settle(page);
      await gateIs(page, 'off');
      expect(thirdParties(visit)).toBe(before);
      expect(await statsRuns(page)).toBe(0);
    });

    test('asks once while the visitor navigates, and runs the script once', async ({ page, visit }) => {
      await visit.open();
      await expect(popup(page).banner).toBeVisible();
      await navigate(page, 'Second page', 'Second');
      await expect(popup(page).banner).toBeVisible();
      await expectOnePopup(page, visit);
      await accept(page);
      await expect.poll(() => statsRuns(page), 'a script that waited on the first page').toBe(1);
      await navigate(page, 'Home page', 'Home');
      await gateIs(page, 'on');
      await expect.poll(() => frameSource(page)).toBe('http://videos.example/embed');
      await navigate(page, 'Second page', 'Second');
      await navigate(page, 'Home page', 'Home');
      await settle(page);
      await expectOnePopup(page, visit);
      expect(await statsRuns(page)).toBe(1);
      expect(count(visit, '//stats.example/')).toBe(1);
    });

    test('hydrates with a stored choice without a mismatch', async ({ page, visit }) => {
      await visit.open();
      await accept(page);
      await visit.open();
      await gateIs(page, 'on');
      await expect.poll(() => statsRuns(page)).toBe(1);
      await expect.poll(() => frameSource(page)).toBe('http://videos.example/embed');
      await expect(popup(page).banner).toBeHidden();
    });
  });
}
