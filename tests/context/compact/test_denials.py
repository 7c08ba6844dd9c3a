"""Denied calls and the user's answers, read from messages: by what the tools cannot set."""

from typing import Any, Literal

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from co_tui.context.compact.offline_summary import summarise_offline
from co_tui.context.compact.user_messages import QUOTE_CHARS, fitting, user_messages_in
from co_tui.events.refusals import denied_by_user, read_refusal, refused_otherwise

COMMAND = {"command": "rm -rf build_dir"}
WHY = "The user denied it: keep it"


def step(
    tool: str, arguments: Any, content: Any, outcome: Literal["success", "failed", "denied"] = "denied", id_: str = "c"
) -> list[ModelMessage]:
    result = ToolReturnPart(tool, content, tool_call_id=id_, outcome=outcome)
    return [ModelResponse(parts=[ToolCallPart(tool, arguments, tool_call_id=id_)]), ModelRequest(parts=[result])]


@pytest.mark.parametrize(
    ("tool", "arguments", "content", "line"),
    [
        ("run_command", COMMAND, WHY, "denied `rm -rf build_dir`: keep it"),
        ("edit_file", {"path": "a.py", "old_text": "x"}, WHY, "denied `edit_file a.py`: keep it"),
        ("run_command", "not json", WHY, "denied `run_command`: keep it"),
        ("present_plan", {"steps": ["a"]}, "The user sent the plan back: too long", "sent the plan back: too long"),
    ],
)
def test_a_reason_is_quoted_with_what_was_denied(tool: str, arguments: Any, content: str, line: str) -> None:
    assert user_messages_in(step(tool, arguments, content)).said == (line,)


@pytest.mark.parametrize(
    "messages",
    [
        step("run_command", COMMAND, "The user denied it."),
        step("run_command", COMMAND, WHY, "success"),
        step("run_command", COMMAND, WHY, "failed"),
        step("run_command", COMMAND, "Denied by rule Bash(rm:*) in config.toml."),
        step("ask_user_question", {"questions": []}, "The user declined to answer.", "success"),
        step("mcp__ask__user_question", {}, {"Style": ["numpy"]}, "success"),
    ],
)
def test_nothing_else_counts_as_the_users_words(messages: list[ModelMessage]) -> None:
    assert user_messages_in(messages).said == ()


def test_several_answers_are_quoted_in_order_each_with_its_question() -> None:
    asked = {"questions": [{"header": "S", "question": "Which style?"}, {"header": "T", "question": "Which tests?"}]}
    answered = step("ask_user_question", asked, {"S": ["numpy"], "T": ["unit", "slow"]}, "success")
    assert user_messages_in([*answered, *step("run_command", COMMAND, WHY)]).said == (
        'answered "Which style?": numpy',
        'answered "Which tests?": unit, slow',
        "denied `rm -rf build_dir`: keep it",
    )


def test_a_call_id_used_again_belongs_to_the_latest_call() -> None:
    history = [*step("run_command", {"command": "first_one"}, "ok", "success"), *step("run_command", COMMAND, WHY)]
    assert user_messages_in(history).said == ("denied `rm -rf build_dir`: keep it",)
    told = summarise_offline(history, 300, user_words=False).text.splitlines()
    assert told[:3] == ["- $ first_one", "    → ok", "- $ rm -rf build_dir → denied by the user"]


def test_long_reasons_are_clipped_and_many_are_counted() -> None:
    history = [part for n in range(200) for part in step("run_command", COMMAND, f"{WHY} {n} " + "because " * 200)]
    words = user_messages_in(history)
    assert all(len(line) < QUOTE_CHARS + 40 and "more characters…] because" in line for line in words.said)
    kept = fitting(words, 1_000)
    assert 0 < len(kept.said) < 10 and len(kept.said) + kept.unsaid == 200


def test_a_standing_rule_in_a_reason_is_kept_as_one() -> None:
    assert user_messages_in(step("run_command", COMMAND, f"{WHY}. Never remove it.")).rules == ("Never remove it.",)


@pytest.mark.parametrize("content", ["The user denied it.", WHY])
def test_output_that_reads_like_a_refusal_makes_no_call_a_denied_one(content: str) -> None:
    told = summarise_offline(step("run_command", COMMAND, content, "success"), 300, user_words=False).text
    assert told.splitlines()[0] == "- $ rm -rf build_dir" and "denied by the user" not in told


@pytest.mark.parametrize("reason", ["", "keep it", "a: b\nc"])
@pytest.mark.parametrize("is_plan", [False, True])
def test_a_reason_is_read_as_it_was_written(reason: str, is_plan: bool) -> None:
    assert read_refusal(denied_by_user(reason, is_plan=is_plan)) == (True, reason)


@pytest.mark.parametrize("reason", ["", "Plan mode.", WHY, "The user denied it.", "The user sent the plan back: no"])
def test_no_other_refusal_looks_like_the_users(reason: str) -> None:
    assert read_refusal(refused_otherwise(reason)) == (False, "")
