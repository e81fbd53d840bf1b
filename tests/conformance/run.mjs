// The official conformance suite of MCP, and the official TypeScript client, against a running service.
//
//     scripts/with-postgres tests/conformance/node_modules/.bin/node tests/conformance/run.mjs target/debug/assent

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { connects } from "./client.mjs";
import { Person, Service } from "./service.mjs";

const SUITE = resolve(import.meta.dirname, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

// Scenarios that call tools, prompts or resources of a sample server, or need what the service does not offer.
const SAMPLE = "calls what only the sample server of the suite has";
const STREAMS = "needs a stream from the server to the client; every answer here is one JSON document";
const EXCUSED = {
  "logging-set-level": "the service sends no log messages to clients",
  "completion-complete": "there is nothing to complete",
  "tools-call-simple-text": SAMPLE,
  "tools-call-image": SAMPLE,
  "tools-call-audio": SAMPLE,
  "tools-call-embedded-resource": SAMPLE,
  "tools-call-mixed-content": SAMPLE,
  "tools-call-error": SAMPLE,
  "json-schema-2020-12": SAMPLE,
  "resources-read-text": SAMPLE,
  "resources-read-binary": SAMPLE,
  "resources-templates-read": SAMPLE,
  "prompts-get-simple": SAMPLE,
  "prompts-get-with-args": SAMPLE,
  "prompts-get-embedded-resource": SAMPLE,
  "prompts-get-with-image": SAMPLE,
  "resources-subscribe": "resources change only with the program",
  "resources-unsubscribe": "resources change only with the program",
  "tools-call-with-logging": STREAMS,
  "tools-call-with-progress": STREAMS,
  "tools-call-sampling": STREAMS,
  "tools-call-elicitation": STREAMS,
  "elicitation-sep1034-defaults": STREAMS,
  "elicitation-sep1330-enums": STREAMS,
  "server-sse-polling": STREAMS,
  "server-sse-multiple-streams": STREAMS,
};

const run = promisify(execFile);

async function scenarios() {
  const { stdout } = await run(process.execPath, [SUITE, "list"]);
  const [, servers] = /Server scenarios[^\n]*\n([^]*?)\n\n/.exec(stdout);
  return [...servers.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
}

async function conforms(service, name, folder) {
  const options = ["server", "--url", `${service.base}/mcp`, "--scenario", name];
  try {
    await run(process.execPath, [SUITE, ...options], { cwd: folder, timeout: 60_000 });
    return undefined;
  } catch (error) {
    return `${name}:\n${error.stdout ?? ""}${error.stderr ?? ""}`;
  }
}

const service = await Service.start(resolve(process.argv[2]));
const folder = await mkdtemp(join(tmpdir(), "conformance-"));
const failed = [];
try {
  const all = await scenarios();
  const unknown = Object.keys(EXCUSED).filter((name) => !all.includes(name));
  if (unknown.length > 0) failed.push(`excused, but not in the suite: ${unknown}`);
  const named = all.filter((name) => !(name in EXCUSED));
  console.log(`  ${named.length} scenarios, ${Object.keys(EXCUSED).length} excused`);
  const results = await Promise.all(named.map((name) => conforms(service, name, folder)));
  failed.push(...results.filter(Boolean));
  await connects(service, new Person(service, await service.account())).catch((error) => {
    failed.push(`the official TypeScript client: ${error.stack}`);
  });
} finally {
  await service.stop();
  await rm(folder, { recursive: true });
}
if (failed.length > 0) {
  console.error(failed.join("\n"));
  process.exit(1);
}
