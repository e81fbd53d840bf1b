"""The load generators, and comparisons of two systems.

`wrk` measures throughput: each of its connections sends a request after each response. `open_load`
(bench/open_load) measures response times: it sends requests on a schedule, and counts from when a request was due.
`wrk` is not used for times: its connections wait while a server stalls, so they record a stall only once each, and it
adds computed entries for every response that took twice the mean interval of a connection (`stats_correct` in its
source), which includes pauses of its script.
"""

import functools
import json
import os
import re
import statistics
import subprocess
from pathlib import Path

from servers import ROOT, TARGET

HERE = Path(__file__).resolve().parent
ROUNDS = 5


def wrk(url, connections=64, seconds=4, threads=2, script="report.lua", arguments=(), headers=(),
        may_be_refused=False, gives_way=False):
    """Runs wrk. Returns the report of `report.lua`, with `per_second`, and `busy_us`: the processor time of the whole
    machine per request, in microseconds."""
    command = ["wrk", f"--threads={threads}", f"--connections={connections}",
               f"--duration={seconds}s", "--timeout=10s", f"--script={HERE / script}"]
    if gives_way:
        command = ["nice", "-n", "19", *command]
    for header in headers:
        command += ["--header", header]
    command += [url, "--", *map(str, arguments)]
    before = busy_seconds()
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "BENCH_LOAD": str(HERE)})
    busy = busy_seconds() - before
    found = re.search(r"^REPORT (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        raise SystemExit(f"wrk failed: {done.stdout}{done.stderr}")
    report = json.loads(found[1])
    if not may_be_refused and (report["refused"] or report["broken"]):
        raise SystemExit(f"not every request was answered as it should: {report}")
    report["per_second"] = report["requests"] / report["seconds"]
    report["busy_us"] = busy / max(1, report["requests"]) * 1e6
    return report


def busy_seconds():
    """The processor time of everything on this machine so far, of all processes and of the kernel."""
    user, nice, system, _idle, _waiting, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def bench_program(name):
    """A program of bench/ that is the service with more routes."""
    command = ["cargo", "bench", "--locked", "--quiet", "--no-run", f"--bench={name}",
               "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == name:
            return message["executable"]
    raise SystemExit(f"cargo did not build {name}")


@functools.cache
def open_load_program():
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--example=open_load"],
                   cwd=ROOT, check=True)
    return TARGET / "release/examples/open_load"


def open_load(service, requests, rate, connections=64, may_be_refused=False, tls=None):
    """Sends requests at this rate, however long the responses take. Returns the report, with `per_second`; the
    times count from when each request was due. `tls` is the name of the server and the file with its authority:
    then each request uses a connection of its own."""
    command = [open_load_program(), f"127.0.0.1:{service.port}", f"--rate={rate}",
               f"--connections={connections}"]
    if tls:
        command += [f"--tls={tls[0]}", f"--authority={tls[1]}"]
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
    """Runs pgbench with prepared statements. Returns its transactions per second."""
    command = [postgres.programs / "pgbench", "--no-vacuum", "--protocol=prepared",
               f"--client={clients}", "--jobs=2", f"--time={seconds}",
               f"--file={HERE / script}"]
    command += [f"--define={name}={value}" for name, value in variables.items()]
    done = subprocess.run([*command, postgres.url(database)], capture_output=True, text=True)
    found = re.search(r"tps = ([\d.]+) \(without initial connection time\)", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"pgbench failed: {done.stdout}{done.stderr}")
    return float(found[1])


def alternate(candidates, rounds=ROUNDS):
    """Runs all candidates in turn, in several rounds with alternating direction, after a warm-up round that is not
    counted. Returns the results of each."""
    results = {name: [] for name in candidates}
    for number in range(rounds + 1):
        names = list(candidates) if number % 2 else list(reversed(candidates))
        for name in names:
            result = candidates[name]()
            if number:
                results[name].append(result)
    return results


def median(values):
    return statistics.median(values)


def ratio(ours, theirs):
    """The median of the ratios of the runs of each round."""
    return median(mine / other for mine, other in zip(ours, theirs))
