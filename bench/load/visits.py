"""Builds the requests of an open load in advance: visitors of one site or of many, each with its own address. Each
function returns the number of requests that it is given."""

import itertools
import os
import random
import time

# The encodings that browsers accept.
BROWSERS = [["Accept-Encoding", "gzip, deflate, br"]]


def choice_id():
    """Generates a choice id like the tag: a UUID of version 7, without dashes."""
    return f"{int(time.time() * 1000):012x}7{random.getrandbits(12):03x}8{random.getrandbits(60):015x}"


def choice(pixel, host, policy, visitor):
    """A choice as the tag sends it."""
    address = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
    body = (f'{{"pixel_id":"{pixel}","visitor_id":"{visitor}","url":"https://{host}/page","consent":"accepted",'
            f'"affirmative":true,"policy_version_hash":"{policy}","purposes":["analytics","resolution"],'
            f'"choice_id":"{choice_id()}","shown":{{"language":"en","script":"{os.environ["BENCH_BUILD"]}"}}}}')
    return {"method": "POST", "path": "/v1/consent/record", "body": body,
            "headers": [["Content-Type", "text/plain"], ["X-Client", address]]}


def choices(pixel, policy, run, count):
    """Choices of new visitors of one site."""
    # An odd factor uses every number once, in an order that is unfavourable for an index.
    return [choice(pixel, "shop.example", policy, f"{number * 736338717 % 2**30:010d}-{run}")
            for number in range(count)]


def host_of(pixel):
    """The origin of a site: that of bench-N is N.example."""
    return f"{pixel.removeprefix('bench-')}.example"


def choices_of(pixels, policy, run, count):
    """Choices of new visitors of many sites."""
    return [choice(pixel, host_of(pixel), policy, f"{run}-{number}")
            for number, pixel in enumerate(itertools.islice(pixels, count))]


def checks(pixel, visitors, count):
    """Checks of random visitors of one site."""
    return checks_of(itertools.repeat(pixel), visitors, count)


def checks_of(pixels, visitors, count):
    """Checks of random visitors of many sites."""
    return [{"path": f"/v1/consent/check?pixel_id={pixel}&visitor_id=visitor-{random.randint(1, visitors)}"
                     "&required_purpose=resolution"} for pixel in itertools.islice(pixels, count)]


def tags_of(pixels, count):
    return [{"path": f"/px/{pixel}.js", "headers": BROWSERS} for pixel in itertools.islice(pixels, count)]


def logs(pixel, key, visitors, count):
    """Requests for the log of random visitors, with the key of the site's owner."""
    return [{"path": f"/v1/pixels/{pixel}/consent?visitor_id=visitor-{random.randint(1, visitors)}",
             "headers": [["Authorization", f"Bearer {key}"]]} for _ in range(count)]


def proofs(pixel, visitors, count):
    return [{"path": f"/v1/consent/proof?pixel_id={pixel}&visitor_id={random.choice(visitors)}"}
            for _ in range(count)]


def equally(pixels):
    """Sites at random, all equally busy."""
    while True:
        yield random.choice(pixels)


def by_rank(sites):
    """Sites at random by a Zipf distribution: the second has half of the visitors of the first, and so on."""
    weights = list(itertools.accumulate(1 / rank for rank in range(1, sites + 1)))
    while True:
        for rank in random.choices(range(1, sites + 1), cum_weights=weights, k=1000):
            yield f"bench-{rank}"
