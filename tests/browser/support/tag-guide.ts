import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const GUIDE = readFileSync(resolve(__dirname, '../../../docs/tag.md'), 'utf8');

/** The HTML examples of a section of the guide to the tag, with a pixel's own address and id. */
export const examplesOf = (section: string, base: string, pixel: string): string[] => {
  const text = GUIDE.split(/^## /m).find((part) => part.startsWith(`${section}\n`));
  if (!text) throw new Error(`the guide has no section “${section}”`);
  const blocks = [...text.matchAll(/^```html\n(.*?)^```$/gms)].map(([, block]) => block);
  return blocks.map((block) => block.replaceAll('https://consent.example.com', base).replaceAll('PIXEL_ID', pixel));
};

/** The titles of all sections. */
export const SECTIONS = [...GUIDE.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
