// How well agents find and read the documents, as `afdocs` judges: 100 of 100, every check on all pages. The whole
// reference is for people, who search in it: `/docs` and `/llms.txt` lead programs to its parts.

import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";

const AFDOCS = resolve(import.meta.dirname, "node_modules/afdocs/bin/afdocs.mjs");
const OPTIONS = ["--format", "json", "--score", "--quiet", "--request-delay", "0", "--sampling", "deterministic", "--max-links", "1000"];

// The pages of a check that did not pass.
const failing = (details) => (details.pageResults ?? []).filter((page) => page.status === "warn" || page.status === "fail");

export async function documents(service) {
  const options = { timeout: 300_000, maxBuffer: 64 << 20 };
  const { stdout } = await promisify(execFile)(process.execPath, [AFDOCS, "check", service.base, ...OPTIONS], options)
    // It ends with 1 if any check fails.
    .catch((error) => error);
  const { results, scoring, testedPages } = JSON.parse(stdout);
  console.log(`  afdocs: ${scoring.overall} of 100, ${testedPages} pages`);
  for (const [name, { score }] of Object.entries(scoring.categoryScores)) console.log(`    ${name}: ${score}`);
  const wrong = results
    .filter(({ status }) => status !== "pass" && status !== "skip")
    .map(({ id, status, message, details }) => `${id}: ${status}: ${message}\n${JSON.stringify(failing(details))}`);
  if (scoring.overall < 100 || wrong.length > 0) throw new Error(`afdocs: ${scoring.overall} of 100\n${wrong.join("\n")}`);
}
