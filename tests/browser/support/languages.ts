import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const FOLDER = resolve(__dirname, '../../../scripts-src/locales');

/** The languages of the scripts, as their files are named. */
export const LANGUAGES = readdirSync(FOLDER).map((file) => file.replace('.json', ''));

/** The part of a language's texts that tests read. */
interface Locale {
  lang: string;
  dir: 'ltr' | 'rtl';
  /** The texts of a placeholder. */
  frame: Record<'from' | 'why' | 'asks' | 'once' | 'always', string>;
  purposes: Record<string, { title: string; text: string }>;
}

export const localeOf = (language: string): Locale => JSON.parse(readFileSync(`${FOLDER}/${language}.json`, 'utf8'));
