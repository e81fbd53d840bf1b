"""Recording choices: beside pgbench, beside one row per commit, and at half of its peak."""

import itertools
import time

from load import alternate, bench_program, median, open_load, pgbench, ratio, wrk
from load.visits import choices
from rows.proof import wait_until_appended
from servers import Service

DATABASE = "record"
SECONDS = 5


class Load:
    """Choices of new visitors. Every confirmed choice must be stored."""

    runs = itertools.count()

    def __init__(self, postgres, pixel, policy):
        self.postgres, self.pixel, self.policy = postgres, pixel, policy

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
        while count != (count := self.postgres.sql(DATABASE, "SELECT count(*) FROM consent_receipts")):
            time.sleep(0.2)
        return int(count)


def measure(postgres):
    alone_program = bench_program("one_row_per_commit")
    postgres.sql("postgres", f"CREATE DATABASE {DATABASE}")
    service = Service(postgres, DATABASE)
    alone = Service(postgres, DATABASE, program=alone_program)
    logged = Service(postgres, DATABASE, LOG_KEY="5ec7e75e" * 8)
    pixel, policy = service.site()
    load = Load(postgres, pixel, policy)
    path = "/v1/consent/record"

    def in_log():
        rate = load.run(logged, path, 256)["per_second"]
        # Otherwise the log would be extended during the next measurement.
        wait_until_appended(lambda statement: postgres.sql(DATABASE, statement))
        return rate

    results = alternate({
        "64": lambda: load.run(service, path, 64)["per_second"],
        "pgbench": lambda: pgbench(postgres, DATABASE, "insert.sql", seconds=SECONDS,
                                   pixel=pixel, hash=policy),
        "256": lambda: load.run(service, path, 256)["per_second"],
        "256 logged": in_log,
        "64 alone": lambda: load.run(alone, "/bench/record", 64)["per_second"],
        "256 alone": lambda: load.run(alone, "/bench/record", 256)["per_second"],
    }, rounds=7)
    logged.stop(counts=False)
    alone.stop(counts=False)
    peak = median(results["256"])
    steady = [load.steady(service, peak / 2, 256) for _ in range(10)][1:]
    service.stop()

    def row(connections, rival, beside, goal, log=""):
        ours, theirs = results[f"{connections}{log}"], results[rival]
        return {"what": f"record, {connections} connections, durable{log and ', in the log'}",
                "beside": beside,
                "ours": f"{median(ours):,.0f}/s", "theirs": f"{median(theirs):,.0f}/s",
                "value": ratio(ours, theirs), "goal": goal}

    alone_row = "one row per commit through the same server"
    inserts = "`pgbench`: single-row prepared inserts into the same table, 64 clients"
    rate = median(report["per_second"] for report in steady)
    return [
        row("64", "pgbench", inserts, 2.2),
        row("256", "pgbench", inserts, 2.5),
        {**row("64", "64 alone", alone_row, 1), "goal_text": "more"},
        {**row("256", "256 alone", alone_row, 1), "goal_text": "more"},
        row("256", "256", "the same without the log", 0.97, log=" logged"),
        {"what": "record, p99 at half of its peak rate (256 connections)", "beside": "",
         "ours": f"{rate:,.0f}/s of {peak:,.0f}/s", "theirs": "",
         "value": median(report["p99_ms"] for report in steady), "unit": "ms",
         "goal": 10, "at_most": True, "name": "record p99"},
    ]
