"""Puts the program into the wheel, and names the platform for which it was built."""

from __future__ import annotations

import os
import pathlib
import platform
import re
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        program = os.environ["ASSENT_PROGRAM"]
        needed = re.findall(rb"GLIBC_2\.(\d+)\b", pathlib.Path(program).read_bytes())
        glibc = max(map(int, needed))
        build_data["tag"] = f"py3-none-manylinux_2_{glibc}_{platform.machine()}"
        build_data["pure_python"] = False
        build_data["force_include"][program] = "assent_service/bin/assent"
