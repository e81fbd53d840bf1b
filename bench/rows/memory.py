"""The peak memory of any service of this run, including this measurement: the tags of 10,000 pixels in turn, then
choices and checks."""

from load import wrk
from servers import Service

PIXELS = 10_000


def measure(postgres):
    postgres.sql("postgres", "CREATE DATABASE memory")
    service = Service(postgres, "memory")
    pixel, policy = service.site()
    postgres.sql("memory", f"""
        INSERT INTO pixels (pixel_id, account_id, domain, consent_enabled, created_at)
        SELECT 'bench-' || n, account_id, n || '.example', true, created_at
        FROM pixels, generate_series(1, {PIXELS}) AS n WHERE pixel_id = '{pixel}';
        INSERT INTO consent_policies
            (pixel_id, version, policy_hash, document, domain, published_at, account_id)
        SELECT 'bench-' || n, version, policy_hash, document, n || '.example', published_at, account_id
        FROM consent_policies, generate_series(1, {PIXELS}) AS n WHERE pixel_id = '{pixel}';
        ANALYZE""")
    report = wrk(service.base, 64, 20, script="tags.lua", arguments=[PIXELS])
    if report["requests"] < PIXELS:
        raise SystemExit(f"only {report['requests']} of {PIXELS} pixels were requested")
    wrk(f"{service.base}/v1/consent/record", 256, 5, script="record.lua",
        arguments=[pixel, policy, "memory"])
    wrk(service.base, 64, 5, script="check.lua", arguments=[pixel, 1])
    program = service.program_kib()
    service.stop()
    return [{
        "what": f"peak memory during all measurements, including the tags of {PIXELS:,} pixels in turn",
        "beside": "", "ours": f"{report['requests']:,} tags", "theirs": "",
        "value": Service.peak_kib / 1024, "unit": "MiB", "goal": 60, "at_most": True, "name": "memory",
        "note": f"Of the memory {program / 1024:.0f} MiB are pages of the program and its libraries, which the system "
                "can drop and read again; the cache of scripts may take 32 MiB.",
    }]
