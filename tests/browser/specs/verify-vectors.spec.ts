import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Page } from '@playwright/test';
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

/** Enters a proof, and returns the verdict, in one step: `verify.spec.ts` does it as people do, in many. */
const verdictOf = (page: Page, vector: Vector): Promise<{ heading: string | null; shown: (string | null)[] }> =>
  page.evaluate(async ({ proof, policy, against }) => {
    const [file, key, kept] = ['file', 'key', 'kept'].map((id) => document.getElementById(id) as HTMLInputElement);
    const verdict = document.getElementById('verdict')!;
    const choose = (...files: File[]): void => {
      const transfer = new DataTransfer();
      for (const chosen of files) transfer.items.add(chosen);
      file.files = transfer.files;
      file.dispatchEvent(new Event('input', { bubbles: true }));
    };
    choose();
    if (verdict.firstChild) throw new Error('there is a verdict on no file');
    key.value = policy;
    kept.value = against ?? '';
    const changed = new Promise<void>((done) => {
      const observer = new MutationObserver(() => {
        observer.disconnect();
        done();
      });
      observer.observe(verdict, { childList: true });
    });
    choose(new File([proof], 'proof.json', { type: 'application/json' }));
    await changed;
    const shown = [...verdict.querySelectorAll('li')].map(({ textContent }) => textContent);
    return { heading: verdict.querySelector('h2')!.textContent, shown };
  }, vector);

test('the page and the program give the same verdict on every proof in the table', async ({ page }) => {
  // A slow machine needs more than the usual time for so many proofs.
  test.setTimeout(300_000);
  const table = await readFile(join(root, 'tests/snapshots/proof_vectors.json'), 'utf8');
  const vectors = JSON.parse(table) as Vector[];
  expect(vectors.length).toBeGreaterThan(100);
  await page.goto(pathToFileURL(join(root, 'src/web/verify.html')).href);
  const wrong: string[] = [];
  for (const vector of vectors) {
    const { name, valid, sentences } = vector;
    const { heading, shown } = await verdictOf(page, vector);
    const expected = valid ? 'Proof valid' : 'The proof is broken';
    if (heading !== expected || JSON.stringify(shown) !== JSON.stringify(sentences)) {
      wrong.push(`${name}\n  ${JSON.stringify(sentences)}\n  ${heading}: ${JSON.stringify(shown)}`);
    }
  }
  expect(wrong).toEqual([]);
});
