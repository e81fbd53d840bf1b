"""Response times of a node that watches sites with a browser, beside those of the same node without one."""

import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from load import alternate, median, open_load, ratio
from load.visits import choices, tags_of
from rows.webhooks import certificate
from servers import Nginx, Service

DATABASE = "watch"
# More than a node can watch during the measurement: each is due once.
SITES = 400
# Rate per second, and maximum number of connections.
TAGS, CHOICES = (200, 32), (50, 16)
SECONDS, ROUNDS, WARM_UP = 60, 3, 10
FIRST_REPORT = 300
PICTURES = 24
DAY = 24 * 60 * 60

PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="160" height="120"><defs><linearGradient id="g">
<stop stop-color="#246"/><stop offset="1" stop-color="#8ac"/></linearGradient></defs>
<rect width="160" height="120" fill="url(#g)"/></svg>"""
# The work of a shop's scripts: some hundred milliseconds at the start, and a picture that moves for a while.
SCRIPT = """const list = document.querySelector('main');
const words = Array.from({length: 200000}, (_, n) => String(n * 736338717 % 1000003)).sort();
for (let n = 0; n < 1500; n++) {
  const item = document.createElement('p'); item.textContent = `Article ${words[n]}`; list.append(item) }
const begun = performance.now();
requestAnimationFrame(function move(now) {
  document.querySelector('img').style.translate = `${(now - begun) / 10 % 300}px`;
  if (now - begun < 3000) requestAnimationFrame(move) });
