"""The console of an account with ten sites and very many receipts: the response time and the size of its
screens."""

import http.client
import time
import urllib.parse
import zlib

from load import median
from rows.check import Stock

RECEIPTS = 10_000_000
SITES = 10
PEOPLE = 1_000
REPEATS = 15


class Member:
    """A signed-in browser with one connection."""

    def __init__(self, service):
        self.service = service
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port)
        form = urllib.parse.urlencode({"api_key": service.key})
        self.connection.request("POST", "/console/sign-in/key", form, {
            "Origin": f"http://localhost:{service.port}",
            "Content-Type": "application/x-www-form-urlencoded"})
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 303:
            raise SystemExit(f"the console answers {answer.status} to its sign-in")
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]

    def open(self, path):
        """Returns the milliseconds for a screen, and its bytes."""
        started = time.perf_counter()
        self.connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = self.connection.getresponse()
        page = answer.read()
        took = (time.perf_counter() - started) * 1000
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}")
        return took, page


def wait_until_counted(stock):
    """Waits for the job of the daily counts, which runs once a minute."""
    counted = "SELECT COALESCE(bool_or(is_ready AND up_to_seq > 0), false) FROM consent_counted"
    while stock.postgres.sql(stock.database, counted) != "t":
        time.sleep(1)


def store_people(stock):
    items = [{"hem": f"{n:064x}", "contact": {"name": f"Person {n}"}} for n in range(PEOPLE)]
    stock.service.json("POST", f"/v1/pixels/{stock.pixel}/contacts", {"contacts": items},
                       Authorization=f"Bearer {stock.service.key}")


def paths(stock):
    # The ids of the generated receipts contain no time, which the console uses to find receipts.
    choice = {"pixel_id": stock.pixel, "visitor_id": "visitor-5000000", "consent": "declined",
              "url": "https://shop.example/"}
    receipt = stock.service.json("POST", "/v1/consent/record", choice)["receipt_id"]
    site = f"/console/sites/{stock.pixel}"
    return ["/console", "/console/sites/new", f"{site}/install", f"{site}/overview",
            f"{site}/overview?days=365", f"{site}/choices",
            f"{site}/choices?visitor_id=visitor-5000000", f"{site}/choices?state=accepted",
            f"{site}/choices/{receipt}", f"{site}/popup", f"{site}/popup/versions",
            f"{site}/contacts", f"{site}/contacts?sort=name", f"{site}/contacts/days",
            f"{site}/contacts/find?hem={1:064x}", f"{site}/requests",
            "/console/account", "/console/account/members", "/console/account/events",
            "/console/account/suppressed", "/console/account/leave"]


def measure(postgres):
    stock = Stock(postgres, RECEIPTS)
    stock.postgres.sql(stock.database, "UPDATE accounts SET plan = 'unlimited'")
    credentials = {"Authorization": f"Bearer {stock.service.key}"}
    for number in range(1, SITES):
        stock.service.json("POST", "/v1/pixels", {"domain": f"shop{number}.example"}, **credentials)
    store_people(stock)
    wait_until_counted(stock)
    member = Member(stock.service)
    screens = {}
    for path in paths(stock):
        responses = [member.open(path) for _ in range(REPEATS)]
        page = responses[-1][1]
        name = path.replace(stock.pixel, "…").split("/choices/")[0]
        name += "/choices/…" if "/choices/" in path else ""
        screens[name] = (median(took for took, _ in responses[3:]), len(page), len(zlib.compress(page)))
    stock.end()
    took, size = (max(screens, key=lambda name: screens[name][index]) for index in (0, 1))
    each = "; ".join(f"`{name}` {ms:.0f} ms, {bytes / 1000:.0f} KB, {packed / 1000:.0f} KB compressed"
                     for name, (ms, bytes, packed) in screens.items())
    common = {"beside": "", "theirs": "", "at_most": True}
    at = f"{SITES} sites and {RECEIPTS:,} receipts"
    return [
        {"what": f"slowest of {len(screens)} screens of the console, {at}", **common,
         "ours": f"`{took}`", "value": screens[took][0], "unit": "ms", "goal": 100},
        {"what": "largest of these screens", **common, "ours": f"`{size}`",
         "value": screens[size][1] / 1000, "unit": "KB", "goal": 60, "note": f"Screens: {each}."},
    ]
