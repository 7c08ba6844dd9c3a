"""What a journal is chosen by: names, and the ledger of who used them; and lines as they are read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.compact.user_messages import fitting, user_messages_in
from co_tui.context.memory.ledger import Ledger
from co_tui.context.memory.names import Kind, names_in, parts_of
from co_tui.context.memory.transcript_lines import LINE_CHARS, RECORD_CHARS, lines_of


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("see src/deep/thing.py now", "src/deep/thing.py", Kind.PATH),
        ("see src/deep/thing.py now", "thing.py", Kind.DOTTED),
        ("call parse_all(x)", "parse_all", Kind.SNAKE),
        ("def __init__(self)", "__init__", Kind.SNAKE),
        ("use os.environ here", "os.environ", Kind.DOTTED),
        ("the parseAll method", "parseAll", Kind.OTHER),
        ("order JG7FMM failed", "JG7FMM", Kind.OTHER),
        ("exit status 12345", "12345", Kind.NUMBER),
        ("run /compact again", "/compact", Kind.PATH),
        ("at https://example.org/a/b.html today", "https://example.org/a/b.html", Kind.PATH),
        ("at https://example.org/a/b.html today", "example.org/a/b.html", Kind.PATH),
        ("colour #ffaa00 is", "ffaa00", Kind.OTHER),
        ("ask Maria about it", "Maria", Kind.OTHER),
        ("错误在 src/主.py 里", "src/主.py", Kind.PATH),
    ],
)
def test_what_a_text_names(text: str, name: str, kind: Kind) -> None:
    assert names_in(text).get(name) is kind


@pytest.mark.parametrize(
    "text", ["all plain words here", "The first one.", "12 of 34", "a", "", "—…", "x" * 500, r"\u6f22\u5b57"]
)
def test_what_names_nothing(text: str) -> None:
    assert names_in(text) == {}


def test_names_are_made_of_words() -> None:
    assert parts_of("parseHTTPReply_forAll.py") == {"parse", "http", "reply", "for", "all"}


TEXTS = st.text(max_size=2_000)
RECORDS = st.lists(
    st.dictionaries(st.text(max_size=8), st.text(max_size=300) | st.integers() | st.none(), max_size=6), max_size=20
)


@given(TEXTS | RECORDS.map(json.dumps))
def test_any_text_is_read_line_by_line_and_no_line_is_long(text: str) -> None:
    """Nothing is lost; records of JSON may be longer."""
    assert all(
        len(line) <= (RECORD_CHARS if text.lstrip()[:1] in ("[", "{") else LINE_CHARS) for line in lines_of(text)
    )
    assert all(name in text for name in names_in(text))
    assert "".join("".join(lines_of(text)).split()) == "".join("".join(text.splitlines()).split())


def test_json_is_split_between_its_records() -> None:
    rows = [{"id": n, "name": "some words of it " * 4} for n in range(20)]
    lines = lines_of(json.dumps(rows))
    assert [json.loads(line.strip("[],")) for line in lines] == rows
    wide = {f"field_{n}": "a value of it " * 6 for n in range(30)}
    pieces = lines_of(json.dumps(wide))
    assert len(pieces) > 3 and all(line.startswith('"field_') for line in pieces[1:]), "split between its fields"
    assert json.loads(" ".join(pieces)) == wide


def prompt(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(text)])


def answer(text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(text)])


def step(n: int, path: str, result: str) -> list[ModelMessage]:
    call = ToolCallPart("read", {"path": path}, tool_call_id=f"c{n}")
    return [ModelResponse(parts=[call]), ModelRequest(parts=[ToolReturnPart("read", result, tool_call_id=f"c{n}")])]


def test_the_ledger_knows_who_used_a_name_how_often_and_where_last() -> None:
    ledger = Ledger()
    talk = [prompt("look at order_total"), *step(1, "src/order.py", "one\ndef order_total(cart):\n    total_price = 1")]
    for message in [*talk, answer("order_total adds up total_price."), answer("I will change order_total.")]:
        ledger.add(message)
    total, price = ledger.details["order_total"], ledger.details["total_price"]
    assert (total.uses, total.by_user, total.lines[-1].position.message) == (2, True, 4)
    assert (price.uses, price.by_user, price.lines[0].position) == (1, False, (2, 0, 2))
    assert ledger.weight("order_total") > ledger.weight("total_price") > ledger.weight("nobody_said_it") == 0
    before = ledger.weight("order_total")
    ledger.add(answer("words " * 20_000))
    assert ledger.weight("order_total") < before / 2


def test_of_a_name_that_only_tools_printed_one_line_is_kept_and_two_once_it_is_used() -> None:
    ledger = Ledger()
    for number in range(3):
        for message in step(number, "a.txt", f"printed_name {number}"):
            ledger.add(message)
    assert [line.text for line in ledger.details["printed_name"].lines] == ["printed_name 2"]
    ledger.add(answer("so printed_name it is"))
    assert [line.text for line in ledger.details["printed_name"].lines] == ["printed_name 2", "so printed_name it is"]


def test_a_name_is_one_string_in_memory_however_many_messages_have_it() -> None:
    ledger = Ledger()
    for reply in ("parse_all failed", "now parse_all works"):
        ledger.add(ModelResponse(parts=[TextPart(reply)]))
    first, second = (names[0] for names in ledger.names if names)
    assert first == "parse_all" and first is second


def test_a_ledger_of_any_length_keeps_what_the_model_used() -> None:
    ledger = Ledger()
    ledger.add(answer("I will use kept_name for good."))
    for n in range(40):
        ledger.add(step(n, f"src/part_{n}.py", "\n".join(f"found_{n}_{k}" for k in range(500)))[1])
    ledger.add(answer(" ".join(f"said_{k}" for k in range(500))))
    assert len(ledger.details) < 16_000 and "kept_name" in ledger.details and "said_499" in ledger.details
    assert all(name in ledger.details for names in ledger.by_part.values() for name in names)


def test_the_same_prompt_again_and_again_is_quoted_once() -> None:
    words = fitting(user_messages_in([prompt("go on with it please")] * 500), 200)
    assert words.said == ("go on with it please",)
