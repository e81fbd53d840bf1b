// The service on a database of its own, and a person with a browser.

import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

export class Service {
  static async start(binary) {
    const service = new Service();
    service.server = process.env.DATABASE_URL;
    service.database = `conformance_${randomUUID().replaceAll("-", "")}`;
    service.sql(`CREATE DATABASE "${service.database}"`);
    const [head, query] = service.server.split("?");
    const url = `${head.slice(0, head.lastIndexOf("/"))}/${service.database}${query ? `?${query}` : ""}`;
    const port = await freePort();
    service.base = `http://localhost:${port}`;
    service.process = spawn(binary, ["serve"], {
      stdio: "ignore",
      env: {
        PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: url, ROCKET_ADDRESS: "127.0.0.1",
        ROCKET_PORT: String(port), BASE_URL: service.base, RATE_LIMITS: "off",
        RECEIPT_SECRETS: "conformance-tests-only-0123456789abcdef0123456789abcdef",
      },
    });
    for (let tries = 0; tries < 600; tries += 1) {
      const answer = await fetch(`${service.base}/healthz`).catch(() => undefined);
      if (answer?.ok) return service;
      if (service.process.exitCode !== null) break;
      await sleep(100);
    }
    await service.stop();
    throw new Error("the service did not start");
  }

  sql(statement) {
    execFileSync("psql", [this.server, "--quiet", "--no-psqlrc", "--command", statement]);
  }

  async stop() {
    if (this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once("exit", resolve));
      this.process.kill("SIGTERM");
      await Promise.race([ended, sleep(10_000).then(() => this.process.kill("SIGKILL"))]);
    }
    this.sql(`DROP DATABASE "${this.database}" WITH (FORCE)`);
  }

  async post(path, body, headers = {}) {
    const answer = await fetch(this.base + path, {
      method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers },
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  // An account with a key and a site.
  async account(name) {
    const opened = await this.post("/v1/accounts", { email: `${name}@example.com`, display_name: name });
    await fetch(opened.verification_url);
    const token = { "x-signup-token": opened.signup_token };
    const { api_key: key } = await this.post(`/v1/api-keys?account_id=${opened.account_id}`, {}, token);
    await this.post("/v1/pixels", { domain: `${name}.example` }, { authorization: `Bearer ${key}` });
    return { key, accountId: opened.account_id };
  }
}

export class Person {
  // Without an account, the person signs up on the way.
  constructor(service, account) {
    Object.assign(this, { service, account });
    this.asked = [];
    this.steps = [];
  }

  async form(path, fields) {
    const headers = { origin: this.service.base, cookie: this.cookie ?? "" };
    const body = new URLSearchParams(fields);
    return fetch(this.service.base + path, { method: "POST", body, headers, redirect: "manual" });
  }

  async signIn(next) {
    const answer = this.account
      ? await this.form("/console/sign-in/key", { api_key: this.account.key })
      : await this.form("/console/sign-up", { email: "new@example.com", display_name: "New", next });
    if (answer.status !== 303) throw new Error(`no session: ${answer.status} ${await answer.text()}`);
    this.steps.push(this.account ? "signs in" : `signs up, and is led to ${answer.headers.get("location").split("?")[0]}`);
    this.cookie = answer.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ");
  }

  // Opens the page, allows what it proposes, and returns the parameters that the app gets.
  async allow(address) {
    this.asked.push(Object.fromEntries(address.searchParams));
    if (!this.cookie) {
      const asked = await fetch(address, { headers: { accept: "text/html" }, redirect: "manual" });
      this.steps.push(`opens the page, and is led to ${asked.headers.get("location").split("?")[0]}`);
      await this.signIn(address.pathname + address.search);
    }
    const opened = await fetch(address, { headers: { cookie: this.cookie, accept: "text/html" } });
    const page = await opened.text();
    const token = /name="form_token" value="([^"]+)"/.exec(page)?.[1];
    const scope = /name="scope" value="([^"]+)" checked/.exec(page)?.[1];
    if (!token || !scope) throw new Error(`no form: ${opened.status} ${page}`);
    const account = /acc_[A-Za-z0-9]+/.exec(page)[0];
    const request = address.search.slice(1);
    const answer = await this.form("/oauth/authorize", {
      form_token: token, request, scope, account_id: account, answer: "allow",
    });
    this.steps.push(`allows ${scope}`);
    this.sentTo = new URL(answer.headers.get("location"));
    return this.sentTo.searchParams;
  }

  // Allows, and follows the browser to the app.
  async arrive(address) {
    await this.allow(address);
    await fetch(this.sentTo);
  }
}
