"""The clients. Both have the same methods; those of ``AsyncAssentClient`` are coroutines."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import TypeVar

import httpx

from .calls import Call, Calls, Permissions, read_answer
from .models import AssentError, Check, Contact, ContactPage, NewContact, Purpose, Stored, WithdrawnPage

T = TypeVar("T")


class _Shared:
    """The settings of both clients.

    ``service`` is the public address of the service and ``pixel`` the id of a pixel. ``api_key`` is needed for contacts.
    ``timeout`` is in seconds. A permission is used again for ``max_age`` seconds, also if it is withdrawn meanwhile.
    """

    def __init__(self, service: str, pixel: str, api_key: str | None = None, *, timeout: float = 2.0, max_age: float = 5.0) -> None:
        self._service = service.rstrip("/")
        self._timeout = timeout
        self._api_key = api_key
        self._calls = Calls(pixel)
        self._permissions = Permissions(max_age)

    def _request(self, call: Call[T]) -> httpx.Request:
        headers = {"Accept": "application/json"}
        if call.needs_key:
            if not self._api_key:
                raise AssentError("this call needs an API key")
            headers["Authorization"] = f"Bearer {self._api_key}"
        address = self._service + call.path
        return httpx.Request(
            call.method, address, params=call.params, json=call.json, headers=headers, extensions={"timeout": httpx.Timeout(self._timeout).as_dict()}
        )


class AssentClient(_Shared):
    """A client for threads. Close it, or use it as a context manager."""

    def __init__(self, service: str, pixel: str, api_key: str | None = None, *, timeout: float = 2.0, max_age: float = 5.0) -> None:
        super().__init__(service, pixel, api_key, timeout=timeout, max_age=max_age)
        self._http = httpx.Client()

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> AssentClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        try:
            return read_answer(call, self._http.send(self._request(call)))
        except httpx.HTTPError as error:
            raise AssentError(f"the service could not be reached: {type(error).__name__}") from error

    def check(self, visitor_id: str, purpose: Purpose) -> Check:
        """Asks whether a purpose is permitted, and why."""
        return self._send(self._calls.check(visitor_id, purpose))

    def permits(self, visitor_id: str | None, purpose: Purpose) -> bool:
        """Whether a purpose is permitted. Without a visitor, and after any failure, it is not."""
        if not visitor_id:
            return False
        if self._permissions.contains(visitor_id, purpose):
            return True
        asked_at = time.time()
        try:
            check = self.check(visitor_id, purpose)
        except AssentError:
            return False
        if check.permitted:
            self._permissions.add(visitor_id, purpose, check, asked_at)
        return check.permitted

    def store_contacts(self, contacts: Iterable[NewContact]) -> Stored:
        """Stores up to 1,000 people; ``refused`` names those whose visitors do not permit it."""
        return self._send(self._calls.store(contacts))

    def contacts_page(self, changed_after: int = 0, limit: int = 1000) -> ContactPage:
        """One page of contacts in the order of their changes."""
        return self._send(self._calls.page(changed_after, limit))

    def contacts(self, changed_after: int = 0) -> Iterator[Contact]:
        """All contacts that are new or have changed since then."""
        while (page := self.contacts_page(changed_after)).contacts:
            yield from page.contacts
            changed_after = page.high_water

    def withdrawn(self, after: int = 0, limit: int = 1000) -> WithdrawnPage:
        """Contacts whose consent has ended: delete your copies."""
        return self._send(self._calls.withdrawn(after, limit))

    def contact(self, hem: str) -> Contact:
        """One contact; ``AssentError`` with status 404 if there is none that may be read."""
        return self._send(self._calls.contact(hem))

    def delete_contact(self, hem: str) -> None:
        self._send(self._calls.delete(hem))


class AsyncAssentClient(_Shared):
    """A client for asyncio. Close it, or use it as an asynchronous context manager."""

    def __init__(self, service: str, pixel: str, api_key: str | None = None, *, timeout: float = 2.0, max_age: float = 5.0) -> None:
        super().__init__(service, pixel, api_key, timeout=timeout, max_age=max_age)
        self._http = httpx.AsyncClient()

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncAssentClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        try:
            return read_answer(call, await self._http.send(self._request(call)))
        except httpx.HTTPError as error:
            raise AssentError(f"the service could not be reached: {type(error).__name__}") from error

    async def check(self, visitor_id: str, purpose: Purpose) -> Check:
        """Asks whether a purpose is permitted, and why."""
        return await self._send(self._calls.check(visitor_id, purpose))

    async def permits(self, visitor_id: str | None, purpose: Purpose) -> bool:
        """Whether a purpose is permitted. Without a visitor, and after any failure, it is not."""
        if not visitor_id:
            return False
        if self._permissions.contains(visitor_id, purpose):
            return True
        asked_at = time.time()
        try:
            check = await self.check(visitor_id, purpose)
        except AssentError:
            return False
        if check.permitted:
            self._permissions.add(visitor_id, purpose, check, asked_at)
        return check.permitted

    async def store_contacts(self, contacts: Iterable[NewContact]) -> Stored:
        """Stores up to 1,000 people; ``refused`` names those whose visitors do not permit it."""
        return await self._send(self._calls.store(contacts))

    async def contacts_page(self, changed_after: int = 0, limit: int = 1000) -> ContactPage:
        """One page of contacts in the order of their changes."""
        return await self._send(self._calls.page(changed_after, limit))

    async def contacts(self, changed_after: int = 0) -> AsyncIterator[Contact]:
        """All contacts that are new or have changed since then."""
        while (page := await self.contacts_page(changed_after)).contacts:
            for contact in page.contacts:
                yield contact
            changed_after = page.high_water

    async def withdrawn(self, after: int = 0, limit: int = 1000) -> WithdrawnPage:
        """Contacts whose consent has ended: delete your copies."""
        return await self._send(self._calls.withdrawn(after, limit))

    async def contact(self, hem: str) -> Contact:
        """One contact; ``AssentError`` with status 404 if there is none that may be read."""
        return await self._send(self._calls.contact(hem))

    async def delete_contact(self, hem: str) -> None:
        await self._send(self._calls.delete(hem))
