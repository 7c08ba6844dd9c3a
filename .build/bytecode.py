"""Compiles the package when it is installed from a checkout.

Installers compile what they copy; a checkout is only linked to, and where Python may not write bytecode,
every launch would compile the whole app again.
"""

import compileall
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BytecodeHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            compileall.compile_dir(Path(self.root) / "co_tui", quiet=2)
