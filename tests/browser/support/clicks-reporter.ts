import type { Reporter, TestCase, TestResult } from '@playwright/test/reporter';

/** The annotations of a test with the clicks that a person's task took. */
export const CLICKS = 'clicks';

/** Prints the clicks of the tasks after the tests, in the order of their numbers. */
export default class ClicksReporter implements Reporter {
  private readonly lines = new Set<string>();

  onTestEnd(test: TestCase, { annotations, status }: TestResult): void {
    const browser = test.parent.project()?.name ?? '';
    for (const { type, description } of annotations) {
      if (type === CLICKS) this.lines.add(`${description} (${browser}${status === 'passed' ? '' : `, ${status}`})`);
    }
  }

  onEnd(): void {
    const numeric = new Intl.Collator('en', { numeric: true });
    const lines = [...this.lines].sort(numeric.compare);
    if (lines.length > 0) console.log(`\nClicks by task\n${lines.map((line) => `  ${line}\n`).join('')}`);
  }

  printsToStdio(): boolean {
    return false;
  }
}
