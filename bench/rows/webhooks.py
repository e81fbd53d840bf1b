"""Webhooks: recording with and without a webhook, and the delivery rate and delay for a fast receiver."""

import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from load import alternate, median, ratio
from rows.record import Load
from servers import Nginx, Service

HOST = "hooks.example"
# Choices per second for the measurement of the delay: half of the goal of the delivery rate.
RATE = 500
GOAL = 1000
# Pending deliveries, and the pixels to which they belong: the deliveries of one pixel are sent one after the
# other.
BACKLOG, PIXELS = 10_000, 3


def certificate():
    """Creates an authority and a certificate of the host. Returns files by name."""
    with tempfile.TemporaryDirectory() as folder:
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=folder, check=True,
                           stderr=subprocess.DEVNULL)

        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        (Path(folder) / "names").write_text(f"subjectAltName=DNS:{HOST}")
        openssl("req", "-x509", *new, "-days", "2", "-subj", "/CN=bench", "-keyout", "authority.key",
                "-out", "authority.crt")
        openssl("req", *new, "-subj", f"/CN={HOST}", "-keyout", "hooks.key", "-out", "hooks.csr")
        openssl("x509", "-req", "-days", "2", "-in", "hooks.csr", "-CA", "authority.crt", "-CAkey",
                "authority.key", "-CAcreateserial", "-extfile", "names", "-out", "hooks.crt")
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


class Receiver(Nginx):
    """An nginx with its own certificate, which logs the arrival of each delivery."""

    def __init__(self):
        super().__init__(certificate(), config="webhooks.conf")
        self.authority = self.home / "authority.crt"

    def settings(self):
        return {"WEBHOOK_RESOLVE": f"{HOST}=127.0.0.1:{self.port}",
                "WEBHOOK_CA_FILE": str(self.authority)}

    def arrivals(self):
        """The arrival of each delivery, and its delay in seconds after the event: ids begin with their time."""
        lines = (self.home / "arrivals.log").read_text().split("\n")[:-1]
        found = []
        for line in lines:
            came, name = line.split()
            happened = (uuid.UUID(hex=name.removeprefix("evt_")).int >> 80) / 1000
            found.append((float(came), float(came) - happened))
        return found


def call(service, method, path, body=None):
    return service.json(method, path, body, Authorization=f"Bearer {service.key}")


def subscribe(service):
    endpoint = {"url": f"https://{HOST}/", "events": ["choice.recorded"]}
    return f"/v1/webhooks/{call(service, 'POST', '/v1/webhooks', endpoint)['endpoint_id']}"


def pause(service, path, paused):
    call(service, "PATCH", path, {"paused": paused})


def open_site(postgres, receiver, name):
    """A service on a database of its own, and a load of choices for its site."""
    database = f"webhooks_{name}"
    postgres.sql("postgres", f"CREATE DATABASE {database}")
    service = Service(postgres, database, **receiver.settings())
    load = Load(postgres, *service.site())
    load.stored = lambda: int(postgres.sql(database, "SELECT count(*) FROM consent_receipts"))
    load.sql = lambda statements: postgres.sql(database, statements)
    return service, load


def record(service, load):
    return load.run(service, "/v1/consent/record", 64)["per_second"]


def beside_none(postgres, receiver):
    """Recording without a webhook, with a paused one (its events are stored), and with an active one (its events are
    sent)."""
    unsubscribed, plain_load = open_site(postgres, receiver, "unsubscribed")
    subscribed, load = open_site(postgres, receiver, "subscribed")
    path = subscribe(subscribed)
    pause(subscribed, path, True)

    def with_paused():
        rate = record(subscribed, load)
        load.sql("TRUNCATE webhook_deliveries")
        return rate

    def with_active():
        pause(subscribed, path, False)
        rate = record(subscribed, load)
        # Otherwise pending deliveries would be sent during the other measurements.
        pause(subscribed, path, True)
        time.sleep(1)
        load.sql("TRUNCATE webhook_deliveries")
        return rate

    results = alternate({"none": lambda: record(unsubscribed, plain_load), "paused": with_paused,
                         "active": with_active})
    for service in (unsubscribed, subscribed):
        service.stop()

    def row(name, webhook):
        return {"what": f"record, 64 connections, with {webhook} webhook of the pixel",
                "beside": "the same without a webhook",
                "ours": f"{median(results[name]):,.0f}/s",
                "theirs": f"{median(results['none']):,.0f}/s",
                "value": ratio(results[name], results["none"]), "goal": 0.8}

    return [row("paused", "a paused"), row("active", "an active")]


