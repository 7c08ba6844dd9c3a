"""Import the providers' libraries without the parts that nothing here uses."""

import ast
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Final

UNUSED_PACKAGES: Final = ("aiohttp", "httpx")
"""Packages that OpenAI's client and pydantic-ai load if they are installed, for callers that bring such a client along:
12 MB that nothing here uses. Others may still import them later."""
TYPES: Final = ("openai.types", "anthropic.types")
"""Packages of several hundred modules, one for each type of every API; a chat needs a few dozen of them."""


@contextmanager
def without_unused_parts() -> Iterator[None]:
    """Import libraries as if these packages were not installed, and their types when they are first used."""
    hidden = [name for name in UNUSED_PACKAGES if name not in sys.modules]
    # The documented way to make an import fail: None in place of the module.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    finder = _TypesFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in hidden:
            if sys.modules.get(name) is None:  # another thread may have ended this already, and imported the package
                sys.modules.pop(name, None)


class _TypesFinder(MetaPathFinder):
    """Finds the packages in `TYPES`."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not f"{name}.".startswith(tuple(f"{each}." for each in TYPES)):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.submodule_search_locations and type(spec.loader) is SourceFileLoader:
            spec.loader = _ExportsLoader(spec.loader.name, spec.loader.path)
        return spec


class _ExportsLoader(SourceFileLoader):
    """Loads a package that only exports names of its modules: each module when one of its names is first used."""

    def exec_module(self, module: ModuleType) -> None:
        exports = _exports(self.get_source(module.__name__) or "")
        if exports is None:
            super().exec_module(module)
            return
        submodules = {submodule for submodule, _ in exports.values()}

        def load(name: str) -> Any:
            if name in submodules:
                return importlib.import_module(f"{module.__name__}.{name}")
            if name not in exports:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            submodule, exported = exports[name]
            value = getattr(importlib.import_module(f"{module.__name__}.{submodule}"), exported)
            setattr(module, name, value)
            return value

        vars(module).update(__getattr__=load, __dir__=lambda: sorted({*vars(module), *exports}), __all__=[*exports])


def _exports(source: str) -> dict[str, tuple[str, str]] | None:
    """The module and name that each exported name is from; None if the package does anything but export."""
    exports: dict[str, tuple[str, str]] = {}
    for line in ast.parse(source).body:
        match line:
            case ast.ImportFrom(module="__future__", level=0):
                pass
            case ast.ImportFrom(module=str(submodule), names=names, level=1):
                exports.update({each.asname or each.name: (submodule, each.name) for each in names})
            case _:
                return None
    # A module with the name of an export would take its place once it is loaded.
    return None if "*" in exports or {module for module, _ in exports.values()} & exports.keys() else exports
