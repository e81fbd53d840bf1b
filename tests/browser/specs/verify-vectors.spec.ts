import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '../support/fixtures';

/** A proof file, the trusted policy, and the program's verdict (`tests/transparency_log/proof_vectors.rs`). */
interface Vector {
  name: string;
  proof: string;
  policy: string;
  against: string | null;
  valid: boolean;
  sentences: string[];
}

const root = join(__dirname, '../../..');

test('the page and the program give the same verdict on every proof in the table', async ({ page }) => {
  // A slow machine needs more than the usual time for so many proofs.
  test.setTimeout(300_000);
  const table = await readFile(join(root, 'tests/snapshots/proof_vectors.json'), 'utf8');
  const vectors = JSON.parse(table) as Vector[];
  expect(vectors.length).toBeGreaterThan(100);
  await page.goto(pathToFileURL(join(root, 'src/web/verify.html')).href);
  await page.getByText('I have an earlier checkpoint').click();
  const verdict = page.locator('#verdict');
  const wrong: string[] = [];
  for (const { name, proof, policy, against, valid, sentences } of vectors) {
    await page.getByLabel('Proof file').setInputFiles([]);
    await page.getByLabel('Log public key').fill(policy);
    await page.getByLabel('Checkpoint').fill(against ?? '');
    await expect(verdict).toBeEmpty();
    const file = { name: 'proof.json', mimeType: 'application/json', buffer: Buffer.from(proof) };
    await page.getByLabel('Proof file').setInputFiles(file);
    await expect(verdict).not.toBeEmpty();
    const heading = await verdict.getByRole('heading').textContent();
    const shown = await verdict.getByRole('listitem').allTextContents();
    const expected = valid ? 'Proof valid' : 'The proof is broken';
    if (heading !== expected || JSON.stringify(shown) !== JSON.stringify(sentences)) {
      wrong.push(`${name}\n  ${JSON.stringify(sentences)}\n  ${heading}: ${JSON.stringify(shown)}`);
    }
  }
  expect(wrong).toEqual([]);
});
