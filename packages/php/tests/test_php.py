"""The PHP file against the real service."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

CASES = pathlib.Path(__file__).with_name("cases.php")
SHARED = pathlib.Path(__file__).resolve().parents[2] / "tests/shared-choice.json"


def start(php: str, case: str, values: dict[str, Any]) -> subprocess.Popen[str]:
    command = [php, "-d", "error_reporting=E_ALL", "-d", "display_errors=stderr", str(CASES), case]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin
    process.stdin.write(json.dumps(values))
    process.stdin.close()
    process.stdin = None
    return process


def end(process: subprocess.Popen[str]) -> None:
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, ""), errors + output
    assert output.endswith("ok\n")


@pytest.fixture
def values(site: Any) -> dict[str, Any]:
    accepted = site.choose("accepted", ["analytics", "resolution"])
    return {"base": site.base, "pixel": site.pixel, "key": site.key, "accepted": accepted, "declined": site.choose("declined")}


@pytest.mark.parametrize("case", ["check", "unreachable"])
def test_checks_fail_closed(case: str, php: str, values: dict[str, Any]) -> None:
    end(start(php, case, values))


def test_a_permission_is_used_again_for_its_age(php: str, site: Any, values: dict[str, Any], tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "continue"
    os.mkfifo(pipe)
    process = start(php, "cache", {**values, "continue": str(pipe)})
    assert process.stdout and process.stdout.readline() == "permitted\n"
    site.choose("withdrawn", visitor=values["accepted"])
    pipe.write_text("go\n")
    end(process)


def test_contacts_are_stored_read_and_deleted(php: str, service: Any, values: dict[str, Any]) -> None:
    end(start(php, "contacts", {**values, "other_pixel": service.site().pixel}))


def test_webhooks_of_the_service_are_genuine_and_others_are_not(php: str, site: Any, delivery: Any, values: dict[str, Any]) -> None:
    end(start(php, "webhook", {**values, "secret": site.secret, "headers": delivery.headers, "body": delivery.body.decode()}))


@pytest.mark.parametrize("case", ["cookie", "clock"])
def test_the_shared_choice_is_read_and_written_as_in_the_other_packages(case: str, php: str) -> None:
    end(start(php, case, json.loads(SHARED.read_text().replace("HASH", "e7" * 32))))
