"""The help's table of the sources is the one that the tests make, and each of its rows has a test."""

import ast
from pathlib import Path

from tests import seed_reference
from tests.seeds.behaviours import SEEDS

TESTS = Path(__file__).parents[1]


def test_the_table_is_the_one_that_the_tests_make() -> None:
    text = seed_reference.PAGE.read_text(encoding="utf-8")
    assert text == seed_reference.with_reference(text), "run `uv run python -m tests.seed_reference`"


def test_every_row_has_a_test_that_exists() -> None:
    found = seed_reference.behaviours()
    assert {each.seed for each in found} == set(SEEDS)
    assert len({(each.seed, each.sentence) for each in found}) == len(found), "one row a behaviour"
    for named in {each.test for each in found if "/" in each.test}:
        path, _, name = named.partition("::")
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name in names, named
