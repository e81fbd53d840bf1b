// The official TypeScript client connects by the address alone.

import assert from "node:assert/strict";

import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

class Memory {
  constructor(person) {
    this.person = person;
  }
  get redirectUrl() {
    return "http://127.0.0.1:7272/callback";
  }
  get clientMetadata() {
    return {
      client_name: "Official TypeScript client", redirect_uris: [this.redirectUrl], token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
    };
  }
  state() {
    return "state-of-the-client";
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  invalidateCredentials(which) {
    if (which === "all" || which === "tokens") this.kept = undefined;
    if (which === "all" || which === "client") this.client = undefined;
  }
  async redirectToAuthorization(address) {
    this.answer = await this.person.allow(address);
  }
}

export async function connects(service, person, domain) {
  const memory = new Memory(person);
  const url = new URL(`${service.base}/mcp`);
  const transport = () => new StreamableHTTPClientTransport(url, { authProvider: memory });
  const client = new Client({ name: "assent-test", version: "1" });
  let current = transport();
  await client.connect(current);
  // Calls a tool; where the person is asked, with the answer of the person.
  const call = async (name, args = {}) => {
    const asked = person.asked.length;
    for (let tries = 0; ; tries += 1) {
      try {
        const result = await client.callTool({ name, arguments: args });
        assert.notEqual(result.isError, true, JSON.stringify(result));
        return { result, asked: person.asked.length - asked };
      } catch (error) {
        if (!(error instanceof UnauthorizedError) || tries > 0) throw error;
        assert.equal(memory.answer.get("iss"), service.base);
        assert.equal(memory.answer.get("state"), "state-of-the-client");
        await current.finishAuth(memory.answer.get("code"));
      }
    }
  };
  assert.equal((await call("list_plans")).asked, 0, "what needs no key needs no person");
  assert.equal((await call("list_pixels")).asked, 1);
  assert.equal(memory.kept.scope, "operate");
  assert.equal(person.asked[0].resource, url.href);
  assert.equal((await call("list_pixels")).asked, 0);
  assert.equal((await call("create_pixel", { domain })).asked, 0);
  assert.equal((await call("read_with", { tool: "list_members" })).asked, 1, "step-up");
  assert.equal(memory.kept.scope, "full");
  // As if the hour were over: the client refreshes after a 401.
  const former = memory.kept;
  memory.kept = { ...former, access_token: "oat_over" };
  assert.equal((await call("list_pixels")).asked, 0);
  assert.notEqual(memory.kept.refresh_token, former.refresh_token);
  await client.close();
  console.log(`  the official TypeScript client connects, steps up and refreshes; the person ${person.steps.join("; ")}`);
}
