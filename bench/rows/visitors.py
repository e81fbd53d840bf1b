"""The consent tag as visitors request it: over a TLS connection of their own, with HTTP/2, through the proxy of
deploy/nginx, beside nginx with the same bytes."""

from load import alternate, median, open_load, ratio
from load.visits import BROWSERS
from rows.tag import compressed
from rows.webhooks import HOST, certificate
from servers import Nginx, Proxy, Service

CONNECTIONS = 64
# Visitors per second for the response times, and the number of visitors of a run.
RATE, VISITORS = 1_000, 4_000
# More requests per second than any server answers, so that all connections are always in use.
PEAK = 1_000_000


def measure(postgres):
    postgres.sql("postgres", "CREATE DATABASE visitors")
    service = Service(postgres, "visitors")
    pixel, _ = service.site()
    path = f"/px/{pixel}.js"
    tag = compressed(service.base + path)
    files = certificate()
    proxy = Proxy(files, service)
    nginx = Nginx({**files, "tag.js": tag}, config="visits.conf")
    # The proxy replaces the address of the client, so all visitors have one: it permits 200 at a time.
    servers = {"ours": (proxy, path), "nginx": (nginx, "/tag.js")}

    def load(name, rate):
        server, path = servers[name]
        return open_load(server, [{"path": path, "headers": BROWSERS}] * VISITORS, rate, CONNECTIONS,
                         tls=(HOST, server.home / "authority.crt"))

    peaks = alternate({name: lambda name=name: load(name, PEAK)["per_second"] for name in servers}, rounds=7)
    delays = alternate({name: lambda name=name: load(name, RATE)["p99_ms"] for name in servers}, rounds=7)
    for server in (proxy, nginx, service):
        server.stop()
    beside = "nginx, same bytes from its file cache, same TLS settings"

    def row(name, what, results, unit, **goal):
        ours, theirs = results["ours"], results["nginx"]
        return {"what": f"consent tag through the proxy, {what}, one TLS 1.3 connection with HTTP/2 per visitor",
                "beside": beside, "ours": f"{median(ours):,.1f}{unit}", "theirs": f"{median(theirs):,.1f}{unit}",
                "value": ratio(ours, theirs), "name": name, **goal}

    return [row("visitors", f"{CONNECTIONS} visitors at a time", peaks, "/s", goal=0.95),
            row("visitors p99", f"p99 at {RATE:,} visitors per second", delays, " ms", goal=1.5, at_most=True)]
