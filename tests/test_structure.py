"""The shape of the code: short functions, and one kind of record for each purpose."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 40
TABLES = {
    "co_tui.session.state.derive.apply": "one case a fact",
    "co_tui.store.sqlite.migrations._sessions_and_events": "the columns of a schema",
}
"""Functions that are longer because they are tables, and what of."""
MOST_COMPLEX_TABLES = 3


def parsed(word: str = "") -> dict[str, ast.Module]:
    """The modules that contain the word."""
    texts = {file: file.read_text() for file in sorted((ROOT / "co_tui").rglob("*.py"))}
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): ast.parse(text)
        for file, text in texts.items()
        if word in text
    }


def functions(node: ast.AST, name: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # holds none
        below = (
            f"{name}.{child.name}" if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else name
        )
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield below, child
        yield from functions(child, below)


def test_no_function_but_a_named_table_is_longer_than_forty_lines() -> None:
    every = [found for module, tree in parsed().items() for found in functions(tree, module)]
    long = {name for name, node in every if (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES}
    assert len(every) > 3_000
    assert long == set(TABLES), "split it, or name it as a table"


def test_only_a_few_tables_may_be_complex() -> None:
    texts = {file.name: file.read_text() for file in (ROOT / "co_tui").rglob("*.py")}
    assert sum(text.count("# noqa: C901") for text in texts.values()) <= MOST_COMPLEX_TABLES


def test_an_immutable_record_is_a_named_tuple_or_a_record() -> None:
    frozen = [
        f"{module}.{node.name}"
        for module, tree in parsed("frozen=").items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and any(keyword.arg == "frozen" for keyword in decorator.keywords)
    ]
    assert frozen == [], "NamedTuple for a value, Record for what is stored; @dataclass is for objects that change"
