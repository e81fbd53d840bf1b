"""Calls the client of openapi-python-client once per kind of route."""

import sys
import urllib.request

from generated.opc import AuthenticatedClient, Client
from generated.opc.api.accounts import issue_api_key, create_account, whoami
from generated.opc.api.accounts import list_plans
from generated.opc.api.consent import configure_consent, export_consent
from generated.opc.api.contacts import read_contacts, store_contacts
from generated.opc.api.pixels import create_pixel, delete_pixel, rename_pixel, show_pixel
from generated.opc.api.visitors import read_policy, record_consent, verify_receipt
from generated.opc.models import (
    Configured,
    ConsentRequest,
    ConsentState,
    ContactsRequest,
    IssuedKey,
    OpenedAccount,
    PixelRequest,
    PixelView,
    PlanList,
    Problem,
    Purpose,
    RecordRequest,
    ResolvedPersonIn,
    ResolvedPersonInContactType0,
    Saved,
    SignupRequest,
    Stored,
    ValidationProblem,
    Verdict,
    VerifyRequest,
    VerifyRequestReceipt,
    WhoAmI,
)


def main(base: str) -> None:
    anyone = Client(base_url=base)
    plans = list_plans.sync(client=anyone)
    assert isinstance(plans, PlanList) and plans.plans[0].pixels_included == 3

    signup = SignupRequest(email="python@example.com", display_name="Python")
    opened = create_account.sync(client=anyone, body=signup)
    assert isinstance(opened, OpenedAccount) and isinstance(opened.verification_url, str)
    again = create_account.sync(client=anyone, body=signup)
    assert isinstance(again, Problem) and again.detail == "email already registered"
    with urllib.request.urlopen(opened.verification_url) as page:
        assert page.status == 200
    holder = AuthenticatedClient(
        base_url=base, token=opened.signup_token, prefix="", auth_header_name="x-signup-token"
    )
    issued = issue_api_key.sync(client=holder, account_id=opened.account_id)
    assert isinstance(issued, IssuedKey), issued

    client = AuthenticatedClient(base_url=base, token=issued.api_key)
    me = whoami.sync(client=client)
    assert isinstance(me, WhoAmI) and me.account_id == opened.account_id
    created = create_pixel.sync(client=client, body=PixelRequest(domain="python.example"))
    assert isinstance(created, PixelView), created
    pixel = created.pixel_id
    renamed = rename_pixel.sync(pixel, client=client, body=PixelRequest(domain="renamed-python.example"))
    assert isinstance(renamed, PixelView) and renamed.domain == "renamed-python.example"
    unread = create_pixel.sync(client=client, body=PixelRequest(domain=7))  # type: ignore[arg-type]
    assert isinstance(unread, ValidationProblem) and unread.detail[0].loc == ["body", "domain"]

    request = ConsentRequest(controller_name="Python", purposes=[Purpose.ANALYTICS])
    configured = configure_consent.sync(pixel, client=client, body=request)
    assert isinstance(configured, Configured), configured
    choice = RecordRequest(
        pixel_id=pixel,
        visitor_id="visitor-1",
        url="https://renamed-python.example/",
        consent=ConsentState.ACCEPTED,
        affirmative=True,
        policy_version_hash=configured.policy_hash,
        purposes=[Purpose.ANALYTICS],
    )
    saved = record_consent.sync(client=anyone, body=choice)
    assert isinstance(saved, Saved), saved
    receipt = VerifyRequestReceipt.from_dict(saved.receipt.to_dict())
    verdict = verify_receipt.sync(
        client=anyone, body=VerifyRequest(receipt=receipt, signature=saved.signature)
    )
    assert isinstance(verdict, Verdict) and verdict.valid
    lines = export_consent.sync(pixel, client=client)
    assert isinstance(lines, str) and len(lines.splitlines()) == 2
    notice = read_policy.sync(pixel, client=anyone)
    assert isinstance(notice, str) and "<html" in notice

    person = ResolvedPersonIn(
        hem="ab" * 32, contact=ResolvedPersonInContactType0.from_dict({"first_name": "Mara"})
    )
    stored = store_contacts.sync(pixel, client=client, body=ContactsRequest(contacts=[person]))
    assert isinstance(stored, Stored) and stored.stored == 1
    read = read_contacts.sync(pixel, client=client, after=0)
    assert read is not None and not isinstance(read, Problem)
    assert read.contacts[0].hem == "ab" * 32

    assert delete_pixel.sync_detailed(pixel, client=client).status_code == 204
    missing = show_pixel.sync(pixel, client=client)
    assert isinstance(missing, Problem) and missing.detail == "pixel not found"


main(sys.argv[1])
