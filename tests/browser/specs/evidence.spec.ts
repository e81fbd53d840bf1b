import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Locator, Page } from '@playwright/test';
import { isFirefox } from '../support/browsers';
import { expectAccessible } from '../support/console';
import { createDatabase } from '../support/database';
import { accessibilityProblems, expect, screenshot, test } from '../support/fixtures';
import { configureConsent, createPixel, PLAIN_POLICY } from '../support/integrator';
import { signIn } from '../support/sample-data';
import { LOG_KEY, startService } from '../support/service';

/** Saves the file behind a link. Playwright cannot read the downloads of Firefox, so there the page requests it. */
const save = async (page: Page, link: Locator, path: string): Promise<void> => {
  if (isFirefox(page)) {
    const bytes = await link.evaluate(async (element) => {
      const answer = await fetch((element as HTMLAnchorElement).href);
      return Array.from(new Uint8Array(await answer.arrayBuffer()));
    });
    return writeFile(path, Buffer.from(bytes));
  }
  const downloading = page.waitForEvent('download');
  await link.click();
  await (await downloading).saveAs(path);
};

test('an owner downloads the evidence of a choice, and it is checked without a network', async ({ page, context }) => {
  test.setTimeout(180_000);
  const database = await createDatabase();
  const service = await startService({ databaseUrl: database.url, cdnBase: 'http://127.0.0.1:9', more: { LOG_KEY } });
  try {
    const { base } = service;
    const pixel = await createPixel(base, 'evidence.example');
    const policy = await configureConsent(base, pixel, PLAIN_POLICY);
    const choice = {
      pixel_id: pixel.id,
      visitor_id: 'v-1',
      url: `https://${pixel.host}/`,
      consent: 'accepted',
      affirmative: true,
      policy_version_hash: policy.policy_hash,
      purposes: ['analytics', 'resolution'],
      shown: { language: 'de' },
    };
    await fetch(`${base}/v1/consent/record`, { method: 'POST', body: JSON.stringify(choice) });
    const contact = { hem: 'ab'.repeat(32), contact: { email: 'ann@example.com' }, visitor_id: 'v-1' };
    const stored = await fetch(`${base}/v1/pixels/${pixel.id}/contacts`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${pixel.key}` },
      body: JSON.stringify({ contacts: [contact] }),
    });
    expect(stored.ok).toBe(true);
    const proof = `${base}/v1/consent/proof?pixel_id=${pixel.id}&visitor_id=v-1`;
    await expect.poll(async () => (await fetch(proof)).status, { timeout: 90_000 }).toBe(200);

    await signIn(page, { base, pixel });
    await page.goto(`${base}/console/sites/${pixel.id}/contacts/find?hem=${contact.hem}`);
    await expectAccessible(page, 'person-linked');
    await page.getByRole('link', { name: 'The choice under which the person is stored' }).click();
    await expect(page.getByRole('link', { name: 'ann@example.com' })).toBeVisible();
    await expectAccessible(page, 'choice-linked');
    const folder = await mkdtemp(join(tmpdir(), 'assent-evidence-'));
    const zip = join(folder, 'evidence.zip');
    await save(page, page.getByRole('link', { name: 'Download evidence (ZIP)' }), zip);
    execFileSync('python3', ['-m', 'zipfile', '-e', zip, folder]);
    expect(await readFile(join(folder, 'README.txt'), 'utf8')).toContain('HOW TO CHECK');

    // Playwright cannot switch off the network of Firefox.
    if (!isFirefox(page)) await context.setOffline(true);
    await page.goto(pathToFileURL(join(folder, 'evidence.html')).href);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Evidence of a choice on evidence.example');
    await expect(page.getByText('ann@example.com')).toBeVisible();
    expect(await accessibilityProblems(page)).toEqual([]);
    await screenshot(page, 'evidence');
    await page.goto(pathToFileURL(join(folder, 'verify.html')).href);
    const verdict = page.locator('#verdict');
    const key = (await readFile(join(folder, 'log-key.txt'), 'utf8')).trim();
    for (const [name, heading] of [
      ['evidence.zip', 'Consistent: now compare the key'],
      ['proof.json', 'Consistent: now compare the key'],
      ['receipt.json', 'This is a receipt, not a proof'],
      ['log-key.txt', 'This is the public key of a log'],
      ['evidence.html', 'This is a page of the evidence'],
      ['README.txt', 'This is a page of the evidence'],
    ]) {
      await page.getByLabel('Proof file').setInputFiles(join(folder, name!));
      await expect(verdict.getByRole('heading')).toHaveText(heading!);
      if (name === 'evidence.zip') await expect(verdict).toContainText(key);
    }
    await page.getByLabel('Proof file').setInputFiles(zip);
    await page.getByLabel('Log public key').fill(key);
    await expect(verdict.getByRole('heading')).toHaveText('Proof valid');
    expect(await accessibilityProblems(page)).toEqual([]);
    await screenshot(page, 'evidence-verified');

    await expect(verdict).toContainText('README.txt, evidence.html and pictures are for reading');
    const altered = async (name: string, change: (text: string) => string): Promise<string> => {
      const text = await readFile(join(folder, name), 'utf8');
      expect(change(text)).not.toBe(text);
      await writeFile(join(folder, 'altered', name), change(text));
      const path = join(folder, `altered-${name}.zip`);
      execFileSync('python3', ['-m', 'zipfile', '-c', path, join(folder, 'altered') + '/']);
      await writeFile(join(folder, 'altered', name), text);
      return path;
    };
    execFileSync('python3', ['-m', 'zipfile', '-e', zip, join(folder, 'altered')]);
    const refusal = await altered('receipt.json', (text) => text.replace('"accepted"', '"declined"'));
    await page.getByLabel('Proof file').setInputFiles(refusal);
    await expect(verdict.getByRole('heading')).toHaveText('The proof is broken');
    await expect(verdict).toContainText('receipt.json in the ZIP does not fit');
    const otherKey = await altered('log-key.txt', (text) => text.replace(/.\n$/, '\n'));
    await page.getByLabel('Proof file').setInputFiles(otherKey);
    await expect(verdict.getByRole('heading')).toHaveText('Proof valid');
    await expect(verdict).toContainText('log-key.txt in the ZIP is not the key that you entered');
  } finally {
    await service.stop();
    await database.drop();
  }
});
