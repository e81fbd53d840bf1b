"""Response times and memory of a node that watches sites with a browser, beside those of the same node without one,
and the time of the command for one site."""

import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from load import alternate, median, open_load, ratio
from load.visits import choices, tags_of
from rows.webhooks import certificate
from servers import TARGET, Nginx, Service

DATABASE = "watch"
# More than a node can watch during the measurements: each is due once.
SITES = 400
DAY = 24 * 60 * 60
# The sites a day that a node watches beside visitors, and the seconds between two of them.
A_DAY = 1000
PERIOD = DAY / A_DAY
# Rate per second, and maximum number of connections.
TAGS, CHOICES = (200, 32), (50, 16)
# A measurement lasts as long as the period of one watch, and fewer seconds if sites are watched without a pause.
SECONDS, ROUNDS, WARM_UP = round(PERIOD), 3, 10
WITHOUT_PAUSE = 60
FIRST_REPORT = 300
PICTURES = 24
# The command: seconds of each of its visits, and the processors that it and its browsers may use.
OBSERVATION, CORES = 4, 2
# Seconds after the start of a node until its memory is read.
IDLE = 30

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
        """As `alone`, with one watch, which begins and ends meanwhile."""
        self.rest()
        service = self.start_with_browser()
        self.load(service, WARM_UP)
        before = len(self.reports())
        self.sql("""UPDATE watch_sites SET next_watch_at = now() WHERE pixel_id =
            (SELECT pixel_id FROM watch_sites WHERE own_at IS NULL LIMIT 1)""")
        measured = self.load(service, SECONDS)
        reports = self.reports()[before:]
        service.stop(counts=False)
        if len(reports) != 1:
            raise SystemExit(f"{len(reports)} sites were watched in {SECONDS} s, instead of one: {service.log.name}")
        return {**measured, "verdicts": [verdict for _, verdict in reports]}

    def without_pause(self):
        """As `alone`, while sites are watched one after the other, from the first report on."""
        self.sql("UPDATE watch_sites SET next_watch_at = '2000-01-01'")
        before = len(self.reports())
        service = self.start_with_browser()
        deadline = time.monotonic() + FIRST_REPORT
        while len(self.reports()) == before:
            if time.monotonic() > deadline:
                raise SystemExit(f"no site was watched within {FIRST_REPORT} s: {service.log.name}")
            time.sleep(0.5)
        self.load(service, WARM_UP)
        measured = self.load(service, WITHOUT_PAUSE)
        service.stop(counts=False)
        reports = self.reports()[before:]
        if len(reports) < 2:
            raise SystemExit(f"only {len(reports)} sites were watched in {WITHOUT_PAUSE} s")
        times = [at for at, _ in reports]
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        return {**measured, "gaps": gaps, "verdicts": [verdict for _, verdict in reports]}

    def start_with_browser(self):
        resolve = ",".join(f"{host}=127.0.0.1:{self.sites.port}" for host in self.hosts.values())
        service = self.start(WATCH_BROWSER=str(self.browser), INSTALL_CHECK_RESOLVE=resolve)
        for pixel, host in self.hosts.items():
            (self.sites.home / f"{host}.html").write_text(page(pixel, f"http://localhost:{service.port}"))
        return service

    def rest(self):
        """Makes no site due any more."""
        self.sql("UPDATE watch_sites SET next_watch_at = '2100-01-01'")

    def idle(self, **settings):
        """The memory of a node that has nothing to do, in KiB."""
        service = self.start(**settings)
        time.sleep(IDLE)
        memory = service.resident_kib()
        service.stop(counts=False)
        return memory

    def command(self):
        """The seconds of the command for a silent site of this machine."""
        pixel, host = next(iter(self.hosts.items()))
        service = self.start()
        (self.sites.home / f"{host}.html").write_text(page(pixel, f"http://localhost:{service.port}"))
        browser = self.browser.with_name("mapped")
        rules = f"--host-resolver-rules=MAP {host} 127.0.0.1:{self.sites.port}"
        browser.write_text(f"#!/bin/sh\nexec '{self.browser}' \"$@\" '{rules}'\n")
        browser.chmod(0o755)
        cores = sorted(os.sched_getaffinity(0))[:CORES]
        with tempfile.TemporaryDirectory() as folder:
            command = [TARGET / "release/assent", "watch", f"https://{host}/", f"--seconds={OBSERVATION}",
                       f"--browser={browser}", f"--out={folder}"]
            begun = time.monotonic()
            done = subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, cores))
            seconds = time.monotonic() - begun
        service.stop(counts=False)
        if done.returncode:
            raise SystemExit(f"the site was not silent: {done.stdout}{done.stderr}")
        return seconds

    def stop(self):
        self.sites.stop()
        shutil.rmtree(self.browser.parent)


def measure(postgres):
    node = Node(postgres)
    results = alternate({"alone": node.alone, "watching": node.watching}, rounds=ROUNDS)
    without_pause = [node.without_pause() for _ in range(ROUNDS)]
    node.rest()
    with_browser = lambda: node.idle(WATCH_BROWSER=str(node.browser))
    memory = alternate({"without": node.idle, "with": with_browser}, rounds=ROUNDS)
    seconds = [node.command() for _ in range(ROUNDS)]
    node.stop()
    gaps = [gap for run in without_pause for gap in run["gaps"]]
    verdicts = [verdict for run in results["watching"] + without_pause for verdict in run["verdicts"]]
    a_day = DAY / (sum(gaps) / len(gaps))
    rows = []
    for kind in ("tag", "choice"):
        ours, theirs = ([run[kind]["p99_ms"] for run in results[name]] for name in ("watching", "alone"))
        rate = median(run[kind]["per_second"] for run in results["watching"])
        constant = median(run[kind]["p99_ms"] for run in without_pause)
        rows.append({"what": f"p99 of a {kind} while {A_DAY:,} sites a day are watched ({rate:,.0f}/s)",
                     "note": f"While sites are watched without a pause, the p99 of a {kind} is {constant:.1f} ms.",
                     "beside": "the same node without a browser",
                     "ours": f"{median(ours):.1f} ms", "theirs": f"{median(theirs):.1f} ms",
                     "name": f"{kind} beside {A_DAY} sites a day", "value": ratio(ours, theirs), "goal": 1.1, "at_most": True})
    rows.append({"what": f"sites watched per day without a pause, under this load, each a page with {PICTURES} pictures",
                 "beside": "", "ours": f"a site every {median(gaps):.0f} s", "theirs": "", "name": "watched",
                 "value": a_day, "unit": "/day", "goal": 1000,
                 "note": f"Of {len(verdicts)} reports of watched sites, {verdicts.count('silent')} were silent and "
                         f"{verdicts.count('not_observed')} not observed."})
    rows.append({"what": f"`assent watch` of one site, six visits of {OBSERVATION} s of observation, on {CORES} processors",
                 "beside": "", "ours": f"{min(seconds):.0f} to {max(seconds):.0f} s", "theirs": "", "name": "one site",
                 "value": median(seconds), "unit": "s", "goal": 60, "at_most": True})
    ours, theirs = memory["with"], memory["without"]
    rows.append({"what": "memory (VmRSS) of an idle node with `WATCH_BROWSER`", "beside": "the same node without it",
                 "ours": f"{median(ours) / 1024:.1f} MiB", "theirs": f"{median(theirs) / 1024:.1f} MiB",
                 "name": "idle memory", "value": ratio(ours, theirs), "goal": 1.05, "at_most": True})
    return rows
