"""Webhooks: recording with and without a webhook, the delivery rate and delay for a fast receiver, and the same with
1,000 endpoints of which a tenth does not answer."""

import random
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from load import alternate, median, open_load, ratio
from load.visits import choice
from rows.record import Load
from servers import Nginx, Service, free_port

HOST = "hooks.example"
# Choices per second for the measurement of the delay: half of the goal of the delivery rate.
RATE = 500
GOAL = 1000
# Pending deliveries, and the pixels to which they belong: the deliveries of one pixel are sent one after the
# other.
BACKLOG, PIXELS = 10_000, 3
# The bytes of a line in the log of arrivals: seconds with three digits after the point, and an id.
SHORTEST_LINE = len("1700000000.000 evt_") + 32 + 1
# Sites of different customers, each with an endpoint. The servers of some refuse connections, and those of others
# accept them and never answer.
ENDPOINTS, DEAD, SLOW = 1_000, 50, 50
# Choices per second for the delay at these endpoints, its duration in seconds, and the pending deliveries of each
# endpoint for the rate.
ENDPOINTS_RATE, ENDPOINTS_SECONDS, EACH_PENDING = 1_000, 10, 20


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

    def logged(self):
        """The size of the log of arrivals in bytes."""
        return (self.home / "arrivals.log").stat().st_size

    def arrivals(self, before):
        """The arrival of each delivery that was logged after this size, and its delay in seconds after the event: ids
        begin with their time."""
        with open(self.home / "arrivals.log", "rb") as log:
            log.seek(before)
            lines = log.read().decode().split("\n")[:-1]
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
    load = Load(postgres, *service.site(), database)
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
    """Returns the deliveries that were logged after this size, once there are this many."""
    deadline = time.monotonic() + seconds
    found = []
    while len(found) < count:
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(found)} of {count} deliveries have arrived")
        time.sleep(0.2)
        if receiver.logged() - before >= count * SHORTEST_LINE:
            found = receiver.arrivals(before)
    return found


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
    before = receiver.logged()
    pause(service, path, False)
    came = sorted(at for at, _ in arrived(receiver, before, count // PIXELS * PIXELS, 120))
    service.stop()
    return (len(came) - 1) / (came[-1] - came[0])


def latency(postgres, receiver):
    """Records choices on a schedule. Returns the rate, and the delay of each choice's delivery in milliseconds."""
    service, load = open_site(postgres, receiver, "latency")
    subscribe(service)
    before = receiver.logged()
    rate = load.steady(service, RATE, 64)["per_second"]
    found = arrived(receiver, before, load.stored(), 60)
    service.stop()
    pauses = sorted(pause for _, pause in found)
    return rate, pauses[int(len(pauses) * 0.99)] * 1000


class Endpoints:
    """A service with many customers, each with a site and an endpoint."""

    DATABASE = "webhooks_endpoints"

    def __init__(self, postgres, receiver):
        self.postgres, self.receiver = postgres, receiver
        postgres.sql("postgres", f"CREATE DATABASE {self.DATABASE}")
        self.silent = socket.create_server(("127.0.0.1", 0), backlog=4096)
        settings = receiver.settings()
        hosts = [settings["WEBHOOK_RESOLVE"], f"dead.example=127.0.0.1:{free_port()}",
                 f"slow.example=127.0.0.1:{self.silent.getsockname()[1]}"]
        self.settings = {**settings, "WEBHOOK_RESOLVE": ",".join(hosts)}
        self.start()
        self.sites = [self.subscribed(number) for number in range(ENDPOINTS)]

    def start(self):
        self.service = Service(self.postgres, self.DATABASE, **self.settings)

    def subscribed(self, number):
        """Opens an account with a site and an endpoint. Returns its pixel, host and policy."""
        host = f"shop-{number}.example"
        pixel, policy = self.service.site(host)
        receiver = "dead.example" if number < DEAD else "slow.example" if number < DEAD + SLOW else HOST
        call(self.service, "POST", "/v1/webhooks",
             {"url": f"https://{receiver}/{number}", "events": ["choice.recorded"]})
        return pixel, host, policy

    def delay(self):
        """Records choices on a schedule. Returns the delays of the deliveries to healthy endpoints, in milliseconds,
        in ascending order."""
        count = ENDPOINTS_RATE * ENDPOINTS_SECONDS
        chosen = [(number, choice(*self.sites[number], f"d-{visitor}"))
                  for visitor in range(count) for number in [random.randrange(ENDPOINTS)]]
        before = self.receiver.logged()
        open_load(self.service, [request for _, request in chosen], ENDPOINTS_RATE)
        healthy = sum(number >= DEAD + SLOW for number, _ in chosen)
        return sorted(delay * 1000 for _, delay in arrived(self.receiver, before, healthy, 60))

    def rate(self):
        """Deliveries per second to healthy endpoints, when deliveries of all endpoints are pending."""
        self.service.stop()
        before = self.receiver.logged()
        self.postgres.sql(self.DATABASE, f"""
            WITH first AS (SELECT DISTINCT ON (pixel_id) * FROM consent_receipts),
            copied AS (
                INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash,
                    purposes, recorded_at, signature)
                SELECT pixel_id, gen_random_uuid(), 'v' || n, origin, consent_state, policy_hash, purposes,
                    recorded_at, signature
                FROM generate_series(1, {EACH_PENDING}) AS n, first RETURNING pixel_id, seq)
            INSERT INTO webhook_deliveries (pixel_id, endpoint_id, event_id, kind, subject, occurred_at,
                next_attempt_at)
            SELECT pixel_id, endpoint_id, gen_random_uuid(), 'choice.recorded', jsonb_build_object('seq', seq), now(),
                now()
            FROM copied JOIN pixels USING (pixel_id) JOIN webhook_endpoints USING (account_id);
            ANALYZE""")
        self.start()
        healthy = (ENDPOINTS - DEAD - SLOW) * EACH_PENDING
        came = sorted(at for at, _ in arrived(self.receiver, before, healthy, 120))
        return (len(came) - 1) / (came[-1] - came[0])

    def stop(self):
        self.service.stop()
        self.silent.close()


def many_endpoints(postgres, receiver):
    endpoints = Endpoints(postgres, receiver)
    # The first deliveries find out which endpoints fail.
    endpoints.delay()
    delays = [endpoints.delay() for _ in range(3)]
    rates = [endpoints.rate() for _ in range(3)]
    endpoints.stop()
    p99 = [found[int(len(found) * 0.99)] for found in delays]
    where = f"{ENDPOINTS:,} endpoints, of which {DEAD} refuse connections and {SLOW} never answer"
    return [
        {"what": f"deliveries to {where}: the healthy ones, when all have {EACH_PENDING} pending", "beside": "",
         "ours": f"{median(rates):,.0f}/s", "theirs": "", "value": median(rates), "unit": "/s", "goal": 5000,
         "name": "webhooks endpoints"},
        {"what": f"from choice to delivery with {where}: p99 of the healthy ones", "beside": "",
         "ours": f"{ENDPOINTS_RATE:,}/s", "theirs": "", "value": median(p99), "unit": "ms", "goal": 250,
         "at_most": True, "name": "webhooks endpoints p99"},
    ]


def measure(postgres):
    receiver = Receiver()
    beside = beside_none(postgres, receiver)
    peak = backlog(postgres, receiver)
    rate, p99 = latency(postgres, receiver)
    receiver.stop()
    # A short log of arrivals is read again and again.
    receiver = Receiver()
    many = many_endpoints(postgres, receiver)
    receiver.stop()
    return [
        *beside,
        {"what": f"deliveries of {BACKLOG:,} choices of {PIXELS} pixels to a fast receiver",
         "beside": "", "ours": f"{peak:,.0f}/s", "theirs": "", "value": peak, "unit": "/s",
         "goal": GOAL},
        {"what": "from choice to delivery, p99", "beside": "", "ours": f"{rate:,.0f}/s",
         "theirs": "", "value": p99, "unit": "ms", "goal": 2000, "at_most": True},
        *many,
    ]
