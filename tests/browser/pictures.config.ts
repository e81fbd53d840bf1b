import { defineConfig } from '@playwright/test';
import tests from './playwright.config';

/** Takes the pictures of the documents. Not a test. */
export default defineConfig({ ...tests, testDir: './pictures', projects: [{ name: 'chromium', use: { browserName: 'chromium' } }], retries: 0, workers: 1 });
