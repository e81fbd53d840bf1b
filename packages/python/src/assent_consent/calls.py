"""The calls of the interface without I/O, which both clients share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from .models import AssentError, Check, Contact, ContactPage, NewContact, Purpose, Stored, WithdrawnPage

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and the function that reads its answer."""

    method: str
    path: str
    read: Callable[[Any], T]
    params: dict[str, str | int] | None = None
    json: Any = None
    needs_key: bool = True


def read_answer(call: Call[T], response: httpx.Response) -> T:
    """Raises ``AssentError`` for a refusal, and for an answer that is not of the interface."""
    if response.is_error or response.is_redirect:
        raise AssentError(detail_of(response), response.status_code)
    try:
        return call.read(response.json() if response.content else None)
    except (ValueError, KeyError, TypeError) as error:
        raise AssentError("the answer could not be read", response.status_code) from error


def detail_of(response: httpx.Response) -> str:
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return response.reason_phrase
    return detail if isinstance(detail, str) else "invalid request"


def nothing(_: Any) -> None:
    return None


class Calls:
    """The calls about one pixel."""

    def __init__(self, pixel: str) -> None:
        self.pixel = pixel
        self._path = f"/v1/pixels/{quote(pixel, safe='')}"

    def check(self, visitor_id: str, purpose: Purpose) -> Call[Check]:
        params: dict[str, str | int] = {"pixel_id": self.pixel, "visitor_id": visitor_id, "required_purpose": purpose}
        return Call("GET", "/v1/consent/check", Check.parse, params, needs_key=False)

    def store(self, contacts: Iterable[NewContact]) -> Call[Stored]:
        return Call("POST", f"{self._path}/contacts", Stored.parse, json={"contacts": [contact.body() for contact in contacts]})

    def page(self, changed_after: int, limit: int) -> Call[ContactPage]:
        return Call("GET", f"{self._path}/contacts", ContactPage.parse, {"changed_after": changed_after, "limit": limit})

    def withdrawn(self, after: int, limit: int) -> Call[WithdrawnPage]:
        return Call("GET", f"{self._path}/contacts/withdrawn", WithdrawnPage.parse, {"after": after, "limit": limit})

    def contact(self, hem: str) -> Call[Contact]:
        return Call("GET", f"{self._path}/contacts/{quote(hem, safe='')}", Contact.parse)

    def delete(self, hem: str) -> Call[None]:
        return Call("DELETE", f"{self._path}/contacts/{quote(hem, safe='')}", nothing)


class Permissions:
    """Recent permissions. Refusals are not stored, so that a new acceptance takes effect at once."""

    MAX_STORED = 10_000

    def __init__(self, max_age: float) -> None:
        self._max_age = max_age
        self._ends: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def contains(self, visitor_id: str, purpose: str) -> bool:
        with self._lock:
            end = self._ends.get((visitor_id, purpose))
            if end is None or end > time.time():
                return end is not None
            del self._ends[visitor_id, purpose]
            return False

    def add(self, visitor_id: str, purpose: str, check: Check, asked_at: float) -> None:
        """Stores a permission whose age counts from ``asked_at``: a withdrawal may be recorded while the answer is under way."""
        end = asked_at + self._max_age
        if check.expires_at is not None:
            end = min(end, check.expires_at.timestamp())
        with self._lock:
            if len(self._ends) >= self.MAX_STORED:
                del self._ends[next(iter(self._ends))]
            self._ends[visitor_id, purpose] = end
