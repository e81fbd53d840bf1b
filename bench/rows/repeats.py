"""Requests without `Idempotency-Key`, to a route that supports the header and to the same route without support."""

from load import alternate, bench_program, median, ratio, wrk
from servers import Service


def measure(postgres):
    program = bench_program("repeatable")
    postgres.sql("postgres", "CREATE DATABASE repeats")
    # The service creates the tables; the other program does not.
    service = Service(postgres, "repeats")
    pixel, _ = service.site()
    key = service.key
    service.stop()
    service = Service(postgres, "repeats", program=program)

    def store(mount):
        # An empty list is the fastest request of a route that creates: the key of the caller and the pixel are
        # read, and nothing is written.
        return wrk(f"{service.base}{mount}/v1/pixels/{pixel}/contacts", seconds=4, script="contacts.lua",
                   arguments=[key])["per_second"]

    results = alternate({"ours": lambda: store("/with"), "plain": lambda: store("/without")}, rounds=15)
    service.stop(counts=False)
    ours, theirs = results["ours"], results["plain"]
    return [{
        "what": "requests that store no contacts, without `Idempotency-Key`, 64 connections",
        "beside": "the same route without support for the header",
        "ours": f"{median(ours):,.0f}/s", "theirs": f"{median(theirs):,.0f}/s",
        "value": ratio(ours, theirs), "goal": 0.97,
    }]
