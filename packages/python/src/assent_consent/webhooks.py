"""Verification of webhooks, as defined by Standard Webhooks (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE_SECONDS = 300


class WebhookError(Exception):
    """The webhook was not sent by the service, was changed, or is too old."""


@dataclass(frozen=True)
class Event:
    """An event. ``id`` is the same in every attempt: ignore events whose id you have stored."""

    id: str
    type: str
    timestamp: str
    data: Mapping[str, Any]


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None) -> Event:
    """Returns the event of a webhook that was signed with the secret (``whsec_…``) at most five minutes ago."""
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        event_id, timestamp, signatures = (lower[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise WebhookError(f"the header {missing} is missing") from None
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise WebhookError("the timestamp is not a number")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE_SECONDS:
        raise WebhookError("the timestamp is too far from now")
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("the secret must be whsec_ and base64") from None
    if not key:
        raise ValueError("the secret is empty")
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    if not any(hmac.compare_digest(expected, signature.encode()) for signature in signatures.split(" ")):
        raise WebhookError("no signature matches")
    event = json.loads(body)
    return Event(event_id, event["type"], event["timestamp"], event["data"])
