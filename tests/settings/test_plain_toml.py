"""What is read without the TOML parser is what the parser reads."""

import tomllib
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

import co_tui.context
from co_tui.settings.plain_toml import plain_table

LINES = (
    *("", "# a comment", "[a]", "[b]", "  [a]  ", "[a.b]", "[[a]]", "[", "[]", '["a"]', "a = 1", "b = 1.50", "a=true"),
    *('a = "text"', 'a = "it\'s" ', 'a = "x" # y', 'a = "\\n"', "a = 'x'", 'a = """x"""', 'a = ""', "a-b_1 = false"),
    *("a = 01", "a = 1.", "a = .5", "a = 1e3", "a = -1", "a = 1_000", "a = 0", "a = 0.05", "a = 10.0", "a = ١", "a ="),
    *("a.b = 1", "a b = 1", "= 1", "a", "-", "ä = 1", "a = [1]", "a = {}", 'a = "é\u2028"', "a = 1\t", "a = 1\r"),
    *('a = """', 'a = "="', 'a = "b" = "c"', "a = inf", "a = 2026-01-01", "a = 9999999999999999999", "a = trueish"),
)


@given(lines=st.lists(st.sampled_from(LINES), max_size=4))
@example(["a = 1", "[a]"])
@example(["[a]", "b = 1", "[a]"])
@example(["[a]", "a = 1", "[b]", "a = 1"])
def test_a_plain_table_is_what_the_parser_reads(lines: list[str]) -> None:
    text = "\n".join(lines)
    plain = plain_table(text)
    if plain is not None:
        assert repr(plain) == repr(tomllib.loads(text))


def test_the_default_policy_needs_no_parser() -> None:
    (folder,) = co_tui.context.__path__
    assert plain_table(Path(folder, "policies", "balanced.toml").read_text()) is not None