"""


def page(pixel, base):
    pictures = "".join(f'<img src="/{number}.svg" width="160" height="120" alt="">' for number in range(PICTURES))
    return (f'<!doctype html><title>Shop</title><script async src="{base}/px/{pixel}.js"></script>'
            f'<main>{pictures}</main><script src="/shop.js"></script>')


class Node:
    """Starts the service with a browser and without, on one database."""

    def __init__(self, postgres):
        self.postgres, self.runs = postgres, 0
        postgres.sql("postgres", f"CREATE DATABASE {DATABASE}")
        files = {f"{number}.svg": PICTURE.encode() for number in range(PICTURES)}
        self.sites = Nginx({**certificate(), **files, "shop.js": SCRIPT.encode()}, config="watch.conf")
        self.hosts = {f"bench-{number}": f"site-{number}.example" for number in range(1, SITES + 1)}
        service = Service(postgres, DATABASE)
        self.pixel, self.policy = service.site()
        service.stop(counts=False)
        self.sql(f"""
            UPDATE accounts SET plan = 'unlimited';
            INSERT INTO pixels (pixel_id, account_id, domain, consent_enabled, install_status, created_at)
            SELECT 'bench-' || n, account_id, 'site-' || n || '.example', true, 'installed', created_at
            FROM pixels, generate_series(1, {SITES}) AS n WHERE pixel_id = '{self.pixel}';
            INSERT INTO consent_policies
                (pixel_id, version, policy_hash, document, domain, published_at, account_id)
            SELECT 'bench-' || n, version, policy_hash, document, 'site-' || n || '.example', published_at,
                account_id
            FROM consent_policies, generate_series(1, {SITES}) AS n WHERE pixel_id = '{self.pixel}';
            INSERT INTO watch_sites (pixel_id, host, next_watch_at)
            SELECT pixel_id, domain, '2000-01-01' FROM pixels WHERE install_status = 'installed';
            DELETE FROM popup_screenshots_due;
            ANALYZE""")
        self.browser = Path(tempfile.mkdtemp(prefix="assent-bench.", dir="/var/tmp")) / "browser"
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        self.browser.write_text(f"#!/bin/sh\nexec '{chromium}' \"$@\" --ignore-certificate-errors\n")
        for path in (self.browser.parent, self.browser):
            path.chmod(0o755)

    def sql(self, statements):
        return self.postgres.sql(DATABASE, statements)

    def reports(self):
        """The times of the reports so far, in seconds, and their verdicts."""
        rows = self.sql("SELECT extract(epoch FROM received_at), verdict FROM watch_reports ORDER BY 1").split()
        return [(float(at), verdict) for at, verdict in (row.split("|") for row in rows)]

    def load(self, service, seconds):
        """Tags and choices at the same time, by an open load. Returns the reports of both."""
        self.runs += 1
        requested = tags_of([self.pixel] * (TAGS[0] * seconds), TAGS[0] * seconds)
        chosen = choices(self.pixel, self.policy, f"w{self.runs}", CHOICES[0] * seconds)
        with ThreadPoolExecutor(2) as pool:
            tags = pool.submit(open_load, service, requested, *TAGS)
            recorded = pool.submit(open_load, service, chosen, *CHOICES)
            return {"tag": tags.result(), "choice": recorded.result()}

    def start(self, **settings):
        # Install checks would refuse the certificate of the sites.
        return Service(self.postgres, DATABASE, INSTALL_CHECK="off", **settings)

    def alone(self):
        service = self.start()
        self.load(service, WARM_UP)
        measured = self.load(service, SECONDS)
        service.stop(counts=False)
        return measured

    def watching(self):
        """As `alone`, while sites are watched one after the other, from the first report on."""
        resolve = ",".join(f"{host}=127.0.0.1:{self.sites.port}" for host in self.hosts.values())
        before = len(self.reports())
        service = self.start(WATCH_BROWSER=str(self.browser), INSTALL_CHECK_RESOLVE=resolve)
        for pixel, host in self.hosts.items():
            (self.sites.home / f"{host}.html").write_text(page(pixel, f"http://localhost:{service.port}"))
        deadline = time.monotonic() + FIRST_REPORT
        while len(self.reports()) == before:
            if time.monotonic() > deadline:
                raise SystemExit(f"no site was watched within {FIRST_REPORT} s: {service.log.name}")
            time.sleep(0.5)
        self.load(service, WARM_UP)
        measured = self.load(service, SECONDS)
        service.stop(counts=False)
        reports = self.reports()[before:]
        if len(reports) < 2:
            raise SystemExit(f"only {len(reports)} sites were watched in {SECONDS} s")
        times = [at for at, _ in reports]
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        return {**measured, "gaps": gaps, "verdicts": [verdict for _, verdict in reports]}

    def stop(self):
        self.sites.stop()
        shutil.rmtree(self.browser.parent)


def measure(postgres):
    node = Node(postgres)
    results = alternate({"alone": node.alone, "watching": node.watching}, rounds=ROUNDS)
    node.stop()
    gaps = [gap for run in results["watching"] for gap in run["gaps"]]
    verdicts = [verdict for run in results["watching"] for verdict in run["verdicts"]]
    a_day = DAY / (sum(gaps) / len(gaps))
    rows = []
    for kind in ("tag", "choice"):
        ours, theirs = ([run[kind]["p99_ms"] for run in results[name]] for name in ("watching", "alone"))
        rate = median(run[kind]["per_second"] for run in results["watching"])
        rows.append({"what": f"p99 of a {kind} while sites are watched ({rate:,.0f}/s)",
                     "beside": "the same node without a browser",
                     "ours": f"{median(ours):.1f} ms", "theirs": f"{median(theirs):.1f} ms",
                     "name": f"{kind} beside watch", "value": ratio(ours, theirs), "goal": 1.1, "at_most": True})
    rows.append({"what": f"sites that the node watches a day meanwhile, of a page with {PICTURES} pictures",
                 "beside": "", "ours": f"a site every {median(gaps):.0f} s", "theirs": "", "name": "watched",
                 "value": a_day, "unit": "/day", "goal": 1000,
                 "note": f"Of {len(verdicts)} reports of watched sites, {verdicts.count('silent')} found a silent one "
                         f"and {verdicts.count('not_observed')} could not observe it."})
    return rows
