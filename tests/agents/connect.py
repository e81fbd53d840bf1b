"""Connects to the tool server by its address alone, with the official Python client.

    connect.py MCP_URL MODE

Where a person acts, `AUTHORIZE {address}` is written to standard output, and the address to which
the browser was sent is read from standard input. A transcript goes to standard error.
"""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


def note(*words) -> None:
    print(*words, file=sys.stderr, flush=True)


class Memory:
    """What the client remembers."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    def __init__(self):
        self.asked = []

    async def opens(self, address: str) -> None:
        self.asked.append(parse_qs(urlsplit(address).query))
        print("AUTHORIZE", address, flush=True)

    async def returns(self) -> AuthorizationCodeResult:
        line = await asyncio.to_thread(sys.stdin.readline)
        answer = {name: values[0] for name, values in parse_qs(urlsplit(line.strip()).query).items()}
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])


async def main(url: str, mode: str) -> None:
    memory, person = Memory(), Person()
    metadata = OAuthClientMetadata(
        client_name="Official Python client",
        redirect_uris=["http://127.0.0.1:7171/callback"],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(url, metadata, memory, person.opens, person.returns)
    async with httpx2.AsyncClient(auth=provider, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            plans = await client.call_tool("list_plans", {})
            assert not plans.is_error and not person.asked, "what needs no key needs no person"
            note("listed the plans, unasked")
            pixels = (await client.call_tool("list_pixels", {})).structured_content["pixels"]
            if not pixels:
                created = await client.call_tool("create_pixel", {"domain": "ann.example"})
                pixels = [created.structured_content]
                note("created a first pixel")
            assert pixels[0]["domain"] == "ann.example"
            assert memory.tokens.scope == "operate", memory.tokens.scope
            asked = person.asked[0]
            assert asked["resource"] == [url] and asked["code_challenge_method"] == ["S256"], asked
            note("connected with the scope", memory.tokens.scope)
            members = await client.call_tool("read_with", {"tool": "list_members"})
            assert not members.is_error, members.content
            assert len(person.asked) == 2 and memory.tokens.scope == "full", memory.tokens.scope
            note("stepped up to the scope", memory.tokens.scope)
            # As if the hour were over.
            former = memory.tokens.access_token
            provider.context.token_expiry_time = 1
            assert not (await client.call_tool("list_pixels", {})).is_error
            assert memory.tokens.access_token != former and len(person.asked) == 2
            note("refreshed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
