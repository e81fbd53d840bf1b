"""The cookie of a site whose subdomains share one choice."""

from __future__ import annotations

import re
import time
from typing import Literal, cast

from .models import SharedChoice

USUAL_DAYS = 182
DAY_MS = 86_400_000
#: Tolerance for a visitor's clock that is ahead.
SKEW_MS = 300_000
HOST = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
COOKIE = re.compile(
    r" *assent=(1\.([\w-]+)\.(accepted|declined|withdrawn)\.([1-9]\d{0,15})\.([\w~]*)\."
    r"([0-9a-f]{64})\.([\w-]{1,128})\.([\w-]*)\.\w+)",
    re.ASCII,
)


def shared_choice(
    cookie_header: str | None, pixel_id: str, consent_days: int = USUAL_DAYS, *, now: float | None = None
) -> SharedChoice | None:
    """The choice that the header ``Cookie`` of a request contains for a pixel; None if there is none.

    Every page of the site can write the cookie: a refusal may be believed, an acceptance only after ``permits`` or
    ``check``. ``consent_days`` is that of the configuration. An older choice is ignored, and one that is more than five
    minutes in the future. ``now`` is in seconds since 1970, for tests.
    """
    found = find(cookie_header, pixel_id, consent_days, milliseconds(now))
    return found[0] if found else None


def renewed_cookie(
    cookie_header: str | None, pixel_id: str, host: str, consent_days: int = USUAL_DAYS, *, now: float | None = None
) -> str | None:
    """The value of a header ``Set-Cookie`` that writes the choice of the header ``Cookie`` again; None without a choice.

    The cookie lives for as many seconds as the choice is still valid. ``consent_days`` is that of the configuration.
    ``host`` is the host of the pixel; ValueError if it is not the name of a host. ``now`` is in seconds since 1970, for
    tests.

    This is optional, and only matters for Safari, which keeps cookies that scripts have written for at most seven days.
    Send the header with pages, and let no shared cache store them: the cookie names the visitor.
    """
    if not HOST.fullmatch(host):
        raise ValueError("the host must be a name such as shop.example")
    at = milliseconds(now)
    found = find(cookie_header, pixel_id, consent_days, at)
    if not found:
        return None
    choice, value = found
    seconds = int(remaining(choice, consent_days, at) // 1000)
    # A life of 0 seconds would delete the cookie.
    if seconds < 1:
        return None
    return f"assent={value}; Max-Age={seconds}; Path=/; Domain={host}; Secure; SameSite=Lax"


def milliseconds(now: float | None) -> float:
    return (time.time() if now is None else now) * 1000


def remaining(choice: SharedChoice, consent_days: int, now_ms: float) -> float:
    """For how many milliseconds a choice is still valid."""
    return choice.time + consent_days * DAY_MS - now_ms


def find(cookie_header: str | None, pixel_id: str, consent_days: int, now_ms: float) -> tuple[SharedChoice, str] | None:
    """The choice that counts, and the value of its cookie."""
    last: tuple[SharedChoice, str] | None = None
    # A request can contain several cookies of one name.
    for cookie in (cookie_header or "").split(";"):
        found = parse(cookie, pixel_id)
        if not found or remaining(found[0], consent_days, now_ms) <= 0 or found[0].time >= now_ms + SKEW_MS:
            continue
        if not last or not is_later(last[0], found[0]):
            last = found
    return last


def parse(cookie: str, pixel_id: str) -> tuple[SharedChoice, str] | None:
    match = COOKIE.fullmatch(cookie)
    if not match or match[2] != pixel_id:
        return None
    state = cast(Literal["accepted", "declined", "withdrawn"], match[3])
    # The tag shares an acceptance only after it was recorded.
    if state == "accepted" and not match[8]:
        return None
    purposes = tuple(match[5].split("~")) if state == "accepted" and match[5] else ()
    return SharedChoice(state, int(match[4]), purposes, match[6], match[7], match[8] or None), match[1]


def is_later(one: SharedChoice, other: SharedChoice) -> bool:
    """Whether one choice is later than the other. Of two of the same time, a refusal is."""
    return one.time > other.time or (one.time == other.time and one.state != "accepted" and other.state == "accepted")
