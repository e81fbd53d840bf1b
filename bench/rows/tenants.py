"""Many sites of many customers on one node: the response times of their visitors while others change their settings,
and while one site has all visitors that a load generator can generate. Rate limits are on, and every visitor has an
address of their own."""

import itertools
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from load import median, open_load, ratio, wrk
from load.visits import by_rank, choices_of, tags_of
from servers import Service, free_port, write_ids

PIXELS, ACCOUNTS = 10_000, 3_000
# The site with the extra load, the only one of its customer.
CROWDED = PIXELS + 1
# Every pixel with this distance belongs to the account whose settings change.
OWN_EVERY = 33
CHANGES_PER_SECOND = 10
SECONDS, ROUNDS = 8, 7
# The encodings that browsers accept.
BROWSERS = "Accept-Encoding: gzip, deflate, br"
# Rate per second, and maximum number of connections.
TAGS, CHOICES = (1_000, 64), (200, 16)


class Deployment:
    """The service, and the sites on it."""

    runs = itertools.count()

    def __init__(self, postgres):
        postgres.sql("postgres", "CREATE DATABASE tenants")
        self.postgres, self.metrics = postgres, free_port()
        self.service = Service(postgres, "tenants", RATE_LIMITS="on",
                               CLIENT_IP_HEADER="X-Client",
                               METRICS_ADDRESS=f"127.0.0.1:{self.metrics}")
        pixel, self.policy = self.service.site()
        postgres.sql("tenants", f"""
            UPDATE accounts SET plan = 'unlimited';
            INSERT INTO accounts SELECT (jsonb_populate_record(accounts, jsonb_build_object(
                'account_id', 'account-' || n, 'email', n || '@shop.example'))).*
            FROM accounts, generate_series(1, {ACCOUNTS - 1}) AS n
            WHERE account_id = (SELECT account_id FROM pixels WHERE pixel_id = '{pixel}');
            INSERT INTO pixels (pixel_id, account_id, domain, consent_enabled, created_at)
            SELECT 'bench-' || n,
                CASE WHEN n = {CROWDED} THEN 'account-{ACCOUNTS - 1}'
                    WHEN n % {OWN_EVERY} = 0 THEN account_id
                    ELSE 'account-' || (n % {ACCOUNTS - 2} + 1) END,
                n || '.example', true, created_at
            FROM pixels, generate_series(1, {CROWDED}) AS n WHERE pixel_id = '{pixel}';
            INSERT INTO consent_policies
                (pixel_id, version, policy_hash, document, domain, published_at, account_id)
            SELECT 'bench-' || n, version, policy_hash, document, n || '.example', published_at,
                pixels.account_id
            FROM consent_policies AS policies, generate_series(1, {CROWDED}) AS n
                JOIN pixels ON pixels.pixel_id = 'bench-' || n
            WHERE policies.pixel_id = '{pixel}';
            ANALYZE""")
        wrk(self.service.base, 64, 20, script="tags.lua", arguments=[PIXELS])

    def tags(self):
        """The number of requested tags, and of built tags."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        counts = {result: sum(int(line.split(" ")[1]) for line in lines
                              if line.startswith("assent_cache_requests_total")
                              and 'cache="scripts"' in line and f'result="{result}"' in line)
                  for result in ("hit", "miss")}
        return counts["hit"] + counts["miss"], counts["miss"]

    def visit(self):
        """The p99 of tags and of choices, of many sites at the same time."""
        run = f"t{next(self.runs)}"
        requested = tags_of(by_rank(PIXELS), TAGS[0] * SECONDS)
        # Sites whose settings change are left out, because a choice must name the current policy.
        chosen = choices_of(by_rank(OWN_EVERY - 1), self.policy, run, CHOICES[0] * SECONDS)
        with ThreadPoolExecutor(2) as pool:
            tags = pool.submit(open_load, self.service, requested, *TAGS)
            choices = pool.submit(open_load, self.service, chosen, *CHOICES)
            return tags.result(), choices.result()


class Changes:
    """Changes the settings of one site after another, and counts the changes."""

    def __init__(self, deployment):
        self.deployment, self.count, self.over = deployment, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        credentials = {"Authorization": f"Bearer {self.deployment.service.key}"}
        own = range(OWN_EVERY, PIXELS, OWN_EVERY)
        begun = time.monotonic()
        while not self.over.wait(max(0, begun + self.count / CHANGES_PER_SECOND - time.monotonic())):
            wish = {"controller_name": f"Shop {self.count}", "purposes": ["analytics", "resolution"]}
            path = f"/v1/pixels/bench-{own[self.count % len(own)]}/consent"
            self.deployment.service.json("POST", path, wish, **credentials)
            self.count += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def measure(postgres):
    deployment = Deployment(postgres)
    deployment.visit()
    calm, changing = [], []
    crowded_site = write_ids([f"bench-{CROWDED}"])
    # In reality the extra load comes from other machines, so here it must not take the processor from the others.
    crowds = {"tags": lambda: wrk(f"{deployment.service.base}/px/bench-{CROWDED}.js", 64, SECONDS, 1,
                                  headers=[BROWSERS], gives_way=True),
              "choices": lambda: wrk(deployment.service.base, 64, SECONDS, 1, "many.lua",
                                     [crowded_site, 0, deployment.policy, f"c{next(deployment.runs)}"],
                                     gives_way=True)}
    crowded, rates = {name: [] for name in crowds}, {}
    changes = requested = built = 0
    for _ in range(ROUNDS):
        calm.append(deployment.visit())
        before, built_before = deployment.tags()
        with Changes(deployment) as changing_site:
            changing.append(deployment.visit())
        after, built_after = deployment.tags()
        requested, built = requested + after - before, built + built_after - built_before
        changes += changing_site.count
        for name, crowd in crowds.items():
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(crowd)
                crowded[name].append(deployment.visit())
                rates[name] = running.result()["per_second"]
    # Its cache of scripts is larger than that of other measurements, so its memory is not counted.
    deployment.service.stop(counts=False)

    def p99(rounds, kind):
        return median(visits[kind]["p99_ms"] for visits in rounds)

    sites = f"{PIXELS:,} sites of {ACCOUNTS:,} customers"
    kept = 1 - max(0, built - changes) / requested
    rows = [{"what": f"share of unchanged tags served from memory, {sites}, {CHANGES_PER_SECOND} changes per second",
             "beside": "", "ours": f"{requested:,} tags, {built:,} built, {changes:,} changes", "theirs": "",
             "name": "kept", "value": kept, "goal": 0.999}]
    for kind, what in enumerate(("tag", "choice")):
        rate_of = f"{median(visits[kind]['per_second'] for visits in calm):,.0f}/s"
        rows.append({"what": f"p99 of a {what} during these changes ({rate_of})", "beside": "without changes",
                     "ours": f"{p99(changing, kind):.1f} ms", "theirs": f"{p99(calm, kind):.1f} ms",
                     "name": f"{what} changing", "value": p99(changing, kind), "unit": "ms", "goal": 10,
                     "at_most": True})
        for name in crowds:
            rows.append({"what": f"p99 of a {what} of other sites while one site receives {name} at the peak rate, "
                                 f"from a load generator with the lowest priority ({rates[name]:,.0f}/s)",
                         "beside": "without that site", "ours": f"{p99(crowded[name], kind):.1f} ms",
                         "theirs": f"{p99(calm, kind):.1f} ms", "name": f"{what} beside {name}",
                         "value": ratio([visits[kind]["p99_ms"] for visits in crowded[name]],
                                        [visits[kind]["p99_ms"] for visits in calm]),
                         "goal": 1.1, "at_most": True})
    return rows
