#!/usr/bin/env python3
"""Measures the service beside what people would use instead, and writes bench/results.md.

    make bench                     everything
    python3 bench/bench.py tag     only some parts: tag, record, webhooks, check, read,
                                   console, proof, tenants, memory, popup; and stock, which
                                   is in no run unless it is named

Results of the parts that were not run are kept from the run before.
"""

import importlib
import json
import platform
import subprocess
import sys
from datetime import datetime, timezone

from stand import OUT, POSTGRES_SETTINGS, ROOT, Postgres, Service

PARTS = ["tag", "record", "webhooks", "check", "read", "console", "proof", "tenants", "memory",
         "popup"]
# Only run by their names: they take long.
LONG_PARTS = ["stock"]
KEPT = OUT / "results.json"
HEAD = """# Measured beside what people would use instead

Written by `make bench`, which installs and runs everything itself. Every ratio is the median of
ratios of runs that took turns on the same machine, at least five after one that warms up; load
generator, PostgreSQL and service share its cores, for the rivals too. Durability is on
(`fsync`, `synchronous_commit`), the service logs as it does by default; only `RATE_LIMITS=off`,
since one address makes all the load. PostgreSQL has filled its write-ahead log once before, as on a
server that has run for a while: a new one makes and clears a file for every 16 MB. Before checks and
logs at 10,000,000 receipts its processes have mapped what is cached, for the same reason.

"""


def machine(postgres_version):
    def first(pattern, path):
        with open(path) as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(pattern))

    cores = subprocess.run(["nproc"], capture_output=True, text=True).stdout.strip()
    memory = int(first("MemTotal", "/proc/meminfo").split()[0]) / 2**20
    settings = ", ".join(f"`{name}` {value}" for name, value in POSTGRES_SETTINGS.items())
    return (f"{first('model name', '/proc/cpuinfo')}, {cores} cores, {memory:.0f} GiB memory, "
            f"Linux {platform.release()}, PostgreSQL {postgres_version} with {settings} and "
            "otherwise its defaults.")


def shown(row):
    unit = row.get("unit", "")
    # Close to the goal, so many digits that it can be seen on which side it lies.
    digits = 3 if abs(row["value"] - row["goal"]) < 0.01 else 2
    value = f"{row['value']:.{digits}f}" if not unit else f"{row['value']:.1f} {unit}"
    sign = "≤" if row.get("at_most") else "≥"
    met = row["value"] <= row["goal"] if row.get("at_most") else row["value"] >= row["goal"]
    goal = row.get("goal_text") or f"{sign} {row['goal']}{' ' + unit if unit else ''}"
    verdict = "yes" if met else "**no**"
    cells = [row["what"], row["beside"], row["ours"], row["theirs"], value, goal, verdict]
    return f"| {' | '.join(cells)} |"


def write_table(kept, postgres_version):
    rows = [row for part in PARTS + LONG_PARTS for row in kept.get(part, {}).get("rows", [])]
    lines = ["| what | beside | ours | theirs | measured | goal | met |",
             "| --- | --- | --- | --- | --- | --- | --- |", *map(shown, rows)]
    notes = [row["note"] for row in rows if "note" in row]
    days = sorted({part["day"] for part in kept.values()})
    text = HEAD + "\n".join(lines) + "\n\n" + "\n".join(f"- {note}" for note in notes)
    text += f"\n\nMachine: {machine(postgres_version)}\n\nMeasured {' and '.join(days)}.\n"
    (ROOT / "bench/results.md").write_text(text)
    print(text)


def main():
    parts = sys.argv[1:] or PARTS
    OUT.mkdir(parents=True, exist_ok=True)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() and sys.argv[1:] else {}
    postgres = Postgres()
    version = postgres.version()
    try:
        for part in PARTS + LONG_PARTS:
            if part not in parts:
                continue
            print(f"measuring: {part}", flush=True)
            rows = importlib.import_module(f"rows.{part}").measure(postgres)
            kept[part] = {"rows": rows, "day": f"{datetime.now(timezone.utc):%Y-%m-%d}"}
            KEPT.write_text(json.dumps(kept, indent=2))
    finally:
        postgres.stop()
    write_table(kept, version)


if __name__ == "__main__":
    main()
