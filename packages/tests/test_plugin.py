"""The plugin for WordPress without WordPress: syntax, translations, and the form of the readme."""

from __future__ import annotations

import pathlib
import re
import subprocess

import pytest

WORDPRESS = pathlib.Path(__file__).resolve().parents[1] / "wordpress"
PLUGIN = WORDPRESS / "assent-consent"


def test_php_can_read_every_file(php: str) -> None:
    for file in PLUGIN.rglob("*.php"):
        subprocess.run([php, "-l", file], check=True, capture_output=True)


def test_no_file_runs_on_its_own() -> None:
    for file in PLUGIN.rglob("*.php"):
        constant = "WP_UNINSTALL_PLUGIN" if file.name == "uninstall.php" else "ABSPATH"
        assert f"defined('{constant}') || exit;" in file.read_text(), file.name


def test_the_translations_are_complete_and_current(tmp_path: pathlib.Path) -> None:
    subprocess.run([WORDPRESS / "translations", tmp_path], check=True)
    template = "assent-consent.pot"
    assert (tmp_path / template).read_text() == (PLUGIN / "languages" / template).read_text(), "run packages/wordpress/translations"
    translations = list((PLUGIN / "languages").glob("*.po"))
    assert translations
    for translation in translations:
        said = subprocess.run(["msgfmt", "--statistics", "-o", "/dev/null", translation], check=True, capture_output=True, text=True).stderr
        assert re.fullmatch(r"\d+ translated messages\.\n", said), f"{translation.name}: {said}"


@pytest.mark.parametrize("name", ["Contributors", "Tags", "Requires at least", "Tested up to", "Requires PHP", "Stable tag", "License", "License URI"])
def test_the_readme_has_the_fields_of_the_directory(name: str) -> None:
    head, _, body = (PLUGIN / "readme.txt").read_text().partition("\n\n")
    assert head.startswith("=== Assent Consent ===\n")
    assert re.search(rf"^{name}: \S", head, re.MULTILINE)
    tags = re.search(r"^Tags: (.*)$", head, re.MULTILINE)
    assert tags and len(tags[1].split(",")) <= 5
    short = body.strip().splitlines()[0]
    assert 0 < len(short) <= 150
    assert [f"== {section} ==" in body for section in ("Description", "Installation", "Frequently Asked Questions", "Changelog")] == [True] * 4


def test_the_readme_names_what_the_settings_page_shows() -> None:
    _, _, body = (PLUGIN / "readme.txt").read_text().partition("== Installation ==")
    named = set(re.findall(r'"([^"]+)"', body.partition("== Frequently")[0].replace("\n   ", " ")))
    assert named == {"Connect by signing in", "Privacy settings", "Your data"}
    shown = (PLUGIN / "languages/assent-consent.pot").read_text()
    for name in named | {"Consent", "Address of the service"}:
        assert f'msgid "{name}"' in shown, name
