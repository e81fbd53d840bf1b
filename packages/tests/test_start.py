"""`npx assent` and `uvx assent` from the packed packages: an empty folder, empty caches, no Rust, no rights of root."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator

import pytest

PACKAGES = pathlib.Path(__file__).resolve().parents[1]
ROOT = PACKAGES.parent
PROGRAM = ROOT / os.environ.get("ASSENT_BIN", "target/debug/assent")
FIRST_RECEIPT_SECONDS = 60
SETTINGS = re.compile(r"(?i)^(https?_proxy|no_proxy|ssl_cert_.*|node_extra_ca_certs|npm_config_(registry|cafile).*|pip_.*|uv_.*)$")

pytestmark = pytest.mark.slow


class Folder:
    """An empty folder of a user who is not root, and commands that run there."""

    def __init__(self, path: pathlib.Path, tools: list[str]) -> None:
        self.path = path
        self.user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        for folder in ("bin", "home", "empty"):
            (path / folder).mkdir()
        for tool in tools:
            found = shutil.which(tool)
            assert found, f"{tool} is missing"
            (path / "bin" / tool).symlink_to(os.path.realpath(found))
        paths = f"{path}/bin:/usr/bin:/bin"
        assert not shutil.which("cargo", path=paths) and not shutil.which("rustc", path=paths)
        kept = {name: value for name, value in os.environ.items() if SETTINGS.match(name)}
        self.environment = {**kept, "PATH": paths, "HOME": str(path / "home"), "PORT": str(self.port), "UV_PYTHON_DOWNLOADS": "never"}

    def give(self) -> None:
        """Gives everything to the user."""
        path = self.path
        for entry in [path, *path.rglob("*")]:
            os.chown(entry, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)
            if not entry.is_symlink():
                entry.chmod(entry.stat().st_mode | 0o755 if entry.is_dir() else entry.stat().st_mode | 0o444)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        change = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        log = (self.path / "log").open("wb")
        return subprocess.Popen(command, cwd=self.path / "empty", env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **change)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    path = pathlib.Path(tempfile.mkdtemp(prefix="assent-start-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def build(package: str, folder: pathlib.Path) -> list[str]:
    done = subprocess.run([PACKAGES / package / "build", PROGRAM, folder], env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def first_receipt(folder: Folder, *command: str) -> None:
    """Starts the service, runs the example of the README against it, and stops it."""
    folder.give()
    started = time.monotonic()
    process = folder.start(*command)
    base = f"http://localhost:{folder.port}"
    log = lambda: (folder.path / "log").read_text(errors="replace")[-4000:]
    try:
        while True:
            try:
                urllib.request.urlopen(f"{base}/healthz").close()
                break
            except OSError:
                assert process.poll() is None, log()
                assert time.monotonic() < started + 180, log()
                time.sleep(0.1)
        story = re.search(r"<!-- story:begin.*?```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        assert story
        done = subprocess.run(["sh", "-eu", "-c", story[1]], env={**os.environ, "BASE": base}, capture_output=True, text=True)
        assert done.stdout.endswith('{"valid":true}'), done.stdout + done.stderr
        seconds = time.monotonic() - started
        print(f"{command[0]}: first receipt after {seconds:.0f} s")
        assert seconds < FIRST_RECEIPT_SECONDS, log()
        data = folder.path / "empty/.data/postgres/data"
        assert (data / "PG_VERSION").read_text() == "18\n", "the database is that of the package"
        database = int((data / "postmaster.pid").read_text().split()[0])
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        stopping = time.monotonic()
        while pathlib.Path(f"/proc/{database}").exists():
            assert time.monotonic() < stopping + 20, "the database has stopped"
            time.sleep(0.1)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def test_npx_assent_gives_a_receipt_within_a_minute(folder: pathlib.Path) -> None:
    main, platform = sorted(build("cli-npm", folder / "packed"), key=len)
    here = Folder(folder, ["node", "npm", "npx", "sh"])
    first_receipt(here, "npx", "--yes", f"--package={main}", f"--package={platform}", "assent")


def test_npx_assent_works_without_install_scripts(folder: pathlib.Path) -> None:
    main, platform = sorted(build("cli-npm", folder / "packed"), key=len)
    here = Folder(folder, ["node", "npm", "npx", "sh"])
    here.environment["NPM_CONFIG_IGNORE_SCRIPTS"] = "true"
    first_receipt(here, "npx", "--yes", f"--package={main}", f"--package={platform}", "assent")


def test_uvx_assent_gives_a_receipt_within_a_minute(folder: pathlib.Path) -> None:
    (wheel,) = build("cli-python", folder / "packed")
    here = Folder(folder, ["sh", "python3"])
    shutil.copy(pathlib.Path(sys.executable).parent / "uv", folder / "bin")
    first_receipt(here, "uv", "tool", "run", "--from", wheel, "assent")
