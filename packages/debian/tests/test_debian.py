"""The package for Debian, built from the program of the tests."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

DEBIAN = pathlib.Path(__file__).resolve().parents[1]
ROOT = DEBIAN.parents[1]
PROGRAM = ROOT / os.environ.get("ASSENT_BIN", "target/debug/assent")

pytestmark = pytest.mark.slow


def run(*command: str | pathlib.Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "XZ_LEVEL": "0"}, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("debian")
    return pathlib.Path(run(DEBIAN / "build", PROGRAM, folder).strip())


def test_lintian_finds_nothing(package: pathlib.Path) -> None:
    assert run("lintian", "--fail-on", "error,warning", "--allow-root", package) == ""


def test_the_unit_is_hardened() -> None:
    said = run("systemd-analyze", "security", "--offline=true", DEBIAN / "assent.service")
    level = re.search(r"exposure level for assent.service: ([0-9.]+)", said)
    assert level and float(level[1]) <= 2


def test_the_manual_page_names_every_command() -> None:
    page = (DEBIAN / "assent.1").read_text().replace("\\-", "-")
    commands = re.findall(r"^  ([a-z-]+)  ", run(PROGRAM, "--help").split("Options:")[0], re.MULTILINE)
    assert len(commands) > 10
    for command in commands:
        assert command == "help" or re.search(rf"^\.B.*\b{command}\b", page, re.MULTILINE), command
    assert run("man", "--warnings", "--local-file", DEBIAN / "assent.1")


def test_it_is_installed_gives_a_receipt_and_is_purged_without_remains(package: pathlib.Path) -> None:
    done = subprocess.run([DEBIAN / "tests/try", package], capture_output=True, text=True, timeout=300)
    if done.returncode == 77:
        pytest.skip("no copy of this machine can be booted: that needs root, namespaces, and no systemd outside")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "purged without remains" in done.stdout
    receipt = re.search(r"the first receipt, (\d+) s", done.stdout)
    assert receipt and int(receipt[1]) < 60
