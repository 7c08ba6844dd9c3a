"""The user's own words: no envelopes, no pasted code, whole sentences, and the question that a short answer answers."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart

from co_tui.context.compact.user_messages import (
    QUOTE_CHARS,
    UserMessages,
    as_sections,
    clipped,
    fitting,
    rules_in,
    user_messages_in,
)


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
        "from now on, use tabs (width 4)",
        "for tests: always use pytest",
        "if you write code (python), never use print",
        "class names must always be CamelCase (PEP 8)",
        "import order: always stdlib first",
        "error messages must always be in English",
        "Never chain commands with `&&`.",
        "You should never use == with None",
        "Always call super().__init__ in constructors",
        "[important] never push to main",
        "@agent always run the linter first",
        "Use only pnpm here.",
        "Reply in English only.",
        "When you write tests, don't mock the database.",
        "Could you please never push to main?",
        "Please always use tabs, ok?",
        "Make sure it never crashes.",
        "Make sure that only admins can log in.",
        "This must always work offline.",
        "It must run on Python 3.9.",
        "We never push to main.",
        "Never push to main, I think that is clear.",
        "Rule: every new function needs a docstring.",
        "Every new function needs a docstring.",
        "For this whole session, write tests with pytest only.",
        "No emojis, ever.",
        "Write part 2, it must never round.",
        "Test files must begin with test_.",
        "Add-on names must be in English.",
    ],
)
def test_what_is_to_be_done_from_now_on_is_a_rule(text: str) -> None:
    assert rules_in([text]) == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "i don't understand, does it capture the theme always?",
        "I don't remember the reservation ID right now.",
        "My apologies, but I can't remember the ID.",
        "it finds the newline and only displays the first line",
        "```python\nraise ValueError('must be positive')\n```",
        "shop.py:12:4: E712 comparison must be done with is",
        "ValueError: Reference at 'refs/heads/main' does not exist",
        "<approval_policy>You must always ask.</approval_policy>",
        "Here is a demonstration of how to do it:\nAlways reproduce the bug.",
        "i think the component must not be wider than that",
        "def check(value): assert value, 'must not be empty'",
        "if (value) { throw new Error('must never be set'); }",
        "return check(value, 'must not be empty')",
        "it must be a bug in the parser",
        "Write part 2 of the shop; it must take an amount.",
        "Let's add a button, which should be red.",
    ],
)
def test_questions_code_output_and_envelopes_are_no_rules(text: str) -> None:
    assert rules_in([text]) == ()


def test_envelopes_are_not_quoted() -> None:
    text = "<environment_context>cwd: here</environment_context>\nMend the table.\n[Request interrupted by user]"
    assert user_messages_in(said(text)).said == ("Mend the table.",)


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


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Run ruff on <file> before each commit. Never push.", "Never push."),
        ("Here is a demonstration video. Never touch the CSS.", "Never touch the CSS."),
        ("Add a <user-card> element. Never use inline styles.", "Never use inline styles."),
        ("--- DEMONSTRATION ---\nAlways look.\n--- END OF DEMONSTRATION ---\nNever push.", "Never push."),
    ],
)
def test_a_rule_after_a_name_in_angle_brackets_or_a_demonstration_is_found(text: str, rule: str) -> None:
    assert rules_in([text]) == (rule,)


@pytest.mark.parametrize(
    "text",
    [
        "<user_story>As a buyer I want a cart.</user_story> Build this.",
        "Build a <user-card> element with a name",
        "<system-design>one service</system-design>",
        "OBSERVATION: the app crashes on start",
        "Exit code: 1 appears when I run make. Why?",
    ],
)
def test_what_looks_like_an_envelope_or_output_but_is_the_users_is_quoted(text: str) -> None:
    assert user_messages_in(said(text)).said == (text,)


def test_words_that_a_program_wrapped_are_quoted() -> None:
    texts = ("<user_query>mend it</user_query>", "Done.", "<command-name>/review</command-name><command-args>only a.py")
    assert user_messages_in(said(*texts)).said == ("mend it", "only a.py")


def test_a_question_is_answered_once_and_not_while_a_tool_works() -> None:
    asked = said("go", "Shall I drop it?", "yes")
    assert user_messages_in([*asked, *said("and mend b.py")]).said[1:] == (
        'answered "Shall I drop it?": yes',
        "and mend b.py",
    )
    looks = ModelResponse(parts=[TextPart("Is it there?"), ToolCallPart("read", {"path": "a"})])
    assert user_messages_in([looks, *said("stop")]).said == ("stop",)


def test_an_order_that_may_be_for_one_task_is_not_repeated_as_a_rule() -> None:
    words = user_messages_in(said("Fix the footer, don't modify the theme. Never push to main."))
    text = as_sections(words)
    assert text.count("modify the theme") == 1 and text.count("Never push to main") == 2
    assert "- Fix the footer, don't modify the theme." in as_sections(UserMessages(words.rules)), "without the quote"


def test_rules_for_all_that_follows_come_before_those_for_one_task() -> None:
    rules = ("Never push to main.", "Rule: every function has a docstring.", "All code must run offline.")
    for_one = tuple(f"Fix the footer of page {n}, don't modify the theme." for n in range(9))
    kept = fitting(UserMessages((*rules, *for_one)), 200).rules
    assert kept[:3] == rules and 0 < len(kept[3:]) < 9 and kept[-1] == for_one[-1]


def test_the_first_message_has_more_room_if_there_is_room() -> None:
    task = " ".join(f"Tip {n} is to look first." for n in range(60))
    words = user_messages_in(said(task, "ok", task))
    assert words.said[0] == task and len(words.said[1]) <= QUOTE_CHARS + 40
    assert fitting(words, 2_000).said[0] == task
    assert fitting(words, 400).said[0] == clipped(task), "cut like the others"


def test_a_command_to_the_program_is_not_quoted() -> None:
    words = user_messages_in(said("/mode", "ok", "/", "ok", "/review the shop", "ok", "go on"))
    assert words.said == ("/review the shop", "go on")
    words = user_messages_in(said("go", "In which folder should the logs go?", "/data"))
    assert words.said == ("go", 'answered "In which folder should the logs go?": /data')


@pytest.mark.parametrize(
    ("unsaid", "note"), [(1, "(1 more message of the user is not"), (2, "(2 more messages of the user are not")]
)
def test_how_many_messages_are_not_quoted(unsaid: int, note: str) -> None:
    assert note in as_sections(UserMessages(said=("go on",), unsaid=unsaid))


@pytest.mark.parametrize("piece", ["-", "`", "~", "\t", "-- DEMO "])
def test_a_long_line_is_read_once(piece: str) -> None:
    """A quadratic search would take many minutes for it, and run into the test's own limit."""
    words = user_messages_in(said(piece * (200_000 // len(piece)), "ok", "Never push to main."))
    assert "Never push to main." in words.rules
