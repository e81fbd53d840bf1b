"""A cluster of three PostgreSQL with Citus beside one PostgreSQL, all on the same cores: recording and checking
for many sites at once, and the response times of other sites while a shard is locked. SHARDS is the number of
shards of each table, by default the number of workers. It needs a PostgreSQL with the extension, so it runs only
if it is named."""

import itertools
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from load import alternate, median, open_load, ratio, wrk
from load.visits import checks_of, choices_of, equally
from servers import FILL_WAL, POSTGRES_SETTINGS, ROOT, Service, postgres_programs, write_ids

SHARDS = os.environ.get("SHARDS", "2")
SITES, VISITORS = 1_000, 100
DATABASE = "many"
SECONDS = 5


class Cluster:
    """The cluster of docs/cluster.md, started by scripts/with-cluster, with durable data and the settings of the single
    server. The service connects to both without TLS; the three servers use TLS between each other."""

    def __init__(self):
        ready = 'echo "$DATABASE_URL"; echo "$TEST_WORKERS"; echo; cat'
        self.process = subprocess.Popen(
            [ROOT / "scripts/with-cluster", "bash", "-c", ready], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "SHARDS": SHARDS, "DURABLE": "yes", "SETTINGS": "\n".join(
                f"{name} = {value}" for name, value in POSTGRES_SETTINGS.items())})
        lines = itertools.takewhile(str.strip, self.process.stdout)
        self.servers = [line.strip().replace("sslmode=require", "sslmode=disable") for line in lines]
        if len(self.servers) != 3:
            raise SystemExit("there is no cluster")
        self.programs = postgres_programs()
        for server in self.servers:
            self.at(server, "postgres", FILL_WAL)
            self.at(server, "postgres", f"CREATE DATABASE {DATABASE}")
            self.at(server, DATABASE, block("citus-extension"))
        addresses = [server.split("@")[1].split("/")[0].split(":") for server in self.servers]
        names = ["coordinator.internal", "worker-1.internal", "worker-2.internal"]
        self.nodes = block("citus-nodes")
        for name, (host, port) in zip(names, addresses):
            self.nodes = self.nodes.replace(f"'{name}', 5432", f"'{host}', {port}")

    def at(self, server, database, statements):
        url = server.replace("/postgres?", f"/{database}?")
        done = subprocess.run([self.programs / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", url],
                              input=statements, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout.strip()

    # The interface that the service and the sites need of a server.
    def url(self, database):
        return self.servers[0].replace("/postgres?", f"/{database}?")

    def sql(self, database, statements):
        return self.at(self.servers[0], database, statements)

    def distribute(self):
        self.sql(DATABASE, self.nodes)
        self.sql(DATABASE, block("citus"))

    def lock_shard(self, shard):
        """Locks this shard of the receipts until the returned process ends."""
        port = self.sql(DATABASE, f"SELECT nodeport FROM citus_shards WHERE shardid = {shard}")
        server = next(server for server in self.servers if f":{port}/" in server)
        holder = subprocess.Popen(
            [self.programs / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", server.replace("/postgres?", f"/{DATABASE}?")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        holder.stdin.write(f"""
            SET citus.enable_manual_changes_to_shards = on;
            BEGIN; LOCK TABLE consent_receipts_{shard} IN ACCESS EXCLUSIVE MODE; SELECT 'held';\n""")
        holder.stdin.flush()
        if holder.stdout.readline() != "held\n":
            raise SystemExit("the shard could not be locked")
        return holder

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def block(name):
    """Returns a block of the guide by its name."""
    _, rest = (ROOT / "docs/cluster.md").read_text().split(f"<!-- {name}:begin -->\n", 1)
    text = rest.split(f"<!-- {name}:end -->", 1)[0]
    return "\n".join(line for line in text.splitlines() if not line.startswith("```"))


class Deployment:
    """A service on a server, and many sites with receipts."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        self.service = Service(server, DATABASE)
        _, self.policy = self.service.site()
        self.runs = 0

    def fill(self):
        self.server.sql(DATABASE, f"""
            UPDATE accounts SET plan = 'unlimited';
            INSERT INTO pixels (pixel_id, account_id, domain, consent_enabled, created_at)
            SELECT 'bench-' || n, account_id, n || '.example', true, created_at
            FROM pixels, generate_series(1, {SITES}) AS n WHERE domain = 'shop.example';
            INSERT INTO consent_policies
                (pixel_id, version, policy_hash, document, domain, published_at, account_id)
            SELECT 'bench-' || n, version, policy_hash, document, n || '.example', published_at, account_id
            FROM consent_policies, generate_series(1, {SITES}) AS n WHERE domain = 'shop.example';
            INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
                policy_hash, purposes, recorded_at, signature, choice_id, expires_at)
            SELECT 'bench-' || n % {SITES} + 1, gen_random_uuid(), 'visitor-' || n / {SITES} + 1,
                'https://' || n % {SITES} + 1 || '.example', 'accepted', '{self.policy}',
                '{{analytics,resolution}}', now(), decode(repeat('0123456789abcdef', 4), 'hex'),
                gen_random_uuid(), now() + interval '4368 hours'
            FROM generate_series(0, {SITES * VISITORS - 1}) AS n;
            ANALYZE""")

    def visit(self, pixels, record, connections):
        """Visits these sites as fast as the connections allow."""
        arguments = [write_ids(pixels), VISITORS]
        if record:
            arguments += [self.policy, self.new_run()]
        return wrk(self.service.base, connections, SECONDS, 2, "many.lua", arguments)

    def steady(self, pixels, record, rate, seconds, **options):
        """Visits these sites at a fixed rate, however long the responses take."""
        sites, count = equally(pixels), rate * seconds
        if record:
            requests = choices_of(sites, self.policy, self.new_run(), count)
        else:
            requests = checks_of(sites, VISITORS, count)
        return open_load(self.service, requests, rate, 16, **options)

    def new_run(self):
        self.runs += 1
        return f"{self.name}{self.runs}"


def measure(postgres):
    cluster = Cluster()
    postgres.sql("postgres", f"CREATE DATABASE {DATABASE}")
    one, many = Deployment(postgres, "one"), Deployment(cluster, "many")
    many.service.stop(counts=False)
    cluster.distribute()
    many.service = Service(cluster, DATABASE)
    one.fill(), many.fill()
    everybody = [f"bench-{n}" for n in range(1, SITES + 1)]

    rows = measure_locked_shard(cluster, many)
    for what, record, goal, connections in [("record", True, 0.5, 64), ("record", True, 0.5, 256),
                                            ("check", False, 0.4, 64), ("check", False, 0.4, 256)]:
        rates = alternate({
            deployment.name: lambda deployment=deployment: deployment.visit(
                everybody, record, connections)["per_second"] for deployment in (one, many)})
        rows.append({"what": f"{what} for {SITES:,} sites at once on a cluster of three with {SHARDS} shards, "
                             f"{connections} connections",
                     "beside": "one PostgreSQL on the same two cores", "name": f"{what} {connections} {SHARDS}",
                     "ours": f"{median(rates['many']):,.0f}/s", "theirs": f"{median(rates['one']):,.0f}/s",
                     "value": ratio(rates["many"], rates["one"]), "goal": goal})
    for deployment in (one, many):
        deployment.service.stop(counts=False)
    cluster.stop()
    return rows


def measure_locked_shard(cluster, deployment):
    shard = cluster.sql(DATABASE, "SELECT get_shard_id_for_distribution_column('consent_receipts', 'bench-1')")
    inside = cluster.sql(DATABASE, "SELECT pixel_id FROM pixels WHERE pixel_id LIKE 'bench-%' AND"
                         f" get_shard_id_for_distribution_column('consent_receipts', pixel_id) = {shard}").split()
    outside = sorted({f"bench-{n}" for n in range(1, SITES + 1)} - set(inside))
    unlocked, locked = {True: [], False: []}, {True: [], False: []}

    def others():
        with ThreadPoolExecutor(2) as pool:
            both = {record: pool.submit(deployment.steady, outside, record, 400, 8) for record in (True, False)}
            return {record: run.result()["p99_ms"] for record, run in both.items()}

    others()
    # A p99 depends on some thirty responses, so it needs more rounds than a rate.
    for _ in range(9):
        for record, p99 in others().items():
            unlocked[record].append(p99)
        holder = cluster.lock_shard(shard)
        with ThreadPoolExecutor(1) as pool:
            # These requests are refused after some seconds, and repeated.
            pool.submit(deployment.steady, inside, True, 160, 10, may_be_refused=True)
            time.sleep(1)
            for record, p99 in others().items():
                locked[record].append(p99)
        holder.terminate()
        holder.wait()
        time.sleep(1)
    return [{"what": f"p99 of a {'choice' if record else 'check'} of other sites while a shard is locked",
             "beside": "while none is locked", "ours": f"{median(locked[record]):.1f} ms",
             "theirs": f"{median(unlocked[record]):.1f} ms", "name": f"held up {record} {SHARDS}",
             "value": ratio(locked[record], unlocked[record]), "goal": 1.1, "at_most": True}
            for record in (True, False)]

