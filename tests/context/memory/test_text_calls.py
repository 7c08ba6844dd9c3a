"""Calls that an agent writes in its text, as pieces of their own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.context.journal.work_record import WorkRecord
from co_tui.context.memory.text_calls import calls_in_text, pieces_of
from co_tui.context.memory.transcript_lines import transcript_parts

BLOCK = "<<<<<<< SEARCH\nold = {0}\n=======\nnew = {0}\n>>>>>>> REPLACE"


def fenced(path: str, number: int, *, fence: str = "```python") -> str:
    return f"{path}\n{fence}\n{BLOCK.format(number)}\n```"


def told(text: str) -> list[tuple[str, str]]:
    """Each piece with the tool of its call."""
    return [(piece.call.tool if piece.call else "", piece.text.strip()) for piece in pieces_of(text)]


def test_what_is_said_stands_before_and_after_the_edits_that_it_is_about() -> None:
    first, second = fenced("shop/sum.py", 1), fenced("shop/cart.py", 2)
    text = f"First the sum:\n\n{first}\n\nThen the cart:\n\n{second}\n\nBoth count now."
    assert told(text) == [
        ("", "First the sum:"),
        ("edit", "shop/sum.py\n-old = 1\n+new = 1"),
        ("", "Then the cart:"),
        ("edit", "shop/cart.py\n-old = 2\n+new = 2"),
        ("", "Both count now."),
    ]


def test_edits_of_one_file_are_one_call_unless_something_is_said_between_them() -> None:
    joined = f"{fenced('a.py', 1)}\n\n{fenced('a.py', 2)}\n\n```python\n{BLOCK.format(3)}\n```"
    assert told(joined) == [("edit", "a.py\n-old = 1\n+new = 1\n-old = 2\n+new = 2\n-old = 3\n+new = 3")]
    apart = f"{fenced('a.py', 1)}\n\nAnd below:\n\n{fenced('a.py', 2)}"
    assert [tool for tool, _ in told(apart)] == ["edit", "", "edit"]
    assert [tool for tool, _ in told(f"{fenced('a.py', 1)}\n{fenced('b.py', 2)}")] == ["edit", "edit"]


def test_an_edit_without_a_file_is_said_with_its_lines_marked() -> None:
    assert told(f"Like this:\n{BLOCK.format(1)}") == [("", "Like this:\n-old = 1\n+new = 1")]


@pytest.mark.parametrize("language", ["diff", "patch", "udiff"])
def test_a_patch_in_a_reply_may_have_changed_its_file(language: str) -> None:
    patch = "--- a/shop/sum.py\n+++ b/shop/sum.py\n@@ -1,2 +1,2 @@\n first\n-price_of_old\n+price_of_new"
    record = WorkRecord()
    record.add(ModelRequest(parts=[UserPromptPart("Mend the sum.")]))
    record.add(ModelResponse(parts=[TextPart(f"This mends it:\n\n```{language}\n{patch}\n```\n\nRun it.")]))
    state = record.state_text(900, range(9))
    assert "Files changed: shop/sum.py (perhaps)" in state and "+price_of_new" not in state


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("See:\n<execute_bash>\nls src\n</execute_bash>\nthen more", ["ls src"]),
        ("<function=bash>\n<parameter=command>make\n</parameter>\n</function>\nnext", ["make"]),
        ('a <tool_call>{"name": "sh", "arguments": {"command": "ls"}}</tool_call> b <tool_call>{', ["ls"]),
        ("THOUGHT: look\n\n```bash\ncat a.py\n```\n", ["cat a.py"]),
        ("```bash\nfirst\n```\nor\n```bash\nsecond\n```", ["second"]),
    ],
)
def test_a_command_in_a_text_is_a_piece_and_the_words_around_it_are_others(text: str, calls: list[str]) -> None:
    pieces = pieces_of(text)
    assert [piece.text for piece in pieces if piece.call] == calls
    assert all(text.count(piece.text) == 1 for piece in pieces)


@pytest.mark.parametrize(
    "text",
    [
        "A call begins with `<function=run>` and never ends.\nThe cause is that `load_prices` keeps `cache_v7` open.",
        '<function=get_prices>{"city": "cache_v7"}</function>',
        "<function=run>so that it\n<parameter=command>make</parameter> and more</function>",
        "<function=run><parameter=a>1</parameter><parameter=a>2</parameter></function>",
        "<function=run><parameter=a>1</parameter><parameter=b>never closed</function>",
        "<read_file>\nsrc/a.py\n</read_file>",
        '<tool_call>{"name": "note", "arguments": {"text": "half of \\ud83d a pair"}}</tool_call>',
    ],
)
def test_what_a_call_says_beside_its_values_is_not_lost(text: str) -> None:
    said = "".join(piece.text for piece in pieces_of(text))
    said.encode()
    words = re.findall(r"\w{4,}|\d", re.sub(r"</?\w+(?:=\w+)?>", " ", text))
    assert set(words) <= set(re.findall(r"\w{4,}|\d", said))


def test_a_call_with_half_a_pair_in_it_is_left_in_its_text() -> None:
    text = '<tool_call>{"name": "x", "arguments": {"a": "half \ud83d of"}}</tool_call>'
    assert [piece.text for piece in pieces_of(text)] == [text]


def test_of_many_values_that_never_end_nothing_is_lost() -> None:
    parameters, fields = "<parameter=a>" * 9_000, "".join(f"<a{n}>" for n in range(9_000))
    assert [piece.text for piece in pieces_of(f"<function=x>{parameters}</function>")] == [parameters]
    assert [piece.text for piece in pieces_of(f"<read_file>\n{fields}")] == [f"\n{fields}"]


SAID = st.sampled_from(
    ["Look at it.", "```", "```bash", "ls a", "", "a.py", "<bash>", "</bash>", "</function>"]
) | st.text(max_size=20)
CALLS = st.sampled_from(
    [
        fenced("a.py", 1),
        fenced("b.py", 2, fence="<source>"),
        "<function=x><parameter=y>1</parameter></function>",
        "```diff\n--- a/c.py\n+++ b/c.py\n@@ -1 +1 @@\n-x\n+y\n```",
        '<tool_call>{"name": "x", "arguments": {"a": 1}}',
    ]
)


@given(st.lists(SAID | CALLS, max_size=7))
def test_the_pieces_are_in_order_and_leave_out_nothing_that_is_said(parts: list[str]) -> None:
    text = "\n".join(parts)
    calls, end = calls_in_text(text), 0
    for call in calls:
        assert end <= call.begin < call.end <= len(text)
        end = call.end
    pieces = pieces_of(text)
    assert [piece.call for piece in pieces if piece.call] == calls
    rest = text
    for call in reversed(calls):
        rest = rest[: call.begin] + rest[call.end :]
    if "<<<<<<< SEARCH" not in rest:
        said = "".join(piece.text for piece in pieces if not piece.call)
        assert "".join(said.split()) == "".join(rest.split())
    reply = ModelResponse(parts=[TextPart(text), TextPart("More.")])
    assert [part.text for part in transcript_parts(reply)] == [*(piece.text for piece in pieces), "More."]
