"""The clients against the real service."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from assent_consent import AssentClient, AssentError, AsyncAssentClient, Check, NewContact, hem
from assent_consent.calls import Permissions

Call = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest, site: Any) -> Call:
    """Calls a method of a client by its name, with the same result for both clients."""

    async def run_async(name: str, args: Any, settings: dict[str, Any]) -> Any:
        async with AsyncAssentClient(site.base, site.pixel, site.key, **settings) as client:
            result = getattr(client, name)(*args)
            return [item async for item in result] if inspect.isasyncgen(result) else await result

    def run(name: str, *args: Any, **settings: Any) -> Any:
        if request.param == "async":
            return asyncio.run(run_async(name, args, settings))
        with AssentClient(site.base, site.pixel, site.key, **settings) as client:
            result = getattr(client, name)(*args)
            return list(result) if inspect.isgenerator(result) else result

    return run


def test_a_check_follows_the_latest_choice(site: Any, call: Call) -> None:
    visitor = site.choose("accepted", ["analytics"])
    check = call("check", visitor, "analytics")
    assert (check.permitted, check.reason, check.purposes) == (True, "ok", ("analytics",))
    assert check.expires_at > datetime.now(timezone.utc)
    assert call("check", visitor, "resolution").reason == "purpose_not_granted"
    site.choose("withdrawn", visitor=visitor)
    assert call("check", visitor, "analytics").reason == "declined_or_withdrawn"
    assert not call("permits", visitor, "analytics")


def test_a_visitor_of_another_site_is_unknown(service: Any, site: Any, call: Call) -> None:
    visitor = service.site().choose("accepted", ["analytics"])
    assert call("check", visitor, "analytics").reason == "no_consent_record"
    assert not call("permits", visitor, "analytics")


def test_without_a_visitor_nothing_is_permitted(call: Call) -> None:
    assert not call("permits", None, "analytics")
    assert not call("permits", "", "analytics")


def test_a_service_that_cannot_be_reached_permits_nothing(site: Any) -> None:
    started = time.monotonic()
    with AssentClient("http://127.0.0.1:9", site.pixel) as client:
        assert not client.permits("visitor", "analytics")
        with pytest.raises(AssentError) as caught:
            client.check("visitor", "analytics")
    assert caught.value.status is None
    assert time.monotonic() - started < 30


def test_a_permission_is_used_again_for_its_age_and_no_longer(site: Any) -> None:
    visitor = site.choose("accepted", ["analytics"])
    with AssentClient(site.base, site.pixel, max_age=60) as cached, AssentClient(site.base, site.pixel, max_age=0) as fresh:
        assert cached.permits(visitor, "analytics") and fresh.permits(visitor, "analytics")
        site.choose("withdrawn", visitor=visitor)
        assert cached.permits(visitor, "analytics")
        assert not fresh.permits(visitor, "analytics")
        site.choose("accepted", ["analytics"], visitor)
        assert fresh.permits(visitor, "analytics"), "a refusal is not cached"


def test_the_age_of_a_permission_counts_from_the_question() -> None:
    permitted = Check(permitted=True, reason="ok", receipt_id=None, purposes=(), recorded_at=None, expires_at=None)
    permissions = Permissions(max_age=5)
    permissions.add("visitor", "analytics", permitted, asked_at=time.time() - 6)
    assert not permissions.contains("visitor", "analytics")
    permissions.add("visitor", "analytics", permitted, asked_at=time.time() - 1)
    assert permissions.contains("visitor", "analytics")


def test_contacts_are_stored_read_and_deleted(site: Any, call: Call) -> None:
    ann, bob = hem(" Ann@Example.com "), hem("bob@example.com")
    permitting, declining = site.choose("accepted", ["resolution"]), site.choose("declined")
    contacts = [
        NewContact(ann, {"name": "Ann"}, visitor_id=permitting, seen_at=datetime(2026, 3, 10, 12, tzinfo=timezone.utc)),
        NewContact(bob, {"name": "Bob"}, visitor_id=declining),
    ]
    stored = call("store_contacts", contacts)
    assert stored.stored == 1
    assert [(refused.index, refused.reason) for refused in stored.refused] == [(1, "declined_or_withdrawn")]
    (read,) = call("contacts")
    assert (read.hem, read.contact, read.resolved_at) == (ann, {"name": "Ann"}, "2026-03-10T12:00:00Z")
    assert read.consent["visitor_id"] == permitting
    assert call("contact", ann).contact == {"name": "Ann"}
    call("delete_contact", ann)
    with pytest.raises(AssentError) as caught:
        call("contact", ann)
    assert (caught.value.status, caught.value.detail) == (404, "contact not found")


def test_a_withdrawal_hides_the_contact_and_lists_it(site: Any, call: Call) -> None:
    visitor, person = site.choose("accepted", ["resolution"]), hem("ann@example.com")
    call("store_contacts", [NewContact(person, {"name": "Ann"}, visitor_id=visitor)])
    site.choose("withdrawn", visitor=visitor)
    assert call("contacts") == []
    # The contact is hidden at once. A job of the service adds it to the list some seconds later.
    deadline = time.monotonic() + 60
    while not (gone := call("withdrawn").withdrawn) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [contact.hem for contact in gone] == [person]


def test_contacts_are_read_over_several_pages(site: Any, call: Call) -> None:
    call("store_contacts", [NewContact(hem(f"{number}@example.com"), {"number": number}) for number in range(7)])
    page = call("contacts_page", 0, 3)
    assert len(page.contacts) == 3
    assert [contact.contact["number"] for contact in call("contacts", page.high_water)] == [3, 4, 5, 6]


def test_refusals_have_the_sentence_of_the_service(site: Any, service: Any) -> None:
    with AssentClient(site.base, service.site().pixel, site.key) as client, pytest.raises(AssentError) as caught:
        client.contacts_page()
    assert (caught.value.status, caught.value.detail) == (404, "pixel not found")
    with AssentClient(site.base, site.pixel) as client, pytest.raises(AssentError, match="needs an API key"):
        client.contacts_page()
