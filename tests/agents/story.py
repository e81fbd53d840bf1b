"""From signing up to a verified install and a receipt, with the official Python client.

    story.py MCP_URL EMAIL DOMAIN MODE

MODE is `auto` (the newest protocol the server speaks) or `legacy` (with the initialize handshake).
Where a person acts, a line is written to standard output and the answer read from standard input:
`CODE` asks for the six digits of the mail, `PASTE {snippet}` for pasting the snippet into the site,
`VISIT {policy_hash}` for a visitor who accepts. A transcript goes to standard error.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError


def person(request: str) -> str:
    print(request, flush=True)
    return sys.stdin.readline().strip()


def note(*words) -> None:
    print(*words, file=sys.stderr, flush=True)


class Agent:
    def __init__(self, client):
        self.client = client

    async def call(self, tool: str, **arguments):
        """A call that must succeed. The client checks the answer against the tool's schema."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (tool, result.content)
        assert json.loads(result.content[0].text) == result.structured_content, tool
        shown = json.dumps(result.structured_content)
        note(f"> {tool}({', '.join(arguments)})\n  {shown[:300]}{'…' if len(shown) > 300 else ''}")
        return result.structured_content

    async def refused(self, sentence: str, tool: str, **arguments):
        """A call that must be refused with this sentence, and the problem document behind it."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, (tool, result.structured_content)
        said = result.content[0].text
        # After the sentence it may say in brackets which arguments it is about.
        assert said == sentence or said.startswith(sentence + " ("), (tool, result.content)
        problem = json.loads(result.content[1].text)
        assert problem["type"].endswith("/docs/errors/" + problem["code"]), problem
        assert problem["request_id"] and isinstance(problem["status"], int), problem
        note(f"> {tool}({', '.join(arguments)})\n  refused: {sentence} ({problem['status']})")
        return problem

    async def challenged(self, tool: str, **arguments):
        """A call without a key, which is answered with 401, so that clients with OAuth sign in."""
        try:
            await self.client.call_tool(tool, arguments)
        except MCPError as error:
            note(f"> {tool}({', '.join(arguments)})\n  challenged: {error}")
        else:
            raise AssertionError(f"{tool} without a key")


async def meet(client) -> None:
    """What a client reads before it calls anything."""
    assert client.server_info.name == "assent", client.server_info
    assert "create_account" in client.instructions
    tools = (await client.list_tools()).tools
    note(f"{len(tools)} tools:", ", ".join(tool.name for tool in tools))
    for tool in tools:
        assert tool.description and tool.annotations, tool.name
        assert tool.input_schema["type"] == "object", tool.name
        assert tool.title and tool.output_schema is None, tool.name
    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["install_pixel"], prompts
    prompt = await client.get_prompt("install_pixel", {"domain": "prompted.example"})
    assert "prompted.example" in prompt.messages[0].content.text
    try:
        await client.get_prompt("install_pixel", {})
        raise AssertionError("a prompt without its domain")
    except MCPError as error:
        assert "domain is required" in str(error), error
    resources = (await client.list_resources()).resources
    guide = await client.read_resource(str(resources[0].uri))
    assert guide.contents[0].text.startswith("# Ten minutes"), guide
    assert guide.contents[0].mime_type == "text/markdown"


async def sign_up(agent, email: str) -> str:
    await agent.refused("invalid email", "create_account", email="nobody", display_name="Ann")
    opened = await agent.call("create_account", email=email, display_name="Ann")
    account, token = opened["account_id"], opened["signup_token"]
    await agent.refused(
        "email already registered", "create_account", email=email, display_name="Ann"
    )
    await agent.refused("signup token required", "show_account", account_id=account)
    status = await agent.call("show_account", account_id=account, signup_token=token)
    assert status["status"] == "pending_email", status
    await agent.refused(
        "account is not active", "issue_api_key", account_id=account, signup_token=token
    )
    await agent.refused(
        "invalid code", "confirm_by_code", account_id=account, code="000000", signup_token=token
    )
    code = person("CODE")
    confirmed = await agent.call(
        "confirm_by_code", account_id=account, code=code, signup_token=token
    )
    first = confirmed["api_key"]
    key = (await agent.call("issue_api_key", api_key=first))["api_key"]
    who = await agent.call("whoami", api_key=key)
    assert who["account_id"] == account and who["plan"] == "free", who
    quote = await agent.call("show_quote", api_key=key)
    assert quote["total_cents"] == 0, quote
    return key


async def install(agent, key: str, domain: str) -> tuple[str, str]:
    await agent.challenged("create_pixel", domain=domain)
    await agent.refused("invalid api key", "create_pixel", domain=domain, api_key="px_no")
    await agent.refused("domain must be a host", "create_pixel", domain="no", api_key=key)
    pixel = (await agent.call("create_pixel", domain=domain, api_key=key))["pixel_id"]
    settings = {"controller_name": "Ann's Shop", "purposes": ["analytics", "resolution"]}
    about = {"pixel_id": pixel, "api_key": key}
    await agent.refused("choose at least one purpose", "configure_consent", **about | {"controller_name": "Ann"})
    rehearsed = await agent.call("configure_consent", **about, **settings, dry_run=True)
    assert rehearsed["dry_run"] and not rehearsed["consent_enabled"], rehearsed
    assert not rehearsed["visitors_asked_again"] and "Ann's Shop" in rehearsed["notice"]
    assert not (await agent.call("show_pixel", **about))["consent_enabled"]
    consent = await agent.call("configure_consent", **about, **settings)
    assert consent["policy_hash"] == rehearsed["policy_hash"], consent
    again = await agent.call("configure_consent", **about, **settings, dry_run=True)
    assert not again["visitors_asked_again"] and again["policy_version"] == 1, again
    other = settings | {"controller_name": "Ben's Shop"}
    changed = await agent.call("configure_consent", **about, **other, dry_run=True)
    assert changed["visitors_asked_again"] and changed["policy_version"] == 2, changed
    checked = await agent.call("check_install", **about)
    assert checked["install_status"] == "not_installed", checked
    person("PASTE " + consent["snippet"])
    checked = await agent.call("check_install", **about)
    assert checked["install_status"] == "installed", checked
    assert (await agent.call("show_setup", api_key=key))["setup_complete"]
    assert len((await agent.call("list_pixels", api_key=key))["pixels"]) == 1
    await agent.refused("installed pixel cannot be renamed", "rename_pixel", **about, domain="b.example")
    await agent.refused("installed pixel cannot be deleted", "delete_pixel", **about)
    notice = await agent.client.read_resource(consent["policy_url"])
    assert "Ann's Shop" in notice.contents[0].text, notice
    await agent.call("get_commerce_snippet", **about, action="add_to_cart")
    await agent.refused("snippet not found", "get_commerce_snippet", **about, action="steal")
    sent = await agent.call("email_snippet", **about, email="webmaster@example.com")
    assert sent["sent"], sent
    await agent.refused(
        "wait before sending the snippet again", "email_snippet", **about, email="webmaster@example.com"
    )
    return pixel, consent["policy_hash"]


async def consent_and_contacts(agent, key: str, pixel: str, policy: str) -> None:
    about = {"pixel_id": pixel, "api_key": key}
    visitor = {"pixel_id": pixel, "visitor_id": "visitor-1"}
    assert (await agent.call("check_consent", **visitor))["reason"] == "no_consent_record"
    await agent.refused("no consent record", "read_receipt", **visitor)
    person("VISIT " + policy)
    checked = await agent.call("check_consent", **visitor, required_purpose="resolution")
    assert checked["permitted"], checked
    receipt = await agent.call("read_receipt", **visitor)
    proof = {"receipt": receipt["receipt"], "signature": receipt["signature"]}
    assert (await agent.call("verify_receipt", **proof))["valid"]
    forged = proof["receipt"] | {"consent_state": "declined"}
    assert not (await agent.call("verify_receipt", receipt=forged, signature=proof["signature"]))["valid"]
    await agent.refused("receipt is required", "verify_receipt", signature=proof["signature"])
    log = await agent.call("read_consent_log", **about, state="accepted", detail="full")
    assert log["events"][0]["signature"] == proof["signature"], log
    await agent.refused("invalid state", "read_consent_log", **about, state="maybe")
    stats = await agent.call("read_consent_stats", **about)
    assert stats["totals"]["accepted"] == 1, stats

    person_1 = {"hem": "a" * 64, "seen_at": "2026-03-01T08:00:00Z", "contact": {"name": "Ann"}}
    assert (await agent.call("store_contacts", **about, contacts=[person_1]))["stored"] == 1
    await agent.refused(
        "hem must be a 64-character hex string",
        "store_contacts", **about, contacts=[person_1 | {"hem": "x"}],
    )
    page = await agent.call("read_contacts", **about, after=0)
    assert page["contacts"][0]["contact"] == {"name": "Ann"} and page["high_water"] == 1, page
    day = await agent.call("read_contacts", **about, on="2026-03-01")
    assert len(day["contacts"]) == 1 and day["on"] == "2026-03-01", day
    await agent.refused("pass on or after", "read_contacts", **about)
    await agent.call("erase_contact", **about, hem="A" * 64)
    assert (await agent.call("read_contacts", **about, after=0))["contacts"] == []
    assert not (await agent.call("turn_off_consent", **about))["consent_enabled"]
    assert (await agent.call("check_consent", **visitor))["reason"] == "consent_off"


async def main(url: str, email: str, domain: str, mode: str) -> None:
    async with Client(url, mode=mode) as client:
        note("protocol", client.protocol_version)
        await meet(client)
        agent = Agent(client)
        key = await sign_up(agent, email)
        pixel, policy = await install(agent, key, domain)
        await consent_and_contacts(agent, key, pixel, policy)
    note("done")


asyncio.run(main(*sys.argv[1:]))
