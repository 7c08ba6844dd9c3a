"""What an envelope or an edit says besides its text is not lost, and no text takes long to read."""

import json
from typing import Any

import pytest
from pydantic_ai.messages import ToolCallPart

from co_tui.context.memory.names import names_in
from co_tui.context.memory.transcript_lines import arguments_text
from co_tui.context.memory.unwrap import unwrapped, with_edits_marked


@pytest.mark.parametrize(
    ("value", "facts"),
    [
        ({"error": "it broke", "status": 500, "id": 7}, ("it broke", "500", "7")),
        ({"message": "created", "id": "ORD-17"}, ("created", "ORD-17")),
        ({"content": "hello there", "name": "greeting"}, ("hello there", "greeting")),
        ([{"title": "Fix", "text": "body", "status": "open"}], ("Fix", "body", "open")),
        ([{"content": "a chunk", "metadata": {"source": "a.pdf", "page": 4}}], ("a chunk", "a.pdf", "4")),
        ({"success": False, "message": "Seat taken"}, ("Seat taken", "success", "false")),
    ],
)
def test_what_an_envelope_states_besides_its_text_is_kept(value: Any, facts: tuple[str, ...]) -> None:
    shown = unwrapped(json.dumps(value))
    assert all(fact in shown for fact in facts), shown


def test_a_number_called_code_is_an_exit_code_only_of_what_a_command_printed() -> None:
    assert "exit code" not in unwrapped(json.dumps({"code": 1234, "message": "your voucher"}))
    assert unwrapped(json.dumps({"stdout": "no", "code": 2})) == "no\n[exit code: 2]"


def test_a_text_that_was_cut_within_an_escape_can_be_stored() -> None:
    assert unwrapped('{"output": "half of it \\ud83d"}').encode() == b"half of it ?"


def test_an_edit_keeps_the_other_arguments() -> None:
    call = ToolCallPart("replace", {"old": "x", "new": "y", "count": 3, "paths": ["a.py", "b.py"]})
    text = arguments_text(call)
    assert all(part in text for part in ("3", "a.py", "b.py", "-x", "+y"))


def test_edit_blocks_without_an_end_stay_as_they_are_and_are_read_once() -> None:
    text = "<<<<<<< SEARCH\n=======\n" * 5_000 + "the end"
    assert with_edits_marked(text) == text
    block = "<<<<<<< SEARCH\nold row\n=======\nnew row\n>>>>>>> REPLACE"
    assert with_edits_marked(f"{text}\n{block}") == f"{text}\n-old row\n+new row"


def test_names_in_paths_of_windows_are_whole() -> None:
    assert {"main_table.py", "new_table.py"} <= set(names_in(r"open src\main_table.py and C:\shop\new_table.py"))
    assert "row_two" in names_in(r"row_one\nrow_two")
