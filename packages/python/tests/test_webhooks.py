"""Webhooks of the real service, and forged ones."""

from __future__ import annotations

import base64
import time
from datetime import datetime, timezone
from typing import Any

import pytest
from assent_consent import WebhookError, verify_webhook
from standardwebhooks.webhooks import Webhook

SECRET = "whsec_" + base64.b64encode(bytes(range(24))).decode()
BODY = '{"type": "test", "timestamp": "2026-03-10T12:02:02.000Z", "data": {"name": "Zoë"}}'


def signed(body: str = BODY, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    at = time.time() if at is None else at
    signature = Webhook(secret).sign("evt_1", datetime.fromtimestamp(at, timezone.utc), body)
    return {"Webhook-Id": "evt_1", "webhook-timestamp": str(int(at)), "webhook-signature": signature}


def test_a_webhook_of_the_service_is_genuine(site: Any, delivery: Any) -> None:
    event = verify_webhook(site.secret, delivery.headers, delivery.body)
    assert (event.type, event.data["pixel_id"]) == ("choice.recorded", site.pixel)
    with pytest.raises(WebhookError):
        verify_webhook(site.secret, delivery.headers, delivery.body.replace(b"accepted", b"declined"))


def test_one_valid_signature_among_several_is_enough() -> None:
    headers = signed()
    headers["webhook-signature"] = "v1,AAAA v1a,x " + headers["webhook-signature"]
    assert verify_webhook(SECRET, headers, BODY.encode()).data == {"name": "Zoë"}


OTHER = "whsec_" + base64.b64encode(bytes(24)).decode()


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(lambda: signed(BODY + " "), id="another body"),
        pytest.param(lambda: signed(secret=OTHER), id="another secret"),
        pytest.param(lambda: signed(at=time.time() - 302), id="too old"),
        pytest.param(lambda: signed(at=time.time() + 330), id="in the future"),
        pytest.param(lambda: {**signed(), "webhook-timestamp": "now"}, id="no time"),
        pytest.param(lambda: {**signed(), "webhook-timestamp": str(int(time.time()) - 2)}, id="another time"),
        pytest.param(lambda: {**signed(), "Webhook-Id": "evt_2"}, id="another id"),
        pytest.param(lambda: {**signed(), "webhook-signature": ""}, id="no signature"),
        pytest.param(lambda: {**signed(), "webhook-signature": "v1,ü"}, id="not base64"),
        pytest.param(dict, id="no headers"),
    ],
)
def test_what_is_not_genuine_is_refused(headers: Any) -> None:
    with pytest.raises(WebhookError):
        verify_webhook(SECRET, headers(), BODY.encode())


@pytest.mark.parametrize("secret", ["whsec_", "whsec_?"])
def test_a_secret_that_is_none_is_reported(secret: str) -> None:
    with pytest.raises(ValueError):
        verify_webhook(secret, signed(), BODY.encode())
