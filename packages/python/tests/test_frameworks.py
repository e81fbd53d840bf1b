"""The example application of each framework, each in a process of its own that serves requests."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"

CLIENTS = {
    "flask": "import flask_app as example; client = example.app.test_client()",
    "fastapi": "import fastapi_app as example; from starlette.testclient import TestClient; client = TestClient(example.app).__enter__()",
    "django": "import django_app as example, django; django.setup(); from django.test import Client; client = Client(enforce_csrf_checks=True)",
}

REQUESTS = """
import json, sys
text = lambda answer: getattr(answer, "text", None) or answer.content.decode() if not hasattr(answer, "get_data") else answer.get_data(as_text=True)
results = []
for request in json.load(sys.stdin):
    named = request.get("headers", {})
    body = request.get("body")
    if body is None:
        answer = client.get(request["path"], headers=named)
    elif KIND == "django":
        answer = client.post(request["path"], body.encode(), content_type="application/json", headers=named)
    elif KIND == "flask":
        answer = client.post(request["path"], data=body.encode(), headers=named)
    else:
        answer = client.post(request["path"], content=body.encode(), headers=named)
    results.append([answer.status_code, text(answer)])
print(json.dumps({"answers": results, "received": example.received}))
"""


@pytest.mark.parametrize("kind", CLIENTS)
def test_the_example_follows_consent_and_receives_webhooks(kind: str, site: Any, delivery: Any) -> None:
    both, some, none = site.choose("accepted", ["analytics", "resolution"]), site.choose("accepted", ["analytics"]), site.choose("declined")
    webhook = {name: value for name, value in delivery.headers.items() if name.startswith("webhook-")}
    requests = [
        {"path": "/offers", "headers": {"Assent-Visitor": both}},
        {"path": "/offers", "headers": {"Assent-Visitor": some}},
        {"path": "/offers"},
        {"path": "/page", "headers": {"Assent-Visitor": some}},
        {"path": "/page", "headers": {"Assent-Visitor": none}},
        {"path": "/hooks", "headers": webhook, "body": delivery.body.decode()},
        {"path": "/hooks", "headers": webhook, "body": delivery.body.decode() + " "},
        {"path": "/hooks", "headers": {}, "body": delivery.body.decode()},
    ]
    settings = {"ASSENT_SERVICE": site.base, "ASSENT_PIXEL": site.pixel, "ASSENT_WEBHOOK_SECRET": site.secret}
    done = subprocess.run(
        [sys.executable, "-c", f"KIND = {kind!r}\n{CLIENTS[kind]}\n{REQUESTS}"],
        cwd=EXAMPLES, env={**os.environ, **settings}, input=json.dumps(requests), capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [status for status, _ in result["answers"]] == [200, 403, 403, 200, 200, 204, 400, 400]
    assert "for you" in result["answers"][0][1]
    assert json.loads(result["answers"][3][1]) == {"statistics": True}
    assert json.loads(result["answers"][4][1]) == {"statistics": False}
    assert result["received"] == ["choice.recorded"]


def test_the_examples_permit_nothing_while_the_service_is_down(site: Any) -> None:
    settings = {"ASSENT_SERVICE": "http://127.0.0.1:9", "ASSENT_PIXEL": site.pixel, "ASSENT_WEBHOOK_SECRET": site.secret}
    request = json.dumps([{"path": "/offers", "headers": {"Assent-Visitor": "visitor"}}])
    for kind, client in CLIENTS.items():
        done = subprocess.run(
            [sys.executable, "-c", f"KIND = {kind!r}\n{client}\n{REQUESTS}"],
            cwd=EXAMPLES, env={**os.environ, **settings}, input=request, capture_output=True, text=True, timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["answers"][0][0] == 403, kind


def test_the_example_for_flask_writes_the_shared_choice_again_with_pages() -> None:
    value = f"1.p.declined.{int(time.time()) * 1000}..{'e7' * 32}.v-1..c1"
    # With use_cookies, Flask's client would replace the header.
    code = f"""
from flask_app import app
client = app.test_client(use_cookies=False)
for path, cookie in [("/", "assent={value}"), ("/", "assent="), ("/page", "assent={value}")]:
    headers = client.get(path, headers={{"Cookie": cookie}}).headers
    print(headers.get("Set-Cookie"), headers.get("Cache-Control"), sep="|")
"""
    settings = {"ASSENT_SERVICE": "http://127.0.0.1:9", "ASSENT_PIXEL": "p", "ASSENT_WEBHOOK_SECRET": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=EXAMPLES, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    page, *others = done.stdout.splitlines()
    assert page.startswith(f"assent={value}; Max-Age=") and page.endswith("; SameSite=Lax|private"), page
    assert others == ["None|None", "None|None"]
