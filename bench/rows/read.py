"""Reads of owners: the consent log of one visitor among very many, and a long day of contacts."""

import hashlib
import json
import time

from load import alternate, median, open_load, ratio, wrk
from load.visits import logs
from rows.check import Stock

RECEIPTS = 10_000_000
CONTACTS = 100_000
ITEMS = 1_000


def log_of_visitor(postgres):
    stock = Stock(postgres, RECEIPTS)
    base, arguments = stock.service.base, [stock.pixel, stock.service.key, stock.receipts]

    def peak(seconds):
        return wrk(base, connections=8, seconds=seconds, script="log.lua",
                   arguments=arguments)["per_second"]

    # As before the checks, the processes of PostgreSQL map the cache.
    peak(20)
    most = median(peak(5) for _ in range(3))
    runs = [open_load(stock.service, logs(*arguments, round(most / 2 * 5)), most / 2, 8)
            for _ in range(9)]
    stock.end()
    rate = median(report["per_second"] for report in runs)
    return {"what": f"log filtered by visitor at {RECEIPTS:,} receipts, p99 at half of its peak rate "
                    "(8 connections)",
            "beside": "", "ours": f"{rate:,.0f}/s of {most:,.0f}/s", "theirs": "",
            "value": median(report["p99_ms"] for report in runs), "unit": "ms",
            "goal": 10, "at_most": True}


class Day:
    """A pixel with contacts of one day."""

    DATE = "2026-03-10"

    def __init__(self, service, pixel, key, is_bound):
        self.service, self.pixel, self.is_bound = service, pixel, is_bound
        self.credentials = {"Authorization": f"Bearer {key}"}

    def item(self, number):
        item = {"hem": hashlib.sha256(b"%d" % number).hexdigest(), "seen_at": self.DATE,
                "contact": {"name": f"Person {number}", "company": "Example Ltd", "n": number}}
        return {**item, "visitor_id": f"visitor-{number}"} if self.is_bound else item

    def fill(self):
        """Returns the contacts stored per second."""
        started = time.monotonic()
        for first in range(1, CONTACTS + 1, ITEMS):
            items = [self.item(number) for number in range(first, first + ITEMS)]
            answer = self.service.json("POST", f"/v1/pixels/{self.pixel}/contacts",
                                       {"contacts": items}, **self.credentials)
            if answer["stored"] != ITEMS:
                raise SystemExit(f"not all contacts were stored: {json.dumps(answer)[:500]}")
        return CONTACTS / (time.monotonic() - started)

    def read(self):
        """Returns the contacts read per second."""
        started = time.monotonic()
        text = self.service.call("GET", f"/v1/pixels/{self.pixel}/contacts?on={self.DATE}",
                                 **self.credentials)
        took = time.monotonic() - started
        contacts = json.loads(text)["contacts"]
        bound = sum("consent" in contact for contact in contacts)
        if (len(contacts), bound) != (CONTACTS, CONTACTS if self.is_bound else 0):
            raise SystemExit(f"{len(contacts)} contacts were read, {bound} of them bound")
        return CONTACTS / took


def day_of_bound(postgres):
    stock = Stock(postgres, CONTACTS)
    bound = Day(stock.service, stock.pixel, stock.service.key, is_bound=True)
    pixel, _ = stock.service.site("other.example")
    free = Day(stock.service, pixel, stock.service.key, is_bound=False)
    postgres.sql(stock.database, "UPDATE accounts SET plan = 'unlimited'")
    stored, stored_free = bound.fill(), free.fill()
    postgres.sql(stock.database, "VACUUM (ANALYZE)")
    results = alternate({"bound": bound.read, "free": free.read})
    stock.end()
    ours, theirs = results["bound"], results["free"]
    return {"what": f"reading the {CONTACTS:,} contacts of a day, bound to visitors",
            "beside": "the same, not bound to visitors",
            "ours": f"{median(ours):,.0f}/s", "theirs": f"{median(theirs):,.0f}/s",
            "value": ratio(ours, theirs), "goal": 0.5,
            "note": f"Bound contacts were stored at {stored:,.0f}/s, unbound ones at "
                    f"{stored_free:,.0f}/s, {ITEMS:,} per request, one request at a time."}


def measure(postgres):
    return [log_of_visitor(postgres), day_of_bound(postgres)]
