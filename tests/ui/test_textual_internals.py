"""Private names of Textual and Rich, used in one file only: still what they were."""

import ast
import gc
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.cache import FIFOCache
from textual.strip import Strip

import co_tui.ui
from co_tui.ui import textual_internals
from co_tui.ui.textual_internals import (
    CHECKED,
    INTERNALS,
    MOST_DRAWN_OPTIONS,
    MOST_STYLES,
    Internal,
    free_strips_at_once,
    limit_caches,
)
from co_tui.ui.widgets.safe_list import SafeList


@pytest.mark.parametrize("package", CHECKED)
def test_the_version_is_the_one_that_was_checked(package: str) -> None:
    assert version(package) == CHECKED[package], "check each of INTERNALS in the new version, then write its number"


@pytest.mark.parametrize("internal", INTERNALS, ids=lambda each: f"{each.owner}.{each.name}")
def test_a_private_name_is_still_what_it_was(internal: Internal) -> None:
    module, _, name = internal.owner.partition(":")
    owner = getattr(importlib.import_module(module), name) if name else importlib.import_module(module)
    if internal.parameters is not None:
        assert list(inspect.signature(getattr(owner, internal.name)).parameters) == internal.parameters.split()
    elif not hasattr(owner, internal.name):
        assert internal.name in _private_names(owner), "no instance has it either"


def test_every_private_name_in_the_file_has_its_reason() -> None:
    tree = ast.parse(inspect.getsource(textual_internals))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_private(node.attr)}
    assert used <= {each.name for each in INTERNALS}


def test_what_was_drawn_long_ago_is_not_kept() -> None:
    limit_caches()
    for number in range(2 * MOST_STYLES):
        style = Style(color="red", bold=True, meta={"offset": (0, number)})
        assert Strip.render_ansi(style, ColorSystem.TRUECOLOR) == "1;31"
    kept = Strip.render_ansi.__func__.cache_info()  # type: ignore[attr-defined]
    assert kept.currsize == MOST_STYLES
    assert SafeList()._option_render_cache.maxsize == MOST_DRAWN_OPTIONS


def test_a_drawn_line_is_freed_without_the_garbage_collector() -> None:
    for _ in range(2):
        free_strips_at_once()
    gc.collect()
    gc.disable()
    try:
        before = _strip_caches()
        for _ in range(20):
            strip = Strip([Segment("a line", Style(bold=True))], 6)
            assert strip.adjust_cell_length(6) is strip.crop_extend(0, 6, None) is strip.divide([6, 9])[0] is strip
            assert strip.adjust_cell_length(8).text == "a line  " and strip.crop_extend(2, 8, None).text == "line  "
            assert [each.text for each in strip.divide([1, 6])] == ["a", " line"]
        del strip
        assert _strip_caches() == before
    finally:
        gc.enable()


def _strip_caches() -> int:
    return sum(type(each) is FIFOCache for each in gc.get_objects())


def test_no_class_of_ours_overrides_or_reads_a_private_name_of_its_base() -> None:
    found = [
        f"{each.__module__}.{each.__name__}: {name}"
        for each in _our_classes()
        for name in sorted(_inherited_names(each))
    ]
    assert found == []


def _our_classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(co_tui.ui.__path__, "co_tui.ui."):
        members = vars(importlib.import_module(module.name)).values()
        yield from (each for each in members if inspect.isclass(each) and each.__module__ == module.name)


def _inherited_names(ours: type) -> set[str]:
    """Private names of library bases that the class defines or reads."""
    theirs = {name for base in ours.__mro__ if _is_of_library(base) for name in _private_names(base)}
    if not theirs or ours.__module__ == textual_internals.__name__:
        return set()
    return theirs & {
        node.attr if isinstance(node, ast.Attribute) else node.name
        for node in ast.walk(_tree_of(ours))
        if isinstance(node, ast.Attribute | ast.FunctionDef | ast.AsyncFunctionDef)
    }


@cache
def _private_names(owner: type) -> frozenset[str]:
    """Of the class itself, and of its instances as far as its methods set them."""
    stored = (
        node
        for node in ast.walk(_tree_of(owner))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )
    return frozenset(name for name in (*vars(owner), *(node.attr for node in stored)) if _is_private(name))


def _tree_of(owner: type) -> ast.AST:
    """`inspect.getsource` would parse the whole module for each of its classes."""
    classes = _classes_in(owner.__module__)
    if owner.__qualname__ in classes:
        return classes[owner.__qualname__]
    return ast.parse(textwrap.dedent(inspect.getsource(owner)))


@cache
def _classes_in(module: str) -> dict[str, ast.ClassDef]:
    """The classes at the top of a module."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _is_of_library(base: type) -> bool:
    return base.__module__.partition(".")[0] in ("textual", "rich")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"
