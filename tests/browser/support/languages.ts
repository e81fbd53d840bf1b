import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

/** Every language that the scripts speak, as its file is named. */
export const LANGUAGES = readdirSync(resolve(__dirname, '../../../scripts-src/locales')).map((file) => file.replace('.json', ''));
