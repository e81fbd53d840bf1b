import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@playwright/test';
import { CHROMIUM_ONLY, chromiumOnly, LACKS } from '../support/browsers';

interface Suite {
  title: string;
  suites?: Suite[];
  specs: { title: string; file: string; tests: { annotations: { type: string; description?: string }[] }[] }[];
}

const specsOf = (suite: Suite, titles = ''): { name: string; reasons: string[] }[] => [
  ...suite.specs.map(({ file, title, tests }) => ({
    name: `${file}: ${titles} ${title}`,
    reasons: tests.flatMap(({ annotations }) =>
      annotations.filter(({ type }) => type === CHROMIUM_ONLY).map(({ description }) => description ?? ''),
    ),
  })),
  ...(suite.suites ?? []).flatMap((inner) => specsOf(inner, `${titles} ${inner.title}`)),
];

/** The tests of a project as Playwright lists them, with the reasons for running only in Chromium. */
const listed = async (project: string): Promise<Map<string, string[]>> => {
  const folder = resolve(__dirname, '..');
  const playwright = resolve(folder, 'node_modules/.bin/playwright');
  // Listing starts no browser, so any existing file makes the project `firefox` available.
  const env = { ...process.env, FIREFOX: process.execPath, QUICK_FIREFOX: '' };
  const list = ['test', '--list', '--reporter=json', `--project=${project}`];
  const { stdout } = await promisify(execFile)(playwright, list, { cwd: folder, env, maxBuffer: 1 << 26 });
  const { suites } = JSON.parse(stdout) as { suites: Suite[] };
  return new Map(suites.flatMap((suite) => specsOf(suite)).map(({ name, reasons }) => [name, reasons]));
};

test('every test runs in both browsers, or states the reason why it does not', chromiumOnly(LACKS.noPage), async () => {
  test.setTimeout(240_000);
  const [chromium, firefox] = [await listed('chromium'), await listed('firefox')];
  expect(chromium.size).toBeGreaterThan(300);
  const leftOut = [...chromium].filter(([name]) => !firefox.has(name));
  expect(leftOut.filter(([, reasons]) => !reasons.some((reason) => reason.length > 10))).toEqual([]);
  expect(firefox.size, 'most tests run in both').toBeGreaterThan(chromium.size / 2);
  expect([...firefox.keys()].filter((name) => !chromium.has(name))).toEqual([]);
});
