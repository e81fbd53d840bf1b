// The suite's scenarios for authorization servers. It is the app; the person opens the address that it prints.

import { spawn } from "node:child_process";

export async function authorizes(service, person, suite, port, folder) {
  const client = await service.post("/oauth/register", { redirect_uris: [`http://127.0.0.1:${port}/callback`] });
  const app = spawn(process.execPath, [
    suite, "authorization", "--url", service.base, "--client-id", client.client_id,
    "--resource", `${service.base}/mcp`, "--port", String(port),
  ], { cwd: folder });
  let said = "";
  let opened;
  app.stdout.on("data", (text) => {
    said += text;
    const address = new RegExp(`${service.base}/oauth/authorize\\S+(?=\\n)`).exec(said)?.[0];
    if (address && !opened) opened = person.arrive(new URL(address)).catch((error) => (said += error.stack));
  });
  app.stderr.on("data", (text) => (said += text));
  const ending = setTimeout(() => app.kill(), 60_000);
  const status = await new Promise((resolve) => app.once("exit", resolve));
  clearTimeout(ending);
  await opened;
  if (status !== 0 || !said.includes("✓ authorization-code-grant: 1 passed, 0 failed")) throw new Error(said);
  console.log("  the scenarios for authorization servers pass");
}
