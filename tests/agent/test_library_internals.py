"""Private names of pydantic-ai and its harness: imported in one file only, listed with a reason, and what they were."""

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from copy import copy
from functools import cache
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock

import pytest
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage

import co_tui
from co_tui.agent import library_internals
from co_tui.agent.library_internals import CHECKED, IMPORTED, INHERITED, INTERNALS, Internal
from tests.support.cases import each_case

OURS = Path(co_tui.__file__).parent
LIBRARIES = ("pydantic_ai", "pydantic_ai_harness")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
NOT_LISTED = "host"
"""The folder whose private names are not in the list."""


@each_case("package", CHECKED)
def test_the_version_is_the_one_that_was_checked(package: str) -> None:
    assert version(package) == CHECKED[package], "check each of INTERNALS in the new version, then write its number"


@each_case("internal", INTERNALS)
def test_a_private_name_is_still_what_it_was(internal: Internal) -> None:
    module, _, name = internal.owner.partition(":")
    owner = getattr(importlib.import_module(module), name) if name else importlib.import_module(module)
    if internal.parameters is not None:
        assert list(inspect.signature(getattr(owner, internal.name)).parameters) == internal.parameters.split()
    elif not hasattr(owner, internal.name):
        assert internal.name in _private_names(owner), "no instance has it either"


def test_an_imported_name_is_here_without_its_underscore() -> None:
    assert sorted(library_internals.__all__) == sorted(each.name.lstrip("_") for each in IMPORTED)
    for each in IMPORTED:
        found = getattr(library_internals, each.name.lstrip("_"))
        assert found is getattr(importlib.import_module(each.owner), each.name)
    with pytest.raises(AttributeError):
        library_internals.nothing  # noqa: B018


def test_a_context_is_copied_without_taking_it_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("co_tui.agent.toolkit")
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), prompt="Look at it.", retries={"read": 2})
    monkeypatch.setattr(RunContext, "__reduce_ex__", Mock(side_effect=AssertionError))
    copied = copy(context)
    assert type(copied) is RunContext and vars(copied) == vars(context) and copied.retries is context.retries
    copied.prompt = "Another."
    assert context.prompt == "Look at it."


def test_no_other_file_imports_a_private_name() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in OURS.rglob("*.py") if NOT_LISTED not in file.parts}
    users = {file: text for file, text in texts.items() if any(library in text for library in LIBRARIES)}
    found = {str(file.relative_to(OURS)): list(_imported(ast.parse(text))) for file, text in users.items()}
    assert found.pop("agent/library_internals.py") and {name: used for name, used in found.items() if used} == {}


def test_what_our_classes_override_or_read_of_their_bases_is_listed() -> None:
    used = {found for each in _our_classes() for found in _inherited_names(each)}
    assert used == {(each.owner, each.name) for each in INHERITED}


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
            yield from (part for part in (node.module or "").split(".") if _is_private(part))
            yield from (alias.name for alias in node.names if _is_private(alias.name))


def _our_classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(co_tui.__path__, "co_tui."):
        parts = module.name.split(".")
        if parts[1] == "ui" or parts[-1] == "__main__" or NOT_LISTED in parts or module.ispkg:
            continue
        members = vars(importlib.import_module(module.name)).values()
        yield from (each for each in members if inspect.isclass(each) and each.__module__ == module.name)


def _inherited_names(ours: type) -> Iterator[tuple[str, str]]:
    """Private names of library bases that the class defines or reads, each with the nearest base that has it."""
    theirs: dict[str, str] = {}
    for base in ours.__mro__:
        if base.__module__.partition(".")[0] in LIBRARIES:
            for name in _private_names(base):
                theirs.setdefault(name, f"{base.__module__}:{base.__name__}")
    if theirs:
        tree = _definition(ours)
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used |= {node.name for node in ast.walk(tree) if isinstance(node, FUNCTION)}
        yield from ((theirs[name], name) for name in used & theirs.keys())


@cache
def _private_names(owner: type) -> frozenset[str]:
    """Of the class itself, and of its instances as far as its methods set them."""
    stored = (
        node
        for node in ast.walk(_definition(owner))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )
    known = (*vars(owner), *vars(owner).get("__annotations__", ()), *(node.attr for node in stored))
    return frozenset(name for name in known if _is_private(name))


def _definition(owner: type) -> ast.AST:
    """The class as it is written; nothing for one that is made at run time."""
    return _classes(owner.__module__).get(owner.__qualname__, ast.Module([], []))


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module by their qualified names; parsed once, which takes longest."""
    return dict(_classes_in(ast.parse(inspect.getsource(sys.modules[module])), ""))


def _classes_in(node: ast.AST, above: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield above + child.name, child
            yield from _classes_in(child, f"{above}{child.name}.")
        elif isinstance(child, ast.stmt):
            name = f"{above}{child.name}.<locals>." if isinstance(child, FUNCTION) else above
            yield from _classes_in(child, name)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"
