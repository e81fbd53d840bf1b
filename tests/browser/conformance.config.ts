import { defineConfig } from '@playwright/test';
import tests from './playwright.config';

/** The applications of `packages/web/apps`, each with the same tests. */
export default defineConfig({
  ...tests,
  testDir: './conformance',
  globalSetup: './conformance/setup.ts',
  projects: [{ name: 'chromium', use: { browserName: 'chromium' } }],
});
