#!/usr/bin/env python3
"""Draws flame graphs of the service while it serves tags, records choices and answers checks: bench/flames/*.svg.

Needs perf, inferno (`cargo install inferno`), and a release build with symbols:

    CARGO_PROFILE_RELEASE_STRIP=none cargo build --release --bin assent
    python3 bench/flames.py
"""

import subprocess
import threading

from load import wrk
from rows.check import Stock
from rows.record import Load
from rows.tag import BROTLI, compressed
from servers import OUT, ROOT, Postgres, Service

FLAMES = ROOT / "bench/flames"
SECONDS = 8
# Samples per second. A number that is no divisor of the frequency of timers in the program.
FREQUENCY = 199
# Frames with a smaller share are left out, in percent.
SMALLEST = 0.3


def draw(name, title, service, load):
    """Samples the process of a service while a load runs, and draws the stacks. The unwinder needs no frame pointers,
    which the release build does not have."""
    samples = OUT / f"{name}.perf"
    perf = ["perf", "record", "--quiet", f"--freq={FREQUENCY}", "--event=cpu-clock:u", "--call-graph=dwarf,16384",
            f"--pid={service.process.pid}", f"--output={samples}", "--", "sleep", str(SECONDS)]
    reports = []
    running = threading.Thread(target=lambda: reports.append(load()))
    running.start()
    subprocess.run(perf, check=True)
    running.join()
    if not reports:
        raise SystemExit(f"the load of {name} failed")
    script = subprocess.run(["perf", "script", "--no-inline", f"--input={samples}"], check=True, capture_output=True)
    stacks = subprocess.run(["inferno-collapse-perf"], input=script.stdout, check=True, capture_output=True)
    (OUT / f"{name}.stacks").write_bytes(stacks.stdout)
    picture = subprocess.run(["inferno-flamegraph", "--title", title, "--minwidth", str(SMALLEST), "--deterministic"],
                             input=stacks.stdout, check=True, capture_output=True)
    (FLAMES / f"{name}.svg").write_bytes(picture.stdout)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    FLAMES.mkdir(exist_ok=True)
    postgres = Postgres()
    try:
        postgres.sql("postgres", "CREATE DATABASE flames")
        service = Service(postgres, "flames")
        pixel, policy = service.site()
        tag = f"{service.base}/px/{pixel}.js"
        compressed(tag)
        draw("tag", "Tags, 64 connections", service,
             lambda: wrk(tag, seconds=SECONDS + 2, headers=[BROTLI]))
        record = Load(postgres, pixel, policy, "flames")
        draw("record", "Choices, 64 connections", service,
             lambda: [record.run(service, "/v1/consent/record", 64) for _ in range(2)])
        service.stop()
        stock = Stock(postgres, 1_000_000)
        draw("check", "Checks, 64 connections, 1,000,000 receipts", stock.service,
             lambda: stock.check(among=stock.receipts, seconds=SECONDS + 2))
        stock.end()
    finally:
        postgres.stop()


if __name__ == "__main__":
    main()
