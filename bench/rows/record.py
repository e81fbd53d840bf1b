"""Recording choices: beside pgbench, with single rows and with our own statement, and at fixed rates."""

import itertools
import json
import re
import time
import urllib.request

from load import alternate, median, open_load, pgbench, ratio, wrk
from load.visits import choices
from rows.proof import wait_until_appended
from servers import OUT, ROOT, Service, free_port

DATABASE = "record"
SECONDS = 5
# Choices per second for the response times of a node with ordinary load.
ORDINARY = 1_000


class Load:
    """Choices of new visitors. Every confirmed choice must be stored."""

    runs = itertools.count()

    def __init__(self, postgres, pixel, policy, database=DATABASE):
        self.postgres, self.pixel, self.policy, self.database = postgres, pixel, policy, database

    def run(self, service, path, connections):
        """Records as fast as the connections allow."""
        before = self.stored()
        report = wrk(service.base + path, connections, SECONDS, script="record.lua",
                     arguments=[self.pixel, self.policy, f"r{next(self.runs)}"])
        # wrk ends without waiting for the last responses.
        self.must_be_stored(before, report, surplus=connections)
        return report

    def steady(self, service, rate, connections):
        """Records at a fixed rate, however long the responses take."""
        before = self.stored()
        requests = choices(self.pixel, self.policy, f"s{next(self.runs)}", round(rate * SECONDS))
        report = open_load(service, requests, rate, connections)
        self.must_be_stored(before, report, surplus=0)
        return report

    def must_be_stored(self, before, report, surplus):
        more = self.stored() - before - report["requests"]
        if not 0 <= more <= surplus:
            raise SystemExit(f"{report['requests']} confirmed, {more:+} stored")

    def stored(self):
        """Waits until all requests of the last load were processed."""
        count = None
        while count != (count := self.postgres.sql(self.database, "SELECT count(*) FROM consent_receipts")):
            time.sleep(0.2)
        return int(count)


def own_statement(pixel, policy, rows):
    """Writes a script for pgbench with the statement of the service's writer, from its description in `.sqlx`, for
    this number of choices of new visitors. The server generates the ids, everything else is constant."""
    queries = (json.loads(file.read_text())["query"] for file in (ROOT / ".sqlx").iterdir())
    plain = [query for query in queries if query.startswith("WITH recordable")
             and "log_leaves" not in query and "webhook_deliveries" not in query]
    if len(plain) != 1:
        raise SystemExit(f"{len(plain)} statements of the writer in .sqlx")

    def each(expression):
        return f"ARRAY(SELECT {expression} FROM generate_series(1, {rows}) AS n)"

    def same(value, kind="text"):
        return f"array_fill('{value}'::{kind}, ARRAY[{rows}])"

    hash_ = same("\\x" + "0123456789abcdef" * 4, "bytea")
    no_text = f"array_fill(NULL::text, ARRAY[{rows}])"
    # As the tag generates it, an id begins with the time.
    choice = "overlay(gen_random_uuid()::text PLACING to_hex(extract(epoch FROM clock_timestamp())::int) FROM 1)::uuid"
    columns = [same(pixel), each("gen_random_uuid()"), each("'visitor-' || :run || '-' || n"),
               same("https://shop.example"), same("accepted"), same(policy), same("analytics,resolution"),
               each("clock_timestamp()"), hash_, each(choice), each("clock_timestamp() + interval '1 minute'"),
               f"ARRAY['{pixel}']", each("clock_timestamp() + interval '4368 hours'"), same("en"),
               f"array_fill(NULL::bytea, ARRAY[{rows}])", hash_, no_text, no_text,
               f"array_fill(NULL::boolean, ARRAY[{rows}])"]
    statement = re.sub(r"\$(\d+)", lambda found: columns[int(found[1]) - 1], plain[0])
    script = OUT / "own_statement.sql"
    script.write_text("\\set run random(1, 1000000000000)\n" + " ".join(statement.split()) + ";\n")
    return script


