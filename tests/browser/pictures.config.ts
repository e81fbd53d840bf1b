import { defineConfig } from '@playwright/test';
import tests from './playwright.config';

/** Makes the pictures of the documents; no test. */
export default defineConfig({ ...tests, testDir: './pictures', projects: [{ name: 'chromium', use: { browserName: 'chromium' } }], retries: 0, workers: 1 });
