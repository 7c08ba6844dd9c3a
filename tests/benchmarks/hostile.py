"""Long texts of few signs: a reader that goes back and forth in them takes four times as long for twice the text."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from co_tui.agent.wire.overflow import read as read_refusal
from co_tui.context.journal.answers import answer_of
from co_tui.context.journal.calls import begin_call, begin_command
from co_tui.context.journal.conclusions import announcement, concluded, last_question, rejects
from co_tui.context.journal.errors import error_lines
from co_tui.context.journal.outcomes import Ending
from co_tui.context.memory.text_calls import calls_in_text
from co_tui.shell.programs import read_command
from tests.benchmarks.figures import print_table, times_ms

CHARS = 50_000
REPEATS = 5
LEAST_MS = 5.0
"""Shorter times say nothing about growth."""
SIGNS = (
    *" \n=<>\"'`{}[]()|&;.,:-_*/\\!?#1a", " \n", "=\n", "1 ", "a: ", "a|", "a=(", "${", "<<a\n", "\\'", "e + ", "x = (",
    "ok ", "sorry ", "thank you for ", "<tool_call>{", ".replace('", 'a = """', "s/a/", "it is not so. ", "12 > ",
    "9 tokens ", "context ", "maximum limit of ", '{"a":', "word ",
)  # fmt: skip


class Reader(NamedTuple):
    """What reads texts of others."""

    name: str
    read: Callable[[str], object]


READERS: Sequence[Reader] = (
    Reader("a shell command", read_command),
    Reader("a command's head", lambda text: begin_command(f"sed -i '{text}' a.py")),
    Reader("a refusal of a provider", lambda text: read_refusal(400, text)),
    Reader("what a command printed", lambda text: error_lines(f"{text}!")),
    Reader("what came of a call", lambda text: answer_of(begin_call("bash", {"command": "make"}), Ending(), text)),
    Reader("what a reply states", concluded),
    Reader("what a reply announces", announcement),
    Reader("the question of a reply", last_question),
    Reader("whether a prompt says no", rejects),
    Reader("calls in a text", calls_in_text),
)


def figures(reader: Reader) -> str:
    """The sign that takes longest, and the one whose time grows most."""
    longest, grown = (0.0, ""), (0.0, "")
    for sign in SIGNS:
        once, twice = (_ms(reader, sign, chars) for chars in (CHARS, 2 * CHARS))
        longest = max(longest, (once, sign))
        grown = max(grown, (twice / once, sign)) if twice >= LEAST_MS else grown
    growth = f"; twice as long, {grown[0]:.1f} times the time ({grown[1]!r})" if grown[1] else ""
    return f"{longest[0]:6.1f} ms ({longest[1]!r}){growth}"


def _ms(reader: Reader, sign: str, chars: int) -> float:
    text = sign * (chars // len(sign))
    return min(times_ms(lambda: reader.read(text), REPEATS, time.process_time))


def main() -> None:
    print(f"  texts of {CHARS:,} characters, processor time of the slowest\n")
    print_table([(reader.name, figures(reader)) for reader in READERS])
