// The official conformance suite of MCP, the official TypeScript client, and what agents find in the documents
// (afdocs), against a running service.
//
//     scripts/with-postgres tests/conformance/node_modules/.bin/node tests/conformance/run.mjs target/debug/assent

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { authorizes } from "./authorization.mjs";
import { connects } from "./client.mjs";
import { documents } from "./documents.mjs";
import { Person, Service, freePort } from "./service.mjs";

const SUITE = resolve(import.meta.dirname, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

// Scenarios that call tools, prompts or resources of a sample server, or need what the service does not offer.
const SAMPLE = "calls what only the sample server of the suite has";
const STREAMS = "needs a stream from the server to the client; every answer here is one JSON document";
const EXTENSION = "an extension that the service does not offer";
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
  "http-custom-header-server-validation": "no tool has an argument that is sent as a header",
  ...excused("tasks-", EXTENSION, "lifecycle capability-negotiation wire-fields request-state-removal mrtr-input"),
  ...excused("tasks-", EXTENSION, "request-headers dispatch-and-envelope status-notifications required-task-error mrtr-composition"),
  ...excused("sep-2640-skills-", EXTENSION, "directory enumeration manifest"),
  ...excused("input-required-result-", SAMPLE, "basic-elicitation basic-sampling basic-list-roots request-state"),
  ...excused("input-required-result-", SAMPLE, "multiple-input-requests multi-round missing-input-response non-tool-request"),
  ...excused("input-required-result-", SAMPLE, "result-type tampered-state capability-check ignore-extra-params validate-input"),
};

// Checks of other scenarios that call a tool of the sample server.
const EXCUSED_CHECKS = [
  "sep-2575-server-rejects-undeclared-capability",
  "sep-2575-missing-capability-http-400",
  "sep-2575-http-server-no-independent-requests-on-stream",
  "sep-2575-server-no-log-without-loglevel",
];

function excused(start, reason, names) {
  return Object.fromEntries(names.split(" ").map((name) => [start + name, reason]));
}

// Each scenario is a program of its own.
const AT_ONCE = 4;

const run = promisify(execFile);

async function scenarios() {
  const { stdout } = await run(process.execPath, [SUITE, "list"]);
  const [, servers] = /^Server scenarios[^\n]*\n([^]*?)\n\n/m.exec(stdout);
  return [...servers.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
}

async function conforms(service, name, folder) {
  const options = ["server", "--url", `${service.base}/mcp`, "--scenario", name];
  try {
    await run(process.execPath, [SUITE, ...options], { cwd: folder, timeout: 60_000 });
    return undefined;
  } catch (error) {
    const said = `${error.stdout ?? ""}${error.stderr ?? ""}`;
    const checks = [...said.matchAll(/\[(\S+) *\] \S*FAILURE/g)].map(([, check]) => check);
    const isExcused = checks.length > 0 && checks.every((check) => EXCUSED_CHECKS.includes(check));
    return isExcused ? undefined : `${name}: ${error.message}\n${said}`;
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
  const left = [...named];
  const work = async () => {
    while (left.length > 0) failed.push(await conforms(service, left.shift(), folder));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await authorizes(service, new Person(service, await service.account("bob")), SUITE, await freePort(), folder)
    .catch((error) => failed.push(`authorization: ${error.stack}`));
  await documents(service).catch((error) => failed.push(error.stack));
  const people = [[new Person(service, await service.account("ann")), "new.example"], [new Person(service), "first.example"]];
  for (const [person, domain] of people) {
    await connects(service, person, domain).catch((error) => {
      failed.push(`the official TypeScript client: ${error.stack}`);
    });
  }
} finally {
  await service.stop();
  await rm(folder, { recursive: true });
}
if (failed.some(Boolean)) {
  console.error(failed.filter(Boolean).join("\n"));
  process.exit(1);
}
