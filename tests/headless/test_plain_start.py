"""The usual starts are parsed by hand exactly as the parser does, and commands without the parsers of others."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from co_tui.cli import arguments as parser
from co_tui.cli.arguments import parse
from co_tui.cli.plain_start import plain_start

WORDS = (
    *("--continue", "--resume", "--private", "--model", "--policy", "--mode", "--host"),
    *("--cont", "--model=x", "--", "-", "-1", "", "run", "show", "ab12", "openai:x", "auto", "with a space"),
)


def parsed(arguments: list[str]) -> dict[str, object] | None:
    """None if the parser refuses them."""
    try:
        return vars(parse(arguments))
    except SystemExit:
        return None


@given(arguments=st.lists(st.sampled_from(WORDS), max_size=4))
@example(["--resume", "run"])
@example(["--resume", "ab12", "--model", "openai:x"])
@example(["--private", "--resume"])
@example(["--continue", "--resume"])
@example(["--resume", "--model", "x"])
def test_a_start_parsed_by_hand_is_what_the_parser_makes_of_it(arguments: list[str]) -> None:
    plain = plain_start(arguments)
    assert plain is None or vars(plain) == parsed(arguments)


def test_the_usual_starts_need_no_parser() -> None:
    usual = ([], ["--continue"], ["--resume"], ["--resume", "ab12"], ["--private"], ["--model", "x", "--mode", "auto"])
    assert None not in map(plain_start, usual)


@given(
    arguments=st.lists(
        st.sampled_from((*WORDS, "-h", "--he", "--json", "--copy-to", "--fork", "sessions", "sesions", "nothing")),
        max_size=4,
    )
)
@example(["sessions", "--json"])
@example(["--json"])
@example(["sesions"])
@example(["show", "--fork"])
@example(["--", "nothing"])
@example(["--help", "sessions"])
def test_a_command_is_parsed_as_with_the_parsers_of_all_others(arguments: list[str]) -> None:
    """Results, help and mistakes."""
    with pytest.MonkeyPatch.context() as patched:
        said: list[str] = []
        patched.setattr(parser, "say", said.append)
        patched.setattr(parser, "put", said.append)
        alone = parsed(arguments), said.copy()
        said.clear()
        patched.setattr(parser, "_named_commands", lambda _: parser._NAMES)
        assert alone == (parsed(arguments), said)
