"""The objects of the interface."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Purpose = Literal[
    "analytics", "resolution", "newsletter", "email_sharing", "phone_sharing", "partner_email", "partner_calls", "partner_sms"
]


class AssentError(Exception):
    """The service refused a call (``status`` and its sentence ``detail``), or could not be reached (``status`` is None)."""

    def __init__(self, detail: str, status: int | None = None) -> None:
        super().__init__(detail if status is None else f"{status}: {detail}")
        self.detail = detail
        self.status = status


def hem(email: str) -> str:
    """The hashed email address by which the service names a person: SHA-256 of the trimmed, lowercase address."""
    return hashlib.sha256(email.strip().lower().encode()).hexdigest()


def parse_time(text: str | None) -> datetime | None:
    """A time of the service (RFC 3339); fractions of a second beyond six digits are dropped."""
    if not text:
        return None
    head, dot, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(head + (f".{fraction[:6]:<06}" if dot else "") + "+00:00")


@dataclass(frozen=True)
class Check:
    """The answer of the service about one visitor and one purpose."""

    permitted: bool
    reason: str
    receipt_id: str | None
    purposes: tuple[str, ...]
    recorded_at: datetime | None
    expires_at: datetime | None

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Check:
        return cls(
            permitted=data["permitted"] is True,
            reason=str(data["reason"]),
            receipt_id=data.get("receipt_id"),
            purposes=tuple(data.get("purposes") or ()),
            recorded_at=parse_time(data.get("recorded_at")),
            expires_at=parse_time(data.get("expires_at")),
        )


@dataclass(frozen=True)
class SharedChoice:
    """The choice in the cookie of a site whose subdomains share one choice.

    ``time`` is in milliseconds since 1970, by the visitor's clock. ``purposes`` are the accepted ones, and empty for
    a refusal. ``receipt_id`` is None until the service has recorded a refusal.
    """

    state: Literal["accepted", "declined", "withdrawn"]
    time: int
    purposes: tuple[str, ...]
    policy_hash: str
    visitor_id: str
    receipt_id: str | None


@dataclass(frozen=True)
class NewContact:
    """A person to store. With ``visitor_id`` the contact is kept only while that visitor permits ``resolution``."""

    hem: str
    contact: Mapping[str, Any]
    visitor_id: str | None = None
    seen_at: datetime | None = None

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"hem": self.hem, "contact": dict(self.contact), "seen_at": ""}
        if self.seen_at is not None:
            body["seen_at"] = self.seen_at.isoformat()
        if self.visitor_id is not None:
            body["visitor_id"] = self.visitor_id
        return body


@dataclass(frozen=True)
class Refused:
    """A person who was not stored: the position in the request, and a reason as of a check."""

    index: int
    reason: str


@dataclass(frozen=True)
class Stored:
    stored: int
    refused: tuple[Refused, ...]

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Stored:
        refused = tuple(Refused(item["index"], item["reason"]) for item in data.get("refused") or ())
        return cls(stored=data["stored"], refused=refused)


@dataclass(frozen=True)
class Contact:
    """A stored person. ``change`` is the position among the changes; ``consent`` is set for a bound contact."""

    id: int
    hem: str
    resolved_at: str
    contact: Mapping[str, Any]
    change: int | None = None
    consent: Mapping[str, Any] | None = field(default=None)

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Contact:
        return cls(data["id"], data["hem"], data["resolved_at"], data["contact"], data.get("change"), data.get("consent"))


@dataclass(frozen=True)
class ContactPage:
    """Contacts in the order of their changes. Pass ``high_water`` as the next ``changed_after``."""

    contacts: tuple[Contact, ...]
    high_water: int

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> ContactPage:
        return cls(tuple(map(Contact.parse, data["contacts"])), data["changed_high_water"])


@dataclass(frozen=True)
class Withdrawn:
    """A contact whose consent has ended; ``hem`` is None once it is erased."""

    id: int
    hem: str | None
    withdrawn_at: str


@dataclass(frozen=True)
class WithdrawnPage:
    """Pass ``high_water`` as the next ``after``."""

    withdrawn: tuple[Withdrawn, ...]
    high_water: int

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> WithdrawnPage:
        items = tuple(Withdrawn(item["id"], item.get("hem"), item["withdrawn_at"]) for item in data["withdrawn"])
        return cls(items, data["high_water"])
