#!/usr/bin/env python3
"""Measures the service beside alternatives, and writes bench/results.md.

    make bench                     everything
    python3 bench/bench.py tag     only the named measurements: tag, visitors, record, commits, repeats,
                                   webhooks, check, read, console, proof, tenants, memory, popup; and
                                   watch, stock and cluster, which run only if they are named
                                   (cluster needs a PostgreSQL with Citus)

The speed of a machine varies. So bench/runs.json contains the last three runs of every measurement, and the table
has the median of each row, with the lowest and the highest value.
"""

import importlib
import json
import platform
import statistics
import subprocess
import sys
from datetime import datetime, timezone

from servers import OUT, POSTGRES_SETTINGS, ROOT, Postgres

PARTS = ["tag", "visitors", "record", "commits", "repeats", "webhooks", "check", "read", "console", "proof", "tenants",
         "memory", "popup"]
# These take long, and run only if they are named.
LONG_PARTS = ["watch", "stock", "cluster"]
# The last runs of every measurement, the newest last.
KEPT = ROOT / "bench/runs.json"
RUNS = 3
HEAD = """# Benchmark results

`make bench` writes this file. It installs and runs everything that it needs, on one machine: load generator,
PostgreSQL, the service and the alternatives share its cores.

- Ours and the alternative run in turn. The ratio of a run is the median of the ratios of at least five rounds (three
  for `watch`) after a warm-up round. Each row is the median of up to three runs at different times, with the lowest
  and the highest value in brackets. `bench/runs.json` contains all runs.
- Data are durable (`fsync` and `synchronous_commit` are on), and the service logs as by default. `RATE_LIMITS=off` is
  the only other setting, because all requests come from one address. Limits are on for `tenants`, where each visitor
  has an address.
- A rate is the peak rate of `wrk`, or of `pgbench`; of `bench/open_load` where each visitor has a connection.
- A p99 is measured with `bench/open_load`: requests are sent on a schedule, at the rate that the row names, and
  their times count from when they were due. A stall therefore counts for every request that was due during it.
- PostgreSQL has filled its write-ahead log once before the measurement, like a server that has run for a while. A new
  server creates and clears a file for every 16 MB.
- Before checks and logs at 10,000,000 receipts, each process of PostgreSQL has read the cached pages once, for the
  same reason.

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


def same_row(one, other):
    """Whether two runs have the same rows. Rows whose text contains figures are compared by name."""
    key = lambda row: row.get("name") or (row["what"], row["beside"])
    return key(one) == key(other)


def summed_up(runs):
    """The rows of the newest run, with the median of all runs and the values of each."""
    newest = runs[-1]["rows"]
    for row in newest:
        values = [other["value"] for run in runs for other in run["rows"] if same_row(row, other)]
        yield {**row, "value": statistics.median(values), "values": values}


def shown(row):
    unit = row.get("unit", "")
    # Close to the goal, enough digits to show on which side the value is.
    digits = 3 if abs(row["value"] - row["goal"]) < 0.01 else 2
    figure = lambda number: f"{number:.{digits}f}" if not unit else f"{number:.1f}"
    value = f"{figure(row['value'])}{unit and ' ' + unit}"
    if len(row["values"]) > 1:
        lowest, highest = min(row["values"]), max(row["values"])
        value += f" ({figure(lowest)} to {figure(highest)}, {len(row['values'])} runs)"
    sign = "≤" if row.get("at_most") else "≥"
    met = row["value"] <= row["goal"] if row.get("at_most") else row["value"] >= row["goal"]
    goal = row.get("goal_text") or f"{sign} {row['goal']}{' ' + unit if unit else ''}"
    verdict = "yes" if met else "**no**"
    cells = [row["what"], row["beside"], row["ours"], row["theirs"], value, goal, verdict]
    return f"| {' | '.join(cells)} |"


def left_out(kept):
    """A sentence about rows that were removed from the newest runs, until they are measured again."""
    rows = [what for part in kept for what in kept[part][-1].get("left_out", [])]
    if not rows:
        return ""
    return (f"\n\nNot listed until they are measured again: {'; '.join(rows)}. Their earlier figures came from `wrk`, "
            "which sends a request only after the previous response (in some rows after a pause), and adds computed "
            "entries for slow responses.")


def write_table(kept, postgres_version):
    rows = [row for part in PARTS + LONG_PARTS if part in kept for row in summed_up(kept[part])]
    lines = ["| measurement | compared with | ours | theirs | result | goal | met |",
             "| --- | --- | --- | --- | --- | --- | --- |", *map(shown, rows)]
    notes = [row["note"] for row in rows if "note" in row]
    times = "; ".join(f"{part} {', '.join(run['at'] for run in kept[part])}" for part in kept)
    text = HEAD + "\n".join(lines) + left_out(kept) + "\n\n" + "\n".join(f"- {note}" for note in notes)
    text += f"\n\nMachine: {machine(postgres_version)}\n\nMeasured (UTC): {times}.\n"
    (ROOT / "bench/results.md").write_text(text)
    print(text)


def main():
    parts = sys.argv[1:] or PARTS
    OUT.mkdir(parents=True, exist_ok=True)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    postgres = Postgres()
    version = postgres.version()
    try:
        for part in PARTS + LONG_PARTS:
            if part not in parts:
                continue
            print(f"measuring: {part}", flush=True)
            rows = importlib.import_module(f"rows.{part}").measure(postgres)
            run = {"at": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M}", "rows": rows}
            kept[part] = [*kept.get(part, []), run][-RUNS:]
            KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    finally:
        postgres.stop()
    write_table(kept, version)


if __name__ == "__main__":
    main()