def choose_once(service, load):
    service.json("POST", "/v1/consent/record", {
        "pixel_id": load.pixel, "visitor_id": "first", "url": "https://shop.example/",
        "consent": "accepted", "affirmative": True, "policy_version_hash": load.policy,
        "purposes": ["resolution"]})


def copies(pixel, count):
    """SQL that copies the first choice of a pixel this number of times, with its events."""
    return f"""
        WITH first AS (SELECT * FROM consent_receipts WHERE visitor_id = 'first'),
        copied AS (
            INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
                policy_hash, purposes, recorded_at, signature)
            SELECT '{pixel}', gen_random_uuid(), 'v' || n, origin, consent_state, policy_hash,
                purposes, recorded_at, signature
            FROM first, generate_series(1, {count}) AS n RETURNING seq)
        INSERT INTO webhook_deliveries (pixel_id, endpoint_id, event_id, kind, subject,
            occurred_at, next_attempt_at)
        SELECT '{pixel}', endpoint_id, gen_random_uuid(), kind,
            jsonb_build_object('seq', copied.seq), occurred_at, occurred_at
        FROM webhook_deliveries, copied
        WHERE subject->>'seq' = (SELECT seq::text FROM first);"""


def arrived(receiver, before, count, seconds):
    """Returns the deliveries since a time, once there are this many."""
    deadline = time.monotonic() + seconds
    while True:
        found = receiver.arrivals()[before:]
        if len(found) >= count:
            return found
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(found)} of {count} deliveries have arrived")
        time.sleep(0.2)


def backlog(postgres, receiver, count=BACKLOG):
    """Sends pending deliveries. Returns deliveries per second."""
    service, load = open_site(postgres, receiver, "backlog")
    path = subscribe(service)
    pause(service, path, True)
    domains = [f"shop-{number}.example" for number in range(1, PIXELS)]
    made = [call(service, "POST", "/v1/pixels", {"domain": domain}) for domain in domains]
    choose_once(service, load)
    for pixel in [load.pixel, *(pixel["pixel_id"] for pixel in made)]:
        load.sql(copies(pixel, count // PIXELS))
    before = len(receiver.arrivals())
    pause(service, path, False)
    came = sorted(at for at, _ in arrived(receiver, before, count // PIXELS * PIXELS, 120))
    service.stop()
    return (len(came) - 1) / (came[-1] - came[0])


def latency(postgres, receiver):
    """Records choices on a schedule. Returns the rate, and the delay of each choice's delivery in milliseconds."""
    service, load = open_site(postgres, receiver, "latency")
    subscribe(service)
    before = len(receiver.arrivals())
    rate = load.steady(service, RATE, 64)["per_second"]
    found = arrived(receiver, before, load.stored(), 60)
    service.stop()
    pauses = sorted(pause for _, pause in found)
    return rate, pauses[int(len(pauses) * 0.99)] * 1000


def measure(postgres):
    receiver = Receiver()
    beside = beside_none(postgres, receiver)
    peak = backlog(postgres, receiver)
    rate, p99 = latency(postgres, receiver)
    receiver.stop()
    return [
        *beside,
        {"what": f"deliveries of {BACKLOG:,} choices of {PIXELS} pixels to a fast receiver",
         "beside": "", "ours": f"{peak:,.0f}/s", "theirs": "", "value": peak, "unit": "/s",
         "goal": GOAL},
        {"what": "from choice to delivery, p99", "beside": "", "ours": f"{rate:,.0f}/s",
         "theirs": "", "value": p99, "unit": "ms", "goal": 2000, "at_most": True},
    ]
