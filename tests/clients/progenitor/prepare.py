"""Leaves out of a description what progenitor cannot read.

    prepare.py DESCRIPTION PREPARED

For each operation it knows bodies of JSON and forms, one type of answer, and one type of error; and JSON only
by the name `application/json`. Examples and the address of the service are left out too, so that a run with
the same description compiles nothing.
"""

import json
import pathlib
import sys

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
BODIES = {"application/json", "application/x-www-form-urlencoded"}
JSON = ("application/json", "application/problem+json")


def one_kind(content: dict) -> dict:
    """The JSON of an answer that comes in several kinds."""
    preferred = next((kind for kind in (*JSON, *content) if kind in content), None)
    name = "application/json" if preferred in JSON else preferred
    return {name: {"schema": content[preferred]["schema"]}} if preferred else {}


def of_one_type(answers: dict) -> dict:
    """The answers with the type of the first that has one."""
    types = {status: list(answer.get("content", {}).values()) for status, answer in answers.items()}
    first = next(iter(types.values()), None)
    return {status: answer for status, answer in answers.items() if types[status] == first}


def prepare(description: dict) -> list[str]:
    """Changes the description, and returns the operations that are left out."""
    del description["servers"]
    left_out = []
    for item in description["paths"].values():
        for method in [method for method in METHODS if method in item]:
            operation = item[method]
            if not set(operation.get("requestBody", {}).get("content", {})) <= BODIES:
                left_out.append(operation["operationId"])
                del item[method]
                continue
            answers = operation["responses"]
            for answer in answers.values():
                if "content" in answer:
                    answer["content"] = one_kind(answer["content"])
            good = {status: answer for status, answer in answers.items() if status < "400"}
            bad = {status: answer for status, answer in answers.items() if status >= "400"}
            operation["responses"] = of_one_type(good) | of_one_type(bad)
    return left_out


if __name__ == "__main__":
    description, prepared = map(pathlib.Path, sys.argv[1:])
    whole = json.loads(description.read_text())
    left_out = prepare(whole)
    # Its body is CSV.
    assert left_out == ["import_suppressions"], left_out
    text = json.dumps(whole, indent=1)
    if not prepared.exists() or prepared.read_text() != text:
        prepared.write_text(text)
