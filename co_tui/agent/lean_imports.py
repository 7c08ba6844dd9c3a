"""Import the providers' libraries without the parts that nothing here uses."""

import ast
import importlib
import mimetypes
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Final

UNUSED_PACKAGES: Final = ("aiohttp", "httpx")
"""Packages that OpenAI's client and pydantic-ai load if they are installed, for callers that bring such a client along:
12 MB that nothing here uses. Others may still import them later."""
TYPES: Final = ("openai.types", "anthropic.types")
"""Packages of several hundred modules, one for each type of every API; a chat needs a few dozen of them."""
_RESPONSES: Final = "openai.types.responses"
_GRIFFE: Final = "griffe._internal"
LATE_MODULES: Final = (
    "unittest.mock",
    "xml.etree.ElementTree",
    "yaml",
    "pydantic_ai.durable_exec._base",
    "pydantic_ai.embeddings",
    "pydantic_ai_harness.step_persistence",
    "openai.lib.streaming.chat",
    f"{_RESPONSES}.response_compaction_item_param_param",
    f"{_RESPONSES}.response_create_params",
    f"{_RESPONSES}.response_input_item_param",
    f"{_RESPONSES}.response_input_param",
    f"{_RESPONSES}.response_tool_search_output_item_param_param",
    f"{_RESPONSES}.tool_choice_allowed_param",
    f"{_GRIFFE}.agents.inspector",
    f"{_GRIFFE}.agents.visitor",
    f"{_GRIFFE}.diff",
    f"{_GRIFFE}.encoders",
    f"{_GRIFFE}.extensions.base",
    f"{_GRIFFE}.extensions.dataclasses",
    f"{_GRIFFE}.extensions.unpack_typeddict",
    f"{_GRIFFE}.finder",
    f"{_GRIFFE}.git",
    f"{_GRIFFE}.helpers",
    f"{_GRIFFE}.loader",
    f"{_GRIFFE}.stats",
)
"""Modules that the libraries import for tasks that a chat hardly ever has: 8 MB with all that they import."""


_TYPE_FILES: Final = mimetypes.knownfiles


@contextmanager
def without_unused_parts() -> Iterator[None]:
    """Import libraries as if unused packages were not installed, and some of their modules when they are first used."""
    hidden = [name for name in UNUSED_PACKAGES if name not in sys.modules]
    # The documented way to make an import fail: None in place of the module.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    # pydantic-ai reads the system's list of file types twice, for files at web addresses; we send none.
    types_unread, mimetypes.knownfiles = not mimetypes.inited, []
    late = {name: _LateModule(name) for name in LATE_MODULES if name not in sys.modules}
    sys.modules.update(late)
    finder = _TypesFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        mimetypes.knownfiles = _TYPE_FILES
        if types_unread:  # others read them with the system's list
            mimetypes.inited, mimetypes._db = False, None  # type: ignore[attr-defined]
        for name in hidden:
            if sys.modules.get(name) is None:  # another thread may have ended this already, and imported the package
                sys.modules.pop(name, None)
        for module in late.values():
            module._reveal()


class _LateModule(ModuleType):
    """In place of a module while libraries import it; afterwards it gets its names from the module itself."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self._importers: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        importer = sys._getframe(1).f_globals
        if sys.modules.get(self.__name__) is not self:
            return getattr(_loaded(self.__name__), name)
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("Error"):  # `except` takes only the class itself
            return getattr(_loaded(self.__name__), name)
        if name == "MagicMock" and importer.get("__name__") == "logfire_api":
            return _Inert
        self._importers.append(importer)
        return _LateName(self.__name__, name)

    def _reveal(self) -> None:
        """Let the module itself be imported, also by packages that export its names once they are asked for one."""
        self._leave()
        for package in self._importers:
            if "__path__" in package:
                names = [name for name, value in package.items() if isinstance(value, _LateName)]
                _load_when_asked(package, {name: package.pop(name)._load for name in names})
        parent, _, child = self.__name__.rpartition(".")
        if (holder := sys.modules.get(parent)) is not None and child not in vars(holder):
            _load_when_asked(vars(holder), {child: partial(_loaded, self.__name__)})
        self._importers.clear()

    def _leave(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


def _loaded(name: str) -> ModuleType:
    if isinstance(late := sys.modules.get(name), _LateModule):
        late._leave()
    return importlib.import_module(name)


class _LateAttributes:
    """The `__getattr__` of a package with attributes that are loaded when they are asked for."""

    def __init__(self, package: dict[str, Any]) -> None:
        self._package, self._own = package, package.get("__getattr__")
        self.loads: dict[str, Callable[[], Any]] = {}

    def __call__(self, name: str) -> Any:
        if name in self.loads:
            value = self._package[name] = self.loads[name]()
            return value
        if self._own is not None:
            return self._own(name)
        raise AttributeError(f"module {self._package['__name__']!r} has no attribute {name!r}")


def _load_when_asked(package: dict[str, Any], loads: dict[str, Callable[[], Any]]) -> None:
    if loads:
        if not isinstance(package.get("__getattr__"), _LateAttributes):
            package["__getattr__"] = _LateAttributes(package)
        package["__getattr__"].loads.update(loads)


class _Inert:
    """In place of the mocks that logfire's stand-in makes while it is imported, and never uses."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return self


class _LateName:
    """A function or class of a late module. It is loaded when it is called, used as a base, or asked for an attribute;
    before that, nothing is an instance of it."""

    def __init__(self, module: str, name: str) -> None:
        self._late = module, name

    def _load(self) -> Any:
        module, name = self._late
        return getattr(_loaded(module), name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._load()(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __getitem__(self, key: Any) -> Any:
        return self._load()[key]

    def __or__(self, other: Any) -> Any:
        return self._load() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._load()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any]:
        return (self._load(),)

    def __instancecheck__(self, instance: object) -> bool:
        module = sys.modules.get(self._late[0])
        return module is not None and not isinstance(module, _LateModule) and isinstance(instance, self._load())

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._load())


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
