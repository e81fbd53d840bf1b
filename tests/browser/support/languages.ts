import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

/** The languages of the scripts, as their files are named. */
export const LANGUAGES = readdirSync(resolve(__dirname, '../../../scripts-src/locales')).map((file) => file.replace('.json', ''));
