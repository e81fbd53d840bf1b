"""Consent checks, contacts and webhooks of Assent."""

from .client import AssentClient, AsyncAssentClient
from .cookies import renewed_cookie, shared_choice
from .models import (
    AssentError,
    Check,
    Contact,
    ContactPage,
    NewContact,
    Purpose,
    Refused,
    SharedChoice,
    Stored,
    Withdrawn,
    WithdrawnPage,
    hem,
)
from .webhooks import Event, WebhookError, verify_webhook

__all__ = [
    "AssentClient",
    "AssentError",
    "AsyncAssentClient",
    "Check",
    "Contact",
    "ContactPage",
    "Event",
    "NewContact",
    "Purpose",
    "Refused",
    "SharedChoice",
    "Stored",
    "WebhookError",
    "Withdrawn",
    "WithdrawnPage",
    "hem",
    "renewed_cookie",
    "shared_choice",
    "verify_webhook",
]
