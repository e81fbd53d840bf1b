"""Recording choices with one commit for many, beside a commit for each through the same server."""

from load import alternate, bench_program, median, ratio
from rows.record import Load
from servers import Service

DATABASE = "commits"
CONNECTIONS = [64, 256]


def measure(postgres):
    program = bench_program("one_row_per_commit")
    postgres.sql("postgres", f"CREATE DATABASE {DATABASE}")
    service = Service(postgres, DATABASE)
    alone = Service(postgres, DATABASE, program=program)
    load = Load(postgres, *service.site(), DATABASE)

    def run(server, path, connections):
        return lambda: load.run(server, path, connections)["per_second"]

    ours = {f"{count}": run(service, "/v1/consent/record", count) for count in CONNECTIONS}
    theirs = {f"{count} alone": run(alone, "/bench/record", count) for count in CONNECTIONS}
    results = alternate({**ours, **theirs}, rounds=7)
    alone.stop(counts=False)
    service.stop()
    return [{"what": f"record, {count} connections, durable", "beside": "one row per commit through the same server",
             "ours": f"{median(results[f'{count}']):,.0f}/s", "theirs": f"{median(results[f'{count} alone']):,.0f}/s",
             "value": ratio(results[f"{count}"], results[f"{count} alone"]), "goal": 1, "goal_text": "more"}
            for count in CONNECTIONS]
