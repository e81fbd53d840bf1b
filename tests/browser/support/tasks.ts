import { Download, Locator, Page, test } from '@playwright/test';
import { CLICKS } from './clicks-reporter';
import { expect } from './fixtures';

type Role = Parameters<Page['getByRole']>[0];
type Name = string | RegExp;

/**
 * A person's task in a browser. Elements are found by role and accessible name only, or by their visible text where HTML
 * gives them no role. Every press of a button, link, box or list counts as one click; typing does not.
 */
export interface Task {
  /** Opens the page or the link of a mail from which the person starts. */
  start(address: string): Promise<void>;
  click(role: Role, name: Name): Promise<void>;
  /** Opens a part of the page that is closed at first. Its summary has no role. */
  unfold(summary: string): Promise<void>;
  /** Chooses an option of a list, or a file, which is one click. */
  choose(label: Name, value: string): Promise<void>;
  chooseFile(label: string, path: string): Promise<void>;
  /** Sets a colour, which is one click. Colour fields have no role: the first of this name is used. */
  colour(label: string, value: string): Promise<void>;
  fill(label: Name, text: string): Promise<void>;
  /** Clicks the first element of this name, and returns the file that the service or the page sends. */
  download(role: Role, name: Name): Promise<Download>;
  /** Clicks a link that opens a tab, and goes on there. Returns the tab. */
  openTab(role: Role, name: Name): Promise<Page>;
  /** Selects and copies the whole text of a field, which is one click, and returns it. */
  copy(label: Name): Promise<string>;
  /** Goes on as another person, or in another tab. */
  goOn(page: Page): void;
  /** Expects a visible text on the page. */
  sees(text: Name): Promise<void>;
  /** Expects the heading of the page. */
  isAt(heading: Name): Promise<void>;
  /** Records the number of clicks in the report, and expects that it is at most the limit. */
  end(limit: number): void;
}

export const task = (first: Page, title: string): Task => {
  let page = first;
  let clicks = 0;
  const find = (role: Role, name: Name): Locator => page.getByRole(role, { name, exact: typeof name === 'string' });
  const field = (label: Name): Locator => page.getByLabel(label, { exact: typeof label === 'string' });
  const press = async (element: Locator): Promise<void> => {
    clicks += 1;
    await element.click();
  };
  return {
    start: async (address) => {
      await page.goto(address);
    },
    click: (role, name) => press(find(role, name)),
    unfold: (summary) => press(page.getByText(summary, { exact: true })),
    choose: async (label, value) => {
      clicks += 1;
      await find('combobox', label).selectOption(value);
    },
    chooseFile: async (label, path) => {
      clicks += 1;
      await field(label).setInputFiles(path);
    },
    colour: async (label, value) => {
      clicks += 1;
      await field(label).first().fill(value);
    },
    fill: (label, text) => field(label).fill(text),
    download: async (role, name) => {
      const saving = page.waitForEvent('download', { timeout: 60_000 });
      await press(find(role, name).first());
      return saving;
    },
    openTab: async (role, name) => {
      const opening = page.context().waitForEvent('page');
      await press(find(role, name));
      page = await opening;
      return page;
    },
    copy: async (label) => {
      await press(field(label));
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.press('ControlOrMeta+C');
      return field(label).evaluate(({ value, selectionStart, selectionEnd }: HTMLTextAreaElement) =>
        value.slice(selectionStart, selectionEnd),
      );
    },
    goOn: (next) => {
      page = next;
    },
    sees: (text) => expect(page.getByText(text).first()).toBeVisible(),
    isAt: (heading) => expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible(),
    end: (limit) => {
      test.info().annotations.push({ type: CLICKS, description: `${title}: ${clicks} of at most ${limit} clicks` });
      expect(clicks, `${title} takes at most ${limit} clicks`).toBeLessThanOrEqual(limit);
    },
  };
};
