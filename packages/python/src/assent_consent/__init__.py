"""Consent checks, contacts and webhooks of Assent."""

from .client import AssentClient, AsyncAssentClient
from .models import AssentError, Check, Contact, ContactPage, NewContact, Purpose, Refused, Stored, Withdrawn, WithdrawnPage, hem
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
    "Stored",
    "WebhookError",
    "Withdrawn",
    "WithdrawnPage",
    "hem",
    "verify_webhook",
]
