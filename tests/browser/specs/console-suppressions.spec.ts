import { createHash } from 'node:crypto';
import { Page } from '@playwright/test';
import { chromiumOnly, LACKS } from '../support/browsers';
import { expect, test } from '../support/fixtures';
import { addSite, freshHost, expectAccessible, TIMEOUT_MS, signUp, watchProblems } from '../support/console';
import { requestsWith } from '../support/requests';

const hash = (address: string): string => createHash('sha256').update(address).digest('hex');

test('a person is suppressed by an address that is not sent', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await signUp(page);
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('link', { name: 'Suppression list' }).click();
  await expect(page.getByText('The list is empty.')).toBeVisible();
  await expectAccessible(page, 'suppressed-empty');
  const name = `Bob-${freshHost()}`;
  await page.getByLabel('Email address').fill(` ${name}@Shop.example `);
  await page.getByRole('button', { name: 'Find' }).click();
  await expect(page.getByText('on none of your sites')).toBeVisible();
  const digest = hash(`${name}@shop.example`.toLowerCase());
  expect(page.url()).toContain(digest);
  expect(await requestsWith(digest)).not.toEqual([]);
  expect(await requestsWith(name)).toEqual([]);
  await expectAccessible(page, 'suppressed-person');
  await expect(page.getByLabel('Type NEVER to confirm'), 'nothing is erased').toBeHidden();
  await page.getByRole('button', { name: 'Block this person' }).click();
  await expect(page.getByRole('status')).toContainText('The person is erased and suppressed');
  await page.getByRole('row', { name: /named here/ }).getByRole('link').click();
  await page.getByRole('button', { name: 'Remove from the list' }).click();
  await expect(page.getByText('The list is empty.')).toBeVisible();
  expect(problems).toEqual([]);
});

/** Sends a list of 120 people and an invalid line, and waits until it was processed. */
const sendList = async (page: Page): Promise<void> => {
  await signUp(page);
  const host = await addSite(page);
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.getByRole('link', { name: 'Suppression list' }).click();
  const people = Array.from({ length: 120 }, (_, number) => hash(`${number}@${host}`));
  const list = Buffer.from(`hem\n${people.join('\n')}\nnobody\n`);
  await page.getByLabel('Type NEVER to confirm').fill('never');
  await page.getByLabel('File with hashes').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: list });
  await page.getByRole('button', { name: 'Import suppression list' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('A list of people');
  // The page updates itself.
  await expect(page.getByRole('status')).toContainText('The import is complete', { timeout: 60_000 });
};

test('a list is imported from a file, and the page shows the progress', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const problems = watchProblems(page);
  await sendList(page);
  await expectAccessible(page, 'import');
  await page.getByRole('link', { name: 'Back to the list' }).click();
  await expect(page.getByRole('link', { name: 'More people' })).toBeVisible();
  await expect(page.getByRole('row', { name: /done 121 120 0/ })).toBeVisible();
  await expectAccessible(page, 'suppressed');
  expect(problems).toEqual([]);
});

test.describe('without scripts', chromiumOnly(LACKS.scriptSwitch), () => {
  test.use({ javaScriptEnabled: false });

  test('a list can be imported too', async ({ page }) => {
    test.setTimeout(TIMEOUT_MS);
    await sendList(page);
  });
});
