import { existsSync } from 'node:fs';
import { defineConfig, Project } from '@playwright/test';

/** Debian's Firefox, spoken to in WebDriver BiDi; used where it is installed. */
const firefox = process.env.FIREFOX || '/usr/bin/firefox-esr';

const projects: Project[] = [{ name: 'chromium', use: { browserName: 'chromium' } }];
if (existsSync(firefox)) {
  projects.push({
    name: 'firefox',
    use: { browserName: 'firefox', channel: 'moz-firefox' },
    testMatch: /\/(story|gate|csp|accessibility|late|tabs|hostile-\w+)\.spec\.ts/,
    // The variants of the look are Chromium's.
    grepInvert: /in (rtl|dark|forced-colours|forced-colours-dark|phone|320px|zoom-400) /,
  });
}

export default defineConfig({
  testDir: './specs',
  outputDir: './test-results',
  globalSetup: './support/global-setup.ts',
  fullyParallel: true,
  workers: 2,
  // A CI machine may be busy with other things for a moment; a test that needed this is reported as flaky.
  retries: process.env.CI ? 1 : 0,
  forbidOnly: true,
  // Such a moment has lasted ten seconds and more; only what fails takes this long.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: [['list']],
  projects,
  use: { viewport: { width: 1280, height: 800 }, locale: 'en-GB' },
});
