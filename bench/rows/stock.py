"""One PostgreSQL with very many receipts (STOCK is their number): rates and response times of visitors and owners,
beside a million receipts, or a tenth of STOCK if that is less. It takes long, and 17 GB of disk for thirty million, so
it runs only if it is named."""

import os
import time
import urllib.request
from datetime import datetime, timedelta, timezone

from load import alternate, median, open_load, ratio, wrk
from load import visits
from servers import Service

MANY = int(os.environ.get("STOCK", 30_000_000))
FEW = min(1_000_000, MANY // 10)
PIXELS, DAYS = 10_000, 90
# The receipts of the largest pixel among ten; the others are distributed by rank.
LARGEST_OF_TEN = 4


class Stock:
    """Ten thousand pixels with this number of receipts of ninety days, in the order of time."""

    def __init__(self, postgres, receipts):
        self.postgres, self.receipts = postgres, receipts
        self.database = f"stock_{receipts}"
        postgres.sql("postgres", f"CREATE DATABASE {self.database}")
        self.service = Service(postgres, self.database)
        self.pixel, self.policy = self.service.site()
        self.key = self.service.key
        self.visitors = receipts * LARGEST_OF_TEN // 10
        self.sql(f"""
            UPDATE accounts SET plan = 'unlimited';
            INSERT INTO pixels (pixel_id, account_id, domain, consent_enabled, created_at)
            SELECT 'bench-' || n, account_id, n || '.example', true, created_at
            FROM pixels, generate_series(2, {PIXELS}) AS n WHERE pixel_id = '{self.pixel}';
            INSERT INTO consent_policies
                (pixel_id, version, policy_hash, document, domain, published_at, account_id)
            SELECT 'bench-' || n, version, policy_hash, document, n || '.example',
                now() - interval '{DAYS} days', account_id
            FROM consent_policies, generate_series(2, {PIXELS}) AS n WHERE pixel_id = '{self.pixel}'""")
        # Its jobs would read a table without indexes.
        self.service.stop(counts=False)
        self.fill()
        self.service = Service(postgres, self.database)

    def restart(self, **settings):
        # Its memory with this many receipts is not part of the measurement of memory.
        self.service.stop(counts=False)
        self.service = Service(self.postgres, self.database, **settings)

    def sql(self, statements):
        return self.postgres.sql(self.database, statements)

    def fill(self):
        """Inserts the receipts, then creates the indexes. Every fourth visitor declines; no visitor chooses twice."""
        indexes = self.sql("SELECT indexdef || ';' FROM pg_indexes WHERE tablename = 'consent_receipts'"
                           " AND indexname NOT LIKE '%pkey'")
        drops = self.sql("SELECT format('DROP INDEX %I;', indexname) FROM pg_indexes"
                         " WHERE tablename = 'consent_receipts' AND indexname NOT LIKE '%pkey'")
        self.sql(f"""
            SET session_replication_role = replica;
            SET maintenance_work_mem = '1GB';
            {drops}
            ALTER TABLE consent_receipts DROP CONSTRAINT consent_receipts_pkey;
            INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
                policy_hash, purposes, recorded_at, signature, choice_id)
            SELECT CASE rank WHEN 1 THEN '{self.pixel}' ELSE 'bench-' || rank END, gen_random_uuid(),
                'visitor-' || n / 10 * {LARGEST_OF_TEN} + n % 10 + 1, 'https://' || rank || '.example',
                CASE n % 4 WHEN 0 THEN 'declined' ELSE 'accepted' END, '{self.policy}',
                CASE n % 4 WHEN 0 THEN '{{}}' ELSE '{{analytics,resolution}}' END::text[],
                now() - ({self.receipts} - n) * (interval '{DAYS} days' / {self.receipts}),
                '\\x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
                (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint
                    - ({self.receipts} - n) * {DAYS * 86_400_000 // self.receipts}::bigint), 12, '0')
                    || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid
            FROM (SELECT n, CASE WHEN n % 10 < {LARGEST_OF_TEN} THEN 1
                    ELSE LEAST({PIXELS}, floor(exp(random() * ln({PIXELS} - 1.0)))::int + 1) END AS rank
                FROM generate_series(0, {self.receipts - 1}) AS n) AS drawn;
            ALTER TABLE consent_receipts
                ADD CONSTRAINT consent_receipts_pkey PRIMARY KEY (pixel_id, seq);
            {indexes}
            VACUUM (ANALYZE) consent_receipts;
            ANALYZE;
            CHECKPOINT""")

    def wait_until_counted(self):
        """Returns the seconds until the days of the largest pixel are counted, except for a few receipts."""
        begun = time.monotonic()
        newest = self.sql("SELECT max(seq) FROM consent_receipts")
        while self.sql(f"SELECT EXISTS (SELECT FROM consent_counted WHERE pixel_id = '{self.pixel}'"
                       f" AND is_ready AND up_to_seq > {newest} - 1000)") != "t":
            time.sleep(1)
        return time.monotonic() - begun

    def check(self, seconds=4):
        return wrk(self.service.base, seconds=seconds, script="check.lua",
                   arguments=[self.pixel, self.visitors])

    def record(self, name, seconds=4):
        return wrk(self.service.base + "/v1/consent/record", seconds=seconds, script="record.lua",
                   arguments=[self.pixel, self.policy, name])

    def read(self, path, seconds=4):
        """Reads by the owner of the largest pixel, on eight connections."""
        return wrk(f"{self.service.base}/v1/pixels/{self.pixel}/consent{path}", 8, seconds,
                   headers=[f"Authorization: Bearer {self.key}"])

    def log_of_visitor(self):
        return wrk(self.service.base, 8, 4, script="log.lua",
                   arguments=[self.pixel, self.key, self.visitors])

    def requests(self, path):
        """Returns a function that builds a number of requests of the owner of the largest pixel."""
        request = {"path": f"/v1/pixels/{self.pixel}/consent{path}",
                   "headers": [["Authorization", f"Bearer {self.key}"]]}
        return lambda count: [request] * count

    def steady(self, requests, rate, connections, seconds=4):
        """Returns the report of an open load at a fixed rate."""
        return open_load(self.service, requests(round(rate * seconds)), rate, connections)

    def export(self, days_ago):
        """Returns the receipts per second of an export of one day."""
        day = (datetime.now(timezone.utc) - timedelta(days=days_ago)).date()
        request = urllib.request.Request(
            f"{self.service.base}/v1/pixels/{self.pixel}/consent/export?from={day}&to={day}",
            headers={"Authorization": f"Bearer {self.key}"})
        begun = time.monotonic()
        with urllib.request.urlopen(request) as answer:
            lines = sum(1 for _ in answer)
        return lines / (time.monotonic() - begun)

    def erase(self, visitor):
        """Returns the milliseconds for the erasure of a visitor."""
        begun = time.monotonic()
        answer = self.service.json(
            "DELETE", f"/v1/pixels/{self.pixel}/visitors/visitor-{visitor}",
            Authorization=f"Bearer {self.key}")
        if answer["erased"]["receipts"] != 1:
            raise SystemExit(f"the visitor had another number of receipts: {answer}")
        return (time.monotonic() - begun) * 1000

    def retention(self):
        """Deletes the oldest day. Returns receipts per second."""
        gone = "SELECT n_tup_del FROM pg_stat_user_tables WHERE relname = 'consent_receipts'"
        wanted = int(self.sql("SELECT count(*) FROM consent_receipts"
                              f" WHERE recorded_at < now() - interval '{DAYS - 1} days'"))
        before, begun = int(self.sql(gone)), time.monotonic()
        self.restart(RETENTION_DAYS_RECEIPTS=str(DAYS - 1))
        while int(self.sql(gone)) < before + wanted:
            time.sleep(0.2)
        return wanted / (time.monotonic() - begun)

    def sizes(self):
        names = self.sql("SELECT relname, pg_relation_size(oid) FROM pg_class WHERE oid IN (SELECT indexrelid"
                         " FROM pg_index WHERE indrelid = 'consent_receipts'::regclass)"
                         " OR oid = 'consent_receipts'::regclass ORDER BY 1")
        return {name: int(size) / self.receipts for name, size in
                (line.split("|") for line in names.splitlines())}

    def vacuum(self):
        begun = time.monotonic()
        self.sql("VACUUM consent_receipts")
        return time.monotonic() - begun

    def end(self):
        self.service.stop(counts=False)
        self.postgres.sql("postgres", f"DROP DATABASE {self.database} WITH (FORCE)")


def rates(what, many, few):
    return {"what": f"{what}, at {MANY:,} receipts", "beside": f"at {FEW:,} receipts", "ours": f"{median(many):,.0f}/s",
            "theirs": f"{median(few):,.0f}/s", "value": ratio(many, few), "goal": 0.85}


def waits(what, many, few):
    return {"what": f"{what}, at {MANY:,} receipts", "beside": f"at {FEW:,} receipts", "unit": "ms", "at_most": True, "goal": 50,
            "ours": f"{median(many):.1f} ms", "theirs": f"{median(few):.1f} ms", "value": median(many)}


def waits_of(what, peaks, requests, many, few, connections, rounds):
    """Like `waits`, for the p99 at half of each peak rate, with the p50. `requests` returns, for a stock, a function
    that builds a number of requests."""
    def half(name, stock):
        return lambda: stock.steady(requests(stock), median(peaks[name]) / 2, connections)

    loads = alternate({"many": half("many", many), "few": half("few", few)}, rounds=rounds)
    p50, p99 = ({name: [load[f"p{part}_ms"] for load in loads[name]] for name in loads} for part in (50, 99))
    row = waits(f"{what}, {connections} connections, p99 (p50) at half of the peak rate", p99["many"], p99["few"])
    return row | {"ours": f"{row['ours']} ({median(p50['many']):.1f})",
                  "theirs": f"{row['theirs']} ({median(p50['few']):.1f})"}


def peaks(results):
    return {name: [result["per_second"] for result in results[name]] for name in results}


def of_visitors(many, few):
    """Recording and checking: peak rates, and response times at half of them."""
    for stock in (many, few):
        stock.check(seconds=20)
        stock.record("warm", seconds=10)

    names = (f"r{n}" for n in range(1000))
    checks = peaks(alternate({"many": many.check, "few": few.check}, rounds=7))
    records = peaks(alternate({"many": lambda: many.record(next(names)),
                               "few": lambda: few.record(next(names))}, rounds=7))

    def new_choices(stock):
        return lambda count: visits.choices(stock.pixel, stock.policy, next(names), count)

    def new_checks(stock):
        return lambda count: visits.checks(stock.pixel, stock.visitors, count)

    return [rates("record, 64 connections", records["many"], records["few"]),
            rates("check of visitors of the largest pixel, 64 connections", checks["many"], checks["few"]),
            waits_of("records", records, new_choices, many, few, 64, rounds=7),
            waits_of("checks", checks, new_checks, many, few, 64, rounds=7)]


def of_readers(many, few):
    """Reads by the owner of the largest pixel, at half of their peak rate."""
    def row(what, read, requests):
        read(many), read(few)
        most = peaks({name: [read(stock) for _ in range(3)] for name, stock in (("many", many), ("few", few))})
        return waits_of(what, most, requests, many, few, 8, rounds=5)

    def logs(stock):
        return lambda count: visits.logs(stock.pixel, stock.key, stock.visitors, count)

    since = (datetime.now(timezone.utc) - timedelta(days=30)).date()
    until = since + timedelta(days=7)
    paths = {"log, the newest 200": "",
             "log, 200 declined of a week": f"?state=declined&from={since}&to={until}",
             "stats of 90 days": f"/stats?from={since - timedelta(days=59)}&to={since + timedelta(days=30)}"}
    return [row("log of a visitor", Stock.log_of_visitor, logs),
            *(row(what, lambda stock: stock.read(path), lambda stock: stock.requests(path))
              for what, path in paths.items())]


def measure(postgres):
    few, many = Stock(postgres, FEW), Stock(postgres, MANY)
    sizes = many.sizes()
    counting = many.wait_until_counted()
    few.wait_until_counted()
    rows = of_visitors(many, few)
    for stock in (many, few):
        stock.wait_until_counted()
    rows += of_readers(many, few)
    exports = alternate({"many": lambda: many.export(40), "few": lambda: few.export(40)}, rounds=3)
    rows.append(rates("receipts in the export of a day", exports["many"], exports["few"]))
    erased = {stock: [stock.erase(n * 7 + 1) for n in range(50)] for stock in (many, few)}
    rows.append(waits("erasure of a visitor", erased[many], erased[few]))
    deleted = many.retention()
    vacuumed = many.vacuum()
    bytes_each = ", ".join(f"`{name}` {size:.0f}" for name, size in sizes.items())
    rows[0]["note"] = (
        f"{MANY:,} receipts of {PIXELS:,} pixels, {LARGEST_OF_TEN}0 % of them of one pixel. Bytes per receipt:"
        f" {bytes_each}. The {DAYS} days of that pixel were counted in {counting:.0f} s. The oldest day was deleted"
        f" at {deleted:,.0f} receipts per second; the `VACUUM` after it took {vacuumed:.0f} s.")
    many.end()
    few.end()
    return rows
