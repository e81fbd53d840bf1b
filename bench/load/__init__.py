"""The load generators, and comparisons of two systems.

How much a server can do is measured by `wrk`, whose connections each ask again once they are answered. How long
an answer takes is measured by `open_load` (bench/open_load), which asks on a schedule and counts from when a
request was due. `wrk` is not asked for times: its connections wait for a server that stalls and so hardly notice,
and it adds an entry of its own making for every answer that took twice the mean time between two answers of a
connection (`stats_correct` in its source), a pause of its script included.
"""

import functools
import json
import os
import re
import statistics
import subprocess
from pathlib import Path

from stand import ROOT, TARGET

HERE = Path(__file__).resolve().parent
ROUNDS = 5


def wrk(url, connections=64, seconds=4, threads=2, script="report.lua", arguments=(), headers=(),
        may_be_refused=False, gives_way=False):
    """Runs wrk and gives what `report.lua` prints, with `per_second`."""
    command = ["wrk", f"--threads={threads}", f"--connections={connections}",
               f"--duration={seconds}s", "--timeout=10s", f"--script={HERE / script}"]
    if gives_way:
        command = ["nice", "-n", "19", *command]
    for header in headers:
        command += ["--header", header]
    command += [url, "--", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "BENCH_LOAD": str(HERE)})
    found = re.search(r"^REPORT (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        raise SystemExit(f"wrk failed: {done.stdout}{done.stderr}")
    report = json.loads(found[1])
    if not may_be_refused and (report["refused"] or report["broken"]):
        raise SystemExit(f"not every request was answered as it should: {report}")
    report["per_second"] = report["requests"] / report["seconds"]
    return report


@functools.cache
def open_load_program():
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--example=open_load"],
                   cwd=ROOT, check=True)
    return TARGET / "release/examples/open_load"


def open_load(service, requests, rate, connections=64, may_be_refused=False):
    """Sends requests at this rate, however long the responses take. Returns the report, with `per_second`; the
    times count from when each request was due."""
    command = [open_load_program(), f"127.0.0.1:{service.port}", f"--rate={rate}",
               f"--connections={connections}"]
    lines = "\n".join(map(json.dumps, requests))
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"open_load failed: {done.stderr}")
    report = json.loads(done.stdout)
    if not may_be_refused and (report["refused"] or report["broken"]):
        raise SystemExit(f"not every request was answered as it should: {report}")
    report["per_second"] = report["requests"] / report["seconds"]
    return report


def pgbench(postgres, database, script, clients=64, seconds=4, **variables):
    """Runs pgbench with prepared statements and gives its transactions per second."""
    command = [postgres.programs / "pgbench", "--no-vacuum", "--protocol=prepared",
               f"--client={clients}", "--jobs=2", f"--time={seconds}",
               f"--file={HERE / script}"]
    command += [f"--define={name}={value}" for name, value in variables.items()]
    done = subprocess.run([*command, postgres.url(database)], capture_output=True, text=True)
    found = re.search(r"tps = ([\d.]+) \(without initial connection time\)", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"pgbench failed: {done.stdout}{done.stderr}")
    return float(found[1])


def alternate(rivals, rounds=ROUNDS):
    """Runs all rivals in turn, round after round, each round in the other direction; a first
    round that nobody counts warms everything up. Gives the results of each."""
    results = {name: [] for name in rivals}
    for turn in range(rounds + 1):
        names = list(rivals) if turn % 2 else list(reversed(rivals))
        for name in names:
            result = rivals[name]()
            if turn:
                results[name].append(result)
    return results


def median(values):
    return statistics.median(values)


def ratio(ours, theirs):
    """The median of the ratios of runs that stood side by side."""
    return median(mine / other for mine, other in zip(ours, theirs))
