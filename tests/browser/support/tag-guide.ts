import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const GUIDE = readFileSync(resolve(__dirname, '../../../docs/tag.md'), 'utf8');

interface Example {
  /** Empty for a block without a language. */
  language: string;
  text: string;
}

/** The title and the examples of every section of the guide to the tag. */
const ALL: [title: string, examples: Example[]][] = GUIDE.split(/^## /m)
  .slice(1)
  .map((part) => {
    const blocks = [...part.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
    return [part.split('\n')[0], blocks.map(([, language, text]) => ({ language, text }))];
  });

/** The titles of all sections. */
export const SECTIONS = ALL.map(([title]) => title);

/** The languages of the examples of every section that has some. */
export const LANGUAGES_OF_EXAMPLES = Object.fromEntries(
  ALL.filter(([, examples]) => examples[0]).map(([title, examples]) => [title, examples.map(({ language }) => language)]),
);

/** A text of the guide with the address of the service and the id of a pixel. */
const adapted = (text: string, base: string, pixel: string): string =>
  text.replaceAll('https://consent.example.com', base).replaceAll('PIXEL_ID', pixel);

/** The examples of a section in a language, with a pixel's own address and id. */
export const examplesOf = (section: string, base: string, pixel: string, language = 'html'): string[] => {
  const found = ALL.find(([title]) => title === section);
  if (!found) throw new Error(`the guide has no section “${section}”`);
  return found[1].filter((example) => example.language === language).map(({ text }) => adapted(text, base, pixel));
};

/** The whole guide, with a pixel's own address and id. */
export const guideFor = (base: string, pixel: string): string => adapted(GUIDE, base, pixel);
