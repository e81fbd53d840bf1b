"""Checking a visitor: beside pgbench, and with a thousand times as many receipts."""

import subprocess

from load import HERE, alternate, median, pgbench, ratio, wrk
from servers import Service


class Stock:
    """A database with this number of receipts of one pixel, and a service on it."""

    def __init__(self, postgres, receipts):
        self.postgres, self.receipts = postgres, receipts
        self.database = f"check_{receipts}"
        postgres.sql("postgres", f"CREATE DATABASE {self.database}")
        self.service = Service(postgres, self.database)
        self.pixel, self.policy = self.service.site()
        subprocess.run(
            [postgres.programs / "psql", "-qX", "-v", "ON_ERROR_STOP=1",
             "-v", f"pixel={self.pixel}", "-v", f"hash={self.policy}", "-v", f"receipts={receipts}",
             "-f", HERE / "fill.sql", postgres.url(self.database)], check=True)
        answer = self.service.json("GET", "/v1/consent/check?required_purpose=resolution"
                                   f"&pixel_id={self.pixel}&visitor_id=visitor-{receipts}")
        if not answer["permitted"]:
            raise SystemExit(f"the receipts are not what they should be: {answer}")

    def check(self, among, seconds=4):
        return wrk(self.service.base, seconds=seconds, script="check.lua",
                   arguments=[self.pixel, among])["per_second"]

    def bytes_per_receipt(self):
        table, whole = self.postgres.sql(
            self.database, "SELECT pg_relation_size('consent_receipts'),"
            " pg_total_relation_size('consent_receipts')").split("|")
        return int(table) / self.receipts, int(whole) / self.receipts

    def end(self):
        self.service.stop()
        self.postgres.sql("postgres", f"DROP DATABASE {self.database} WITH (FORCE)")


def beside_pgbench(postgres):
    stock = Stock(postgres, 1_000_000)
    results = alternate({
        "ours": lambda: stock.check(among=1),
        "pgbench": lambda: pgbench(postgres, stock.database, "select.sql", pixel=stock.pixel),
    })
    stock.end()
    ours, theirs = results["ours"], results["pgbench"]
    return {"what": "check, 64 connections, 1,000,000 receipts",
            "beside": "`pgbench`: prepared select of the same row, 64 clients",
            "ours": f"{median(ours):,.0f}/s", "theirs": f"{median(theirs):,.0f}/s",
            "value": ratio(ours, theirs), "goal": 0.7}


def beside_fewer(postgres):
    many, few = Stock(postgres, 10_000_000), Stock(postgres, 10_000)
    # A process of PostgreSQL has a page fault for every page of the cache that it reads for the first
    # time. A process that has run for a while has none; with this cache that takes about 15 s.
    for stock in (many, few):
        stock.check(among=stock.receipts, seconds=20)
    results = alternate({
        "many": lambda: many.check(among=many.receipts),
        "few": lambda: few.check(among=few.receipts),
    }, rounds=9)
    table, whole = many.bytes_per_receipt()
    many.end()
    few.end()
    return {"what": "check of random visitors at 10,000,000 receipts",
            "beside": "check of random visitors at 10,000",
            "ours": f"{median(results['many']):,.0f}/s", "theirs": f"{median(results['few']):,.0f}/s",
            "value": ratio(results["many"], results["few"]), "goal": 0.9,
            "note": f"A receipt takes {table:.0f} bytes, {whole:.0f} with its indexes."}


def measure(postgres):
    return [beside_pgbench(postgres), beside_fewer(postgres)]