class Batches:
    """The mean number of choices that a service has written per commit."""

    def __init__(self, metrics):
        self.url = f"http://127.0.0.1:{metrics}/metrics"

    def mean(self):
        with urllib.request.urlopen(self.url) as answer:
            lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
        name = "assent_receipts_batch_size"
        return float(lines[f"{name}_sum"]) / float(lines[f"{name}_count"])


def measure(postgres):
    postgres.sql("postgres", f"CREATE DATABASE {DATABASE}")
    metrics = free_port()
    service = Service(postgres, DATABASE, METRICS_ADDRESS=f"127.0.0.1:{metrics}")
    logged = Service(postgres, DATABASE, LOG_KEY="5ec7e75e" * 8)
    pixel, policy = service.site()
    load = Load(postgres, pixel, policy)
    path = "/v1/consent/record"

    def in_log():
        rate = load.run(logged, path, 256)["per_second"]
        # Otherwise the log would be extended during the next measurement.
        wait_until_appended(lambda statement: postgres.sql(DATABASE, statement))
        return rate

    load.run(service, path, 256)
    rows = round(Batches(metrics).mean())
    batched = own_statement(pixel, policy, rows)
    busy = []

    def most():
        report = load.run(service, path, 256)
        busy.append(report["busy_us"])
        return report["per_second"]

    results = alternate({
        "64": lambda: load.run(service, path, 64)["per_second"],
        "own statement": lambda: rows * pgbench(postgres, DATABASE, batched, clients=1, seconds=SECONDS),
        "pgbench": lambda: pgbench(postgres, DATABASE, "insert.sql", seconds=SECONDS,
                                   pixel=pixel, hash=policy),
        "256": most,
        "256 logged": in_log,
    }, rounds=7)
    logged.stop(counts=False)
    peak = median(results["256"])
    steady = [load.steady(service, peak / 2, 256) for _ in range(10)][1:]
    ordinary = [load.steady(service, ORDINARY, 256) for _ in range(10)][1:]
    service.stop()

    def row(connections, rival, beside, goal, log=""):
        ours, theirs = results[f"{connections}{log}"], results[rival]
        return {"what": f"record, {connections} connections, durable{log and ', in the log'}",
                "beside": beside,
                "ours": f"{median(ours):,.0f}/s", "theirs": f"{median(theirs):,.0f}/s",
                "value": ratio(ours, theirs), "goal": goal}

    inserts = "`pgbench`: single-row prepared inserts into the same table, 64 clients"
    rate = median(report["per_second"] for report in steady)
    return [
        {**row("256", "own statement",
               f"`pgbench`: the statement of our own writer, {rows} rows each, one client", 0.6),
         "name": "record own statement"},
        {"what": "record, 256 connections: processor time of the whole machine per choice, with the load generator",
         "beside": "", "ours": f"{median(busy[1:]):.0f} µs", "theirs": "", "value": median(busy[1:]), "unit": "µs",
         "goal": 45, "at_most": True, "name": "record busy"},
        row("64", "pgbench", inserts, 2.2),
        row("256", "pgbench", inserts, 2.5),
        row("256", "256", "the same without the log", 0.97, log=" logged"),
        {"what": "record, p99 at half of its peak rate (256 connections)", "beside": "",
         "ours": f"{rate:,.0f}/s of {peak:,.0f}/s", "theirs": "",
         "value": median(report["p99_ms"] for report in steady), "unit": "ms",
         "goal": 6, "at_most": True, "name": "record p99"},
        {"what": "record, p99 at a fixed rate (256 connections)", "beside": "", "ours": f"{ORDINARY:,}/s", "theirs": "",
         "value": median(report["p99_ms"] for report in ordinary), "unit": "ms",
         "goal": 3, "at_most": True, "name": "record p99 ordinary"},
    ]
