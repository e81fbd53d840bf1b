"""A release contains every package, and is the same in every folder."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]
# Quickly packed, unlike the service.
PROGRAM = os.path.realpath("/usr/bin/env")

pytestmark = pytest.mark.slow


def copy(clone: pathlib.Path, wanted: str) -> None:
    """Copies the files of this source whose names begin with a pattern."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True, text=True)
    for name in listed.stdout.split("\0"):
        if re.match(wanted, name) and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)


def release(clone: pathlib.Path) -> dict[str, str]:
    """The files of a release that is made in a copy of this source, and their hashes."""
    copy(clone, r"(packages/(?!web/apps)|docs/configuration|scripts|Cargo\.|Rocket|LICENSE|README)")
    (clone / "packages/web/node_modules").symlink_to(ROOT / "packages/web/node_modules")
    settings = {"PROGRAM": PROGRAM, "XZ_LEVEL": "0", "SOURCE_DATE_EPOCH": "1800000000", "PACKAGES_PYTHON": sys.prefix, "CARGO_TARGET_DIR": str(clone / "out")}
    done = subprocess.run(["scripts/release"], cwd=clone, env={**os.environ, **settings}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    sums = (clone / "out/release-files/SHA256SUMS").read_text()
    assert sums == done.stdout
    return {line.split()[1]: line.split()[0] for line in sums.splitlines()}


def test_two_folders_give_the_same_packages(tmp_path: pathlib.Path) -> None:
    first, second = release(tmp_path / "one"), release(tmp_path / "in/another/folder")
    assert first == second
    kinds = {re.sub(r"_?(many)?linux[a-z0-9_]*(-x64|-x86_64|-arm64|-aarch64)?|_amd64|_arm64", "PLATFORM", name) for name in first}
    assert kinds == {
        f"assent-{VERSION}-PLATFORM", f"assent-web-{VERSION}.tgz", f"assent-{VERSION}.tgz", f"assent-PLATFORM-{VERSION}.tgz",
        f"assent-{VERSION}-py3-none-PLATFORM.whl", f"assent_consent-{VERSION}-py3-none-any.whl", f"assent_consent-{VERSION}.tar.gz",
        f"assent_{VERSION}PLATFORM.deb", f"assent-consent-wordpress-{VERSION}.zip", f"assent-{VERSION}.php",
    }
    with zipfile.ZipFile(tmp_path / f"one/out/release-files/assent-consent-wordpress-{VERSION}.zip") as plugin:
        assert {"assent-consent/assent-consent.php", "assent-consent/languages/assent-consent-de_DE.mo"} <= set(plugin.namelist())
        assert all(name.startswith("assent-consent/") for name in plugin.namelist())


def published(base: str) -> str:
    """The entries of the public log, of which there are fewer than 256."""
    with urllib.request.urlopen(f"{base}/log/checkpoint") as answer:
        size = int(answer.read().decode().splitlines()[1])
    if size == 0:
        return ""
    with urllib.request.urlopen(f"{base}/log/tile/entries/000.p/{size}") as answer:
        return answer.read().decode(errors="replace")


def test_tag_hash_prints_in_another_folder_what_the_public_log_has(site: Any, tmp_path: pathlib.Path) -> None:
    copy(tmp_path, r"(build\.rs|scripts-src|templates|assets|migrations|scripts|Cargo|rust-toolchain)")
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    done = subprocess.run(["scripts/tag-hash"], cwd=tmp_path, env={**os.environ, "CARGO_TARGET_DIR": target}, capture_output=True, text=True)
    assert re.fullmatch(r"[0-9a-f]{64}\n", done.stdout), done.stderr
    with urllib.request.urlopen(f"{site.base}/px/{site.pixel}.js") as tag:
        assert "__ASSENT_CONFIG__" not in tag.read().decode()
    deadline = time.monotonic() + 60
    while f"kind script\nsha256 {done.stdout}" not in (entries := published(site.base)):
        assert time.monotonic() < deadline, entries
        time.sleep(0.5)
