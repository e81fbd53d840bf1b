"""The consent tag beside nginx with the same bytes."""

import time
import urllib.request

from load import alternate, median, ratio, wrk
from servers import Nginx, Service

BROTLI = "Accept-Encoding: br"


def compressed(url):
    """Returns the compressed tag, which the service makes in the background after the first request."""
    for _ in range(100):
        request = urllib.request.Request(url, headers={"Accept-Encoding": "br"})
        with urllib.request.urlopen(request) as answer:
            if answer.headers["Content-Encoding"] == "br":
                return answer.read()
        time.sleep(0.05)
    raise SystemExit("the tag is never compressed")


def measure(postgres):
    postgres.sql("postgres", "CREATE DATABASE tag")
    service = Service(postgres, "tag", ROCKET_WORKERS="1")
    pixel, _ = service.site()
    url = f"{service.base}/px/{pixel}.js"
    tag = compressed(url)
    nginx = Nginx({"tag.js": tag})
    load = {"threads": 1, "headers": [BROTLI], "seconds": 2}
    results = alternate({
        "ours": lambda: wrk(url, **load)["per_second"],
        "nginx": lambda: wrk(f"{nginx.base}/tag.js", **load)["per_second"],
    }, rounds=17)
    nginx.stop()
    service.stop()
    ours, theirs = results["ours"], results["nginx"]
    return [{
        "what": f"consent tag ({len(tag):,} bytes), one worker, keep-alive, 64 connections",
        "beside": "nginx, one worker, same bytes from its file cache",
        "ours": f"{median(ours):,.0f}/s", "theirs": f"{median(theirs):,.0f}/s",
        "value": ratio(ours, theirs), "goal": 0.8, "name": "tag",
    }]
