import { existsSync } from 'node:fs';
import { defineConfig, Project } from '@playwright/test';
import { FIREFOX_SKIPS, QUICK_FIREFOX_LEAVES_OUT } from './support/browsers';

/** Debian's Firefox, controlled by WebDriver BiDi. It is used where it is installed. */
const firefox = process.env.FIREFOX || '/usr/bin/firefox-esr';

const projects: Project[] = [{ name: 'chromium', use: { browserName: 'chromium' } }];
if (existsSync(firefox)) {
  projects.push({
    name: 'firefox',
    use: { browserName: 'firefox', channel: 'moz-firefox' },
    grepInvert: FIREFOX_SKIPS,
    testIgnore: process.env.QUICK_FIREFOX ? QUICK_FIREFOX_LEAVES_OUT : [],
  });
}

export default defineConfig({
  testDir: './specs',
  outputDir: './test-results',
  globalSetup: './support/global-setup.ts',
  fullyParallel: true,
  workers: 2,
  // A CI machine may be busy for a moment. A test that needed a retry is reported as flaky.
  retries: process.env.CI ? 1 : 0,
  forbidOnly: true,
  // Such a moment has lasted ten seconds and more. Only failing tests take this long.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  // The names of failed tests stand at the end.
  reporter: [['./support/clicks-reporter.ts'], ['list']],
  projects,
  use: { viewport: { width: 1280, height: 800 }, locale: 'en-GB' },
});
