import { defineConfig } from '@playwright/test';
import tests from './playwright.config';

/** The plugin of `packages/wordpress` in Debian's WordPress. */
export default defineConfig({
  ...tests,
  testDir: './wordpress',
  globalSetup: './wordpress/setup.ts',
  projects: [{ name: 'chromium', use: { browserName: 'chromium' } }],
  workers: 1,
});
