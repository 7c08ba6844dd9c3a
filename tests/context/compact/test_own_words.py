"""The user's own words: no envelopes, no pasted code, whole sentences, and the question that a short answer answers."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.context.compact.user_messages import QUOTE_CHARS, clipped, rules_in, user_messages_in


def said(*texts: str) -> list[ModelMessage]:
    """A prompt, a reply, a prompt, and so on."""
    return [
        ModelResponse(parts=[TextPart(text)]) if at % 2 else ModelRequest(parts=[UserPromptPart(text)])
        for at, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Always use tabs.",
        "please don't modify the theme",
        "ok, never push to main",
        "invalid themes must NEVER explode",
        "truncated text must stop when it encounters a new line",
        "I don't want you to touch the tests.",
        "from now on: always use tabs",
        "Always run make lint && make test before you commit.",
        "Never use == to compare prices.",
        "error messages must be in English",
    ],
)
def test_what_is_to_be_done_from_now_on_is_a_rule(text: str) -> None:
    assert rules_in([text]) == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "i don't understand, does it capture the theme always?",
        "I don't remember the reservation ID right now.",
        "```python\nraise ValueError('must be positive')\n```",
        "shop.py:12:4: E712 comparison must be done with is",
        "ValueError: Reference at 'refs/heads/main' does not exist",
        "<approval_policy>You must always ask.</approval_policy>",
        "Here is a demonstration of how to do it:\nAlways reproduce the bug.",
        "i think the component must not be wider than that",
        "def check(value): assert value, 'must not be empty'",
    ],
)
def test_questions_code_output_and_envelopes_are_no_rules(text: str) -> None:
    assert rules_in([text]) == ()


def test_envelopes_are_not_quoted() -> None:
    text = "<environment_context>cwd: here</environment_context>\nMend the table.\n[Request interrupted by user]"
    assert user_messages_in(said(text)).said == ("Mend the table.",)


@pytest.mark.parametrize(
    "text",
    [
        "Why is <session-list> empty? Never touch the router.",
        "Copy <source> to <target>. Never touch the router.",
        "<user_query>\nNever touch the router.\n</user_query>",
        "Observation: the list is empty. Never touch the router.",
        "Exit code: 1\nNever touch the router.",
        "Here is a demonstration of the fault. Never touch the router.",
    ],
)
def test_tags_and_headings_that_the_user_writes_take_nothing_away(text: str) -> None:
    words = user_messages_in(said(text))
    assert words.rules == ("Never touch the router.",) and "Never touch the router." in words.said[0]


@pytest.mark.parametrize("piece", ["<system-ab ", "-", "<file "])
def test_a_prompt_of_one_piece_again_and_again_is_read_at_once(piece: str) -> None:
    assert user_messages_in(said(piece * 200_000)).rules == ()


def test_what_a_tool_printed_is_not_quoted() -> None:
    assert user_messages_in(
        said("go", "```bash\nls\n```", "<returncode>0</returncode>\n<output>\na\n</output>")
    ).said == ("go",)


def test_a_long_message_keeps_its_beginning_and_its_end_in_whole_sentences() -> None:
    text = f"Mend the price table. {'It says a lot of things here. ' * 60}What went wrong?"
    short = clipped(text)
    assert len(short) < QUOTE_CHARS + 40
    begin, end = short.split(" […")[0], short.split("…] ")[1]
    assert begin.startswith("Mend the price table. ") and begin.endswith(".") and end.endswith("What went wrong?")
    assert end.startswith("It says")


def test_a_short_answer_carries_the_question() -> None:
    talk = said("mend it", "There are two ways. Shall I drop the old table?", "yes, do", "Done.", "and now the tests")
    assert user_messages_in(talk).said == (
        "mend it",
        'answered "Shall I drop the old table?": yes, do',
        "and now the tests",
    )
