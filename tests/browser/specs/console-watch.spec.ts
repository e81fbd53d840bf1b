import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Page } from '@playwright/test';
import { Client } from 'pg';
import { base, expectAccessible, TIMEOUT_MS } from '../support/console';
import { expect, test } from '../support/fixtures';
import { ENVIRONMENT } from '../support/global-setup';

const SAMPLE = readFileSync(resolve(__dirname, '../../../docs/samples/watch/report.json'), 'utf8');

/** Signs up with a site, and returns the id of its pixel. */
const addSite = async (page: Page): Promise<string> => {
  const name = `shop-${randomBytes(5).toString('hex')}`;
  await page.goto(`${base()}/console/sign-up`);
  await page.getByLabel('Your name').fill('Ann Lee');
  await page.getByLabel('Email address').fill(`ann@${name}.example`);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByLabel('Domain').fill(`${name}.invalid`);
  await page.getByRole('button', { name: 'Add site' }).click();
  await page.waitForURL(/\/console\/sites\/[^/]{20}\//);
  return new URL(page.url()).pathname.split('/')[3];
};

/** Stores the sample as reports of the site, because nothing watches it here. */
const storeReports = async (pixel: string, times: string[]): Promise<void> => {
  const client = new Client({ connectionString: process.env[ENVIRONMENT.databaseUrl] });
  await client.connect();
  for (const time of times) {
    const hash = createHash('sha256').update(pixel + time).digest();
    await client.query(
      `INSERT INTO watch_reports (pixel_id, report_id, received_at, made_at, verdict, leak_count, by_service, watcher, sha256, report, note)
       VALUES ($1, $2, $3, $3, 'leaks', 2, true, 'assent-watch+0', $4, $5, '')`,
      [pixel, randomUUID(), time, hash, SAMPLE],
    );
  }
  const known = "INSERT INTO watch_sites (pixel_id, host, verdict, reported_at) SELECT pixel_id, domain, 'leaks', $2 FROM pixels WHERE pixel_id = $1";
  await client.query(known, [pixel, times.at(-1)]);
  await client.end();
};

test('the history of the watch leads to the report of a day, and to the others of that day', async ({ page }) => {
  test.setTimeout(TIMEOUT_MS);
  const pixel = await addSite(page);
  await storeReports(pixel, ['2026-11-01T08:00:00Z', '2026-11-01T20:00:00Z', '2026-11-02T08:00:00Z']);
  await page.goto(`${base()}/console/sites/${pixel}/watch`);
  await expect(page.getByRole('table', { name: 'Leaks of the report' })).toContainText('statistics.example');
  await expectAccessible(page, 'watch');
  await page.getByRole('link', { name: '1 November 2026' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Report of 1 November 2026');
  await expect(page.getByRole('table', { name: 'Leaks of the report' })).toContainText('data-assent="analytics"');
  await expectAccessible(page, 'watch-report');
  await page.getByRole('table', { name: 'Reports of this day' }).getByRole('link').click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Report of 1 November 2026');
  await page.getByRole('link', { name: 'Newest report' }).click();
  await expect(page).toHaveURL(/\/watch$/);
});
