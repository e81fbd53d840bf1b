import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: './specs',
  outputDir: './test-results',
  globalSetup: './support/global-setup.ts',
  fullyParallel: true,
  workers: 2,
  retries: 0,
  forbidOnly: true,
  timeout: 20_000,
  expect: { timeout: 5_000 },
  reporter: [['list']],
  use: { browserName: 'chromium', viewport: { width: 1280, height: 800 }, locale: 'en-GB' },
});
