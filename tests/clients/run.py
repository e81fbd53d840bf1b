"""Generates clients from the description of a running service, checks their types, and calls them.

    scripts/with-postgres target/python/bin/python tests/clients/run.py target/debug/assent

What does not wait for each other runs at once. `UPDATE_SNAPSHOTS` and the like play no part: all
that is generated is thrown away.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GENERATED = HERE / "generated"
DESCRIPTION = GENERATED / "openapi.json"
OLDER_DESCRIPTION = GENERATED / "openapi-3.0.json"
NODE = HERE / "node_modules/.bin"
PYTHON = pathlib.Path(sys.executable).parent
RUST_TARGET = pathlib.Path(sys.argv[1]).resolve().parents[1] / "progenitor"
ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "DO_NOT_TRACK": "1", "MYPY_CACHE_DIR": str(ROOT / "target/mypy")}


def run(name: str, *command: object, quiet: bool = True, **settings: str) -> None:
    """One command in this folder; its output is shown when it fails."""
    started = time.monotonic()
    done = subprocess.run(
        [str(part) for part in command],
        cwd=HERE, env={**ENVIRONMENT, **settings}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
    )
    print(f"  {name}: {time.monotonic() - started:.1f} s", flush=True)
    if done.returncode or not quiet and done.stdout.strip():
        raise SystemExit(f"{name} says:\n{done.stdout[-8000:]}")


def lint(base: str) -> None:
    run("Redocly and Spectral", "node", "lint.mjs", DESCRIPTION)


def typescript(base: str) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        schema = pool.submit(run, "openapi-typescript", NODE / "openapi-typescript", DESCRIPTION, "-o", GENERATED / "schema.ts")
        hey = pool.submit(run, "@hey-api/openapi-ts", NODE / "openapi-ts", "-i", DESCRIPTION, "-o", GENERATED / "hey", "-c", "@hey-api/client-fetch", "--silent")
        orval = pool.submit(run, "orval", NODE / "orval", "--config", "orval.config.js", ASSENT_BASE=base)
        schema.result(), hey.result(), orval.result()
    run("tsc", NODE / "tsc", "-p", ".")
    run("calls by openapi-fetch", "node", GENERATED / "js/src/fetch.js", base)
    run("calls by @hey-api/openapi-ts", "node", GENERATED / "js/src/hey.js", base)
    run("calls by orval", "node", GENERATED / "js/src/orval.js", base)


def python(base: str) -> None:
    # What it cannot understand it leaves out, and says so: nothing may be left out.
    run(
        "openapi-python-client", PYTHON / "openapi-python-client", "generate", "--path", DESCRIPTION,
        "--config", "opc.yaml", "--output-path", GENERATED / "opc", "--meta", "none", "--fail-on-warning",
    )
    run(
        "datamodel-code-generator", PYTHON / "datamodel-codegen", "--input", DESCRIPTION, "--input-file-type", "openapi",
        "--output", GENERATED / "models.py", "--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11",
        "--formatters", "builtin", "--capitalise-enum-members", "--use-annotated", "--disable-timestamp",
    )
    run("mypy --strict", PYTHON / "mypy", "--strict", "read.py", "call.py")
    run("calls by openapi-python-client", PYTHON / "python", "call.py", base)
    run("answers read by models", PYTHON / "python", "read.py", base)


def rust(base: str) -> None:
    package = HERE / "progenitor"
    run("description for progenitor", PYTHON / "python", package / "prepare.py", OLDER_DESCRIPTION, package / "openapi.json")
    run(
        "progenitor and its calls", "cargo", "run", "--quiet", "--locked", "--manifest-path", package / "Cargo.toml",
        "--", base, CARGO_TARGET_DIR=str(RUST_TARGET),
    )


def free_port() -> int:
    # Below the ports of outgoing connections, which may take one before it is used.
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Service:
    """The service on a database of its own."""

    def __init__(self, binary: str) -> None:
        server = os.environ["DATABASE_URL"]
        self.database = f"clients_{uuid.uuid4().hex}"
        self.server = server
        self.sql(f'CREATE DATABASE "{self.database}"')
        head, _, query = server.partition("?")
        url = head.rsplit("/", 1)[0] + "/" + self.database + (f"?{query}" if query else "")
        port = free_port()
        self.base = f"http://localhost:{port}"
        self.log = open(GENERATED / "service.log", "wb")
        settings = {
            "DATABASE_URL": url, "ROCKET_ADDRESS": "127.0.0.1", "ROCKET_PORT": str(port), "BASE_URL": self.base,
            "RECEIPT_SECRETS": "client-tests-only-0123456789abcdef0123456789abcdef", "RATE_LIMITS": "off",
        }
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.process = subprocess.Popen([binary, "serve"], cwd=ROOT, env={**kept, **settings}, stdout=self.log, stderr=self.log)

    def sql(self, statement: str) -> None:
        subprocess.run(["psql", self.server, "--quiet", "--no-psqlrc", "--command", statement], check=True)

    def description(self, path: str) -> bytes:
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(self.base + path) as answer:
                    return answer.read()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the service did not start:\n" + (GENERATED / "service.log").read_text()[-4000:])
                time.sleep(0.1)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.sql(f'DROP DATABASE "{self.database}" WITH (FORCE)')


def main(binary: str) -> None:
    # Progenitor compiles for two minutes, which CI leaves to a nightly workflow.
    works = (python, typescript, lint) if os.environ.get("QUICK_CLIENTS") else (python, typescript, rust, lint)
    shutil.rmtree(GENERATED, ignore_errors=True)
    GENERATED.mkdir()
    (GENERATED / "__init__.py").touch()
    service = Service(binary)
    try:
        for path, file in (("/openapi.json", DESCRIPTION), ("/openapi-3.0.json", OLDER_DESCRIPTION)):
            file.write_text(json.dumps(json.loads(service.description(path)), indent=1))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            failed = [work.exception() for work in [pool.submit(work, service.base) for work in works]]
    finally:
        service.stop()
    if said := [str(error) for error in failed if error]:
        raise SystemExit("\n".join(said))


main(str(pathlib.Path(sys.argv[1]).resolve()))
