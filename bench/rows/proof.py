"""The public log: appending choices, the time until a choice has a proof, and proofs among ten million receipts."""

import contextlib
import json
import threading
import time
import urllib.error
import urllib.request

from load import median, open_load, wrk
from load import visits
from rows.check import Stock
from servers import OUT, Service, free_port

RECEIPTS = 10_000_000
ROUNDS = 7
APPENDED = 20_000
# The seconds in which these choices are recorded.
RECORDING = 4
MAX_WAIT = 60
# The lock under which a node appends (`src/proof/store/mod.rs`).
APPENDING = 0x0a55e117106a
# The number of concurrent requests for proofs.
CONNECTIONS = 4
# While choices are recorded at this rate, for this number of seconds, other visitors wait for the proofs of theirs.
BESIDE, BESIDE_SECONDS = 1_000, 60
# Seconds between two requests for the same proof, and between two of these visitors.
AGAIN, NEXT = 0.1, 0.2


def wait_until_appended(sql):
    """Waits until no choice is pending."""
    deadline = time.monotonic() + MAX_WAIT
    while sql("SELECT EXISTS (SELECT FROM log_leaves WHERE epoch IS NULL)") == "t":
        if time.monotonic() > deadline:
            raise SystemExit("choices wait for the log")
        time.sleep(0.1)


class Log:
    """A service with a log, on a database with many receipts."""

    def __init__(self, stock):
        self.stock, self.metrics = stock, free_port()
        stock.service.stop(counts=False)
        stock.service = Service(stock.postgres, stock.database, LOG_KEY="5ec7e75e" * 8,
                                METRICS_ADDRESS=f"127.0.0.1:{self.metrics}")

    def sql(self, statement):
        return self.stock.postgres.sql(self.stock.database, statement)

    def appends(self):
        """The number of appends, and their duration in seconds."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        name = "assent_log_sealing_duration_seconds"
        found = dict(line.split(" ") for line in lines if line.startswith(name))
        return int(found[f"{name}_count"]), float(found[f"{name}_sum"])

    @contextlib.contextmanager
    def not_appended(self):
        """Holds the lock for appending, so that choices wait for the log."""
        with self.stock.postgres.session(self.stock.database) as session:
            print(f"SELECT pg_advisory_lock({APPENDING});", file=session.stdin, flush=True)
            session.stdout.readline()
            yield

    def record(self, number):
        """Records the choices that are appended."""
        chosen = visits.choices(self.stock.pixel, self.stock.policy, f"p{number}", APPENDED)
        open_load(self.stock.service, chosen, APPENDED / RECORDING, 64)


def append_times(log):
    """The milliseconds for this number of choices, which were appended with one entry."""
    took = []
    for number in range(ROUNDS):
        wait_until_appended(log.sql)
        with log.not_appended():
            times, seconds = log.appends()
            log.record(number)
        wait_until_appended(log.sql)
        later, more = log.appends()
        if later != times + 1:
            raise SystemExit(f"{APPENDED} choices were appended with {later - times} entries")
        took.append((more - seconds) * 1000)
    return took


def wait_for_proof(log, visitor):
    """Records a choice. Returns the seconds from its receipt to its proof."""
    service, pixel = log.stock.service, log.stock.pixel
    made = visits.choice(pixel, "shop.example", log.stock.policy, visitor)
    service.call(made["method"], made["path"], json.loads(made["body"]))
    begun = time.monotonic()
    while True:
        try:
            service.call("GET", f"/v1/consent/proof?pixel_id={pixel}&visitor_id={visitor}")
            return time.monotonic() - begun
        except urllib.error.HTTPError as refused:
            if refused.code not in (404, 409) or time.monotonic() - begun > MAX_WAIT:
                raise
        time.sleep(AGAIN)


def proof_delays(log):
    """The seconds from choice to proof of visitors while others choose, in ascending order."""
    chosen = visits.choices(log.stock.pixel, log.stock.policy, "beside", BESIDE * BESIDE_SECONDS)
    delays, threads = [], []
    reports = []
    load = threading.Thread(target=lambda: reports.append(open_load(log.stock.service, chosen, BESIDE, 64)))
    load.start()
    number = 0
    while load.is_alive():
        thread = threading.Thread(target=lambda visitor: delays.append(wait_for_proof(log, visitor)),
                                  args=(f"waiting-{number}",))
        thread.start()
        threads.append(thread)
        number += 1
        time.sleep(NEXT)
    for thread in threads:
        thread.join()
    if not reports:
        raise SystemExit("the load beside the visitors failed")
    if len(delays) != number:
        raise SystemExit(f"{len(delays)} of {number} visitors have a proof")
    return sorted(delays)


def proofs(log):
    """Requests proofs of random visitors in the log. Returns the peak rate, and the reports of open loads at half
    of that rate."""
    visitors = OUT / "visitors.txt"
    rows = log.sql("SELECT visitor_id FROM consent_receipts WHERE salt IS NOT NULL"
                   " ORDER BY random() LIMIT 50000")
    visitors.write_text(rows + "\n")
    service, pixel = log.stock.service, log.stock.pixel
    peak = median(wrk(service.base, CONNECTIONS, 4, script="proof.lua",
                      arguments=[pixel, visitors])["per_second"] for _ in range(3))
    names = rows.split()
    return peak, [open_load(service, visits.proofs(pixel, names, round(peak / 2 * 4)), peak / 2, CONNECTIONS)
                  for _ in range(ROUNDS + 1)][1:]


def measure(postgres):
    stock = Stock(postgres, RECEIPTS)
    log = Log(stock)
    took = append_times(log)
    delays = proof_delays(log)
    peak, reports = proofs(log)
    stock.end()
    rate = median(report["per_second"] for report in reports)
    common = {"beside": "", "theirs": "", "unit": "ms", "at_most": True}
    return [
        {"what": f"appending {APPENDED:,} choices to the log", **common,
         "ours": f"{min(took):.0f} to {max(took):.0f} ms", "value": median(took), "goal": 20},
        {"what": f"from choice to proof, p99, while {BESIDE:,} choices per second are recorded", "beside": "",
         "ours": f"{len(delays)} visitors, p50 {median(delays):.1f} s", "theirs": "", "unit": "s", "at_most": True,
         "value": delays[int(len(delays) * 0.99)], "goal": 3, "name": "proof delay"},
        {"what": f"a proof, p99 at half of its peak rate, at {RECEIPTS:,} receipts ({CONNECTIONS} connections)",
         **common, "ours": f"{rate:,.0f}/s of {peak:,.0f}/s", "value": median(report["p99_ms"] for report in reports),
         "goal": 10},
    ]
