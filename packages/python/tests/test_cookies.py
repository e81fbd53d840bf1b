"""The cookie of a site whose subdomains share one choice. The tests for JavaScript and PHP read the same table."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import time
from typing import Any

import pytest
from assent_consent import renewed_cookie, shared_choice

FILE = pathlib.Path(__file__).resolve().parents[2] / "tests/shared-choice.json"
TABLE: dict[str, Any] = json.loads(FILE.read_text().replace("HASH", "e7" * 32))
CASES: list[dict[str, Any]] = TABLE["cases"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_the_cookie(case: dict[str, Any]) -> None:
    days, now = case.get("days", 182), TABLE["now"] / 1000
    choice = shared_choice(case["cookie"], TABLE["pixel"], days, now=now)
    found = choice and {**dataclasses.asdict(choice), "purposes": list(choice.purposes)}
    assert found == case["choice"]
    assert renewed_cookie(case["cookie"], TABLE["pixel"], TABLE["host"], days, now=now) == case["renewed"]


def test_the_time_is_that_of_the_clock_and_days_are_182() -> None:
    made = int(time.time() - 60) * 1000
    cookie = CASES[0]["cookie"].replace(str(CASES[0]["choice"]["time"]), str(made))
    choice = shared_choice(cookie, TABLE["pixel"])
    assert choice and choice.time == made
    seconds = re.search(r"; Max-Age=(\d+);", renewed_cookie(cookie, TABLE["pixel"], TABLE["host"]) or "")
    assert seconds and abs(int(seconds[1]) - (182 * 86_400 - 60)) <= 10


@pytest.mark.parametrize("host", TABLE["wrong_hosts"])
def test_what_is_not_the_name_of_a_host_is_refused(host: str) -> None:
    with pytest.raises(ValueError):
        renewed_cookie(None, TABLE["pixel"], host)
