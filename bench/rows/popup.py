"""The consent tag in a browser on a slow phone, beside vanilla-cookieconsent."""

import json
import subprocess

from rows.tag import compressed
from servers import ROOT, Service

POPUP = ROOT / "bench/popup"


def measure(postgres):
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=POPUP, check=True)
    postgres.sql("postgres", "CREATE DATABASE popup")
    service = Service(postgres, "popup")
    pixel, _ = service.site()
    url = f"{service.base}/px/{pixel}.js"
    compressed(url)
    measured = subprocess.run(["node", "measure.mjs", url], cwd=POPUP, stdout=subprocess.PIPE,
                              text=True, check=True)
    service.stop()
    found = json.loads(measured.stdout)

    def shown(of):
        return f"{of['bytes']:,} bytes, {of['requests']} request(s), {of['ms']:.0f} ms"

    return [{
        "what": "the tag: navigation to visible popup, Chromium, 4× CPU slow-down, 1.6 Mbit/s, 150 ms",
        "beside": "vanilla-cookieconsent 3.1.0 from npm, same page",
        "ours": shown(found["ours"]), "theirs": shown(found["rival"]),
        "value": found["ratio"], "goal": 0.55, "at_most": True,
        "note": f"A popup counts as visible when it is opaque and no longer moves. Our popup begins to appear "
                f"after {found['ours']['trace']:.0f} ms, the other after "
                f"{found['rival']['trace']:.0f} ms ({found['traceRatio']:.2f}). Most of this time is two "
                "round trips of 150 ms, for the page and for the script, in both cases. c15t is not compared: its "
                "npm package `c15t` is headless and has no script tag, and `@c15t/browser` with the script tag that its "
                "documentation describes is not on npm (November 2026).",
    }] + [{
        "what": f"the tag: main thread, for a visitor who has {answer} before, Chromium, 4× CPU slow-down",
        "beside": "vanilla-cookieconsent 3.1.0 from npm, same page",
        "ours": f"{times['ours']:.1f} ms", "theirs": f"{times['rival']:.1f} ms",
        "value": times["ours"], "unit": "ms", "goal": 5, "at_most": True,
    } for answer, times in found["decided"].items()]
