"""The real service on a database of its own, and calls of a customer, for the tests of all packages.

    scripts/with-postgres target/packages-python/bin/python -m pytest packages
"""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

PACKAGES = pathlib.Path(__file__).resolve().parent
ROOT = PACKAGES.parent
HOOKS = "hooks.example"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Delivery:
    """A webhook as the service has sent it."""

    headers: dict[str, str]
    body: bytes


class Receiver:
    """A server with a certificate, to which the service sends webhooks."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.authority, key, certificate = folder / "ca.pem", folder / "key.pem", folder / "cert.pem"
        authority_key, request = folder / "ca-key.pem", folder / "request.pem"
        new_key = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        run = lambda *command: subprocess.run(command, check=True, capture_output=True)
        run(*new_key, "-x509", "-days", "2", "-subj", "/CN=Test CA", "-keyout", authority_key, "-out", self.authority)
        run(*new_key, "-subj", f"/CN={HOOKS}", "-keyout", key, "-out", request)
        extensions = folder / "extensions"
        extensions.write_text(f"subjectAltName=DNS:{HOOKS}\n")
        run("openssl", "x509", "-req", "-days", "2", "-in", request, "-CA", self.authority, "-CAkey", authority_key,
            "-CAcreateserial", "-extfile", extensions, "-out", certificate)
        self.deliveries: queue.Queue[Delivery] = queue.Queue()
        deliveries = self.deliveries

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                deliveries.put(Delivery({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port: int = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@dataclass(frozen=True)
class Site:
    """A pixel whose popup is on, with a key of its account and the secret of a webhook."""

    base: str
    pixel: str
    host: str
    key: str
    policy: str
    secret: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return call(method, self.base + path, body, {"Authorization": f"Bearer {self.key}"})

    def choose(self, consent: str, purposes: list[str] | None = None, visitor: str | None = None) -> str:
        """Records a choice of a visitor, and returns the visitor's id."""
        visitor = visitor or f"visitor-{uuid.uuid4().hex}"
        choice = {
            "pixel_id": self.pixel, "visitor_id": visitor, "url": f"https://{self.host}/", "consent": consent,
            "affirmative": True, "policy_version_hash": self.policy, "purposes": purposes or [],
        }
        assert call("POST", f"{self.base}/v1/consent/record", choice)["recorded"]
        return visitor


def call(method: str, url: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers or {}, method=method)) as answer:
        text = answer.read()
    return json.loads(text) if text.startswith(b"{") else text


@dataclass(frozen=True)
class Service:
    base: str
    receiver: Receiver

    def site(self) -> Site:
        """A pixel of a new account."""
        host = f"shop-{uuid.uuid4().hex[:10]}.example"
        account = call("POST", f"{self.base}/v1/accounts", {"email": f"owner@{host}", "display_name": host})
        call("GET", account["verification_url"])
        issued = call("POST", f"{self.base}/v1/api-keys?account_id={account['account_id']}", headers={"x-signup-token": account["signup_token"]})
        key = {"Authorization": f"Bearer {issued['api_key']}"}
        pixel = call("POST", f"{self.base}/v1/pixels", {"domain": host}, key)["pixel_id"]
        consent = call("POST", f"{self.base}/v1/pixels/{pixel}/consent", {"controller_name": "Shop", "purposes": ["analytics", "resolution"]}, key)
        webhook = {"url": f"https://{HOOKS}:{self.receiver.port}/{host}", "events": ["choice.recorded"]}
        secret = call("POST", f"{self.base}/v1/webhooks", webhook, key)["secret"]
        return Site(self.base, pixel, host, issued["api_key"], consent["policy_hash"], secret)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    server = os.environ["DATABASE_URL"]
    database = f"packages_{uuid.uuid4().hex}"

    def sql(statement: str) -> None:
        subprocess.run(["psql", server, "--quiet", "--no-psqlrc", "--command", statement], check=True)

    sql(f'CREATE DATABASE "{database}"')
    head, _, query = server.partition("?")
    port, folder = free_port(), tmp_path_factory.mktemp("service")
    receiver = Receiver(folder)
    settings = {
        "DATABASE_URL": head.rsplit("/", 1)[0] + "/" + database + (f"?{query}" if query else ""),
        "ROCKET_ADDRESS": "127.0.0.1", "ROCKET_PORT": str(port), "BASE_URL": f"http://localhost:{port}",
        "RECEIPT_SECRETS": "package-tests-only-0123456789abcdef0123456789abcdef", "RATE_LIMITS": "off",
        "LOG_KEY": "2b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfe",
        "WEBHOOK_RESOLVE": f"{HOOKS}=127.0.0.1:{receiver.port}", "WEBHOOK_CA_FILE": str(receiver.authority),
    }
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    binary = ROOT / os.environ.get("ASSENT_BIN", "target/debug/assent")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([binary, "serve"], cwd=ROOT, env={**kept, **settings}, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                call("GET", f"{settings['BASE_URL']}/healthz")
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the service did not start:\n" + (folder / "log").read_text()[-4000:])
                time.sleep(0.1)
        yield Service(settings["BASE_URL"], receiver)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        receiver.server.shutdown()
        sql(f'DROP DATABASE "{database}" WITH (FORCE)')


@pytest.fixture
def site(service: Service) -> Site:
    return service.site()


@pytest.fixture
def delivery(service: Service, site: Site) -> Delivery:
    """The webhook about a choice, as the service has sent it to the endpoint of the site."""
    site.choose("accepted", ["analytics"])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        delivery = service.receiver.deliveries.get(timeout=60)
        if site.pixel.encode() in delivery.body:
            return delivery
    raise AssertionError("no webhook has arrived")


@pytest.fixture(scope="session")
def php() -> str:
    found = shutil.which("php")
    assert found, "php is missing: run scripts/install-missing --packages"
    return found
