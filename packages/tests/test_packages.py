"""Each package has the version of the service, a licence and a changelog, and contains what it must."""

from __future__ import annotations

import json
import pathlib
import re
import tarfile
import tomllib
import zipfile

import pytest

PACKAGES = pathlib.Path(__file__).resolve().parents[1]
ROOT = PACKAGES.parent
VERSION: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]


def test_every_package_has_the_version_of_the_service() -> None:
    php = (PACKAGES / "php/assent.php").read_text()
    plugin = PACKAGES / "wordpress/assent-consent"
    versions = {
        "wordpress": re.search(r"Version: +(\S+)", (plugin / "assent-consent.php").read_text())[1],  # type: ignore[index]
        "wordpress, readme": re.search(r"Stable tag: (\S+)", (plugin / "readme.txt").read_text())[1],  # type: ignore[index]
        "web": json.loads((PACKAGES / "web/package.json").read_text())["version"],
        "web, lock file": json.loads((PACKAGES / "web/package-lock.json").read_text())["version"],
        "python": tomllib.loads((PACKAGES / "python/pyproject.toml").read_text())["project"]["version"],
        "php": json.loads((PACKAGES / "php/composer.json").read_text())["version"],
        "php, constant": re.search(r"const VERSION = '([^']+)'", php)[1],  # type: ignore[index]
        "cli-npm": json.loads((PACKAGES / "cli-npm/package.json").read_text())["version"],
        "cli-python": tomllib.loads((PACKAGES / "cli-python/pyproject.toml").read_text())["project"]["version"],
        "debian": re.match(r"assent \((\S+)\)", (PACKAGES / "debian/changelog").read_text())[1],  # type: ignore[index]
        "debian, readme": re.search(r"assent_(\S+)_amd64", (PACKAGES / "debian/README.md").read_text())[1],  # type: ignore[index]
        "php, comment": re.search(r"Version (\d+\.\d+\.\d+)\.", php)[1],  # type: ignore[index]
    }
    programs = json.loads((PACKAGES / "cli-npm/package.json").read_text())["optionalDependencies"]
    versions |= {f"cli-npm, {name}": version for name, version in programs.items()}
    assert versions == dict.fromkeys(versions, VERSION)


@pytest.mark.parametrize("package", ["web", "python", "php", "debian", "cli-npm", "cli-python", "wordpress/assent-consent"])
def test_every_package_has_licences_and_a_changelog_of_this_version(package: str) -> None:
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (PACKAGES / package / licence).read_bytes() == (ROOT / licence).read_bytes()
    name = {"debian": "changelog", "wordpress/assent-consent": "readme.txt"}.get(package, "CHANGELOG.md")
    changes = PACKAGES / package / name
    assert re.search(rf"^(## {VERSION}|= {VERSION} =|assent \({VERSION}\) .*)$", changes.read_text(), re.MULTILINE)


def test_the_web_package_contains_every_entry_and_its_types() -> None:
    with tarfile.open(PACKAGES / "web/assent-web.tgz") as packed:
        names = {name.removeprefix("package/") for name in packed.getnames()}
    exports = json.loads((PACKAGES / "web/package.json").read_text())["exports"]
    targets = [target for entry in exports.values() for target in ([entry] if isinstance(entry, str) else entry.values())]
    assert {target.removeprefix("./") for target in targets} <= names
    assert {"README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"} <= names
    assert not [name for name in names if name.startswith(("src/", "apps/", "test/"))]


def test_the_python_package_is_typed() -> None:
    with zipfile.ZipFile(PACKAGES / f"python/dist/assent_consent-{VERSION}-py3-none-any.whl") as wheel:
        names = wheel.namelist()
        metadata = wheel.read(f"assent_consent-{VERSION}.dist-info/METADATA").decode()
    assert "assent_consent/py.typed" in names
    assert f"assent_consent-{VERSION}.dist-info/licenses/LICENSE-MIT" in names
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert len(required) == 1 and "httpx" in required[0]
