"""Says of each JSON-LD document of a list which fields of a consent record it lacks, by our shapes.

Reads a JSON array from standard input, writes one of lists of names to standard output. Fetches nothing:
the documents bring their context along.
"""

import json
import pathlib
import sys

from pyshacl import validate
from rdflib import Graph
from rdflib.namespace import SH

SHAPES = Graph().parse(pathlib.Path(__file__).with_name("shapes.ttl"))


def lacking(document):
    data = Graph().parse(data=json.dumps(document), format="json-ld")
    _, report, _ = validate(data, shacl_graph=SHAPES)
    return sorted({str(message) for message in report.objects(None, SH.resultMessage)})


print(json.dumps([lacking(document) for document in json.load(sys.stdin)]))
