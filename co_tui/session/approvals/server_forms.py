"""Ask the user what an MCP server wants to know, one field after the other."""

from typing import Any, Final

from co_tui.agent.mcp.elicitation import Answers, Field, Form, WrongAnswer
from co_tui.inert import one_line
from co_tui.session.approvals.questions import ModelAnswer, ModelQuestion, Questions

SKIP: Final = "Skip"
ACCEPT: Final = "Accept"
SEND: Final = "Send"
WARNING: Final = "The answer goes to the server. Give it no passwords or keys."
VALUE_CHARS: Final = 100
MOST_LISTED: Final = 7
"""Options with a key of their own; others are typed."""
MORE_CHARS: Final = 500


async def fill_in(form: Form, questions: Questions) -> Answers | None:
    """The user's answers; None if the user declines one of them."""
    if not form.fields:
        answer = await _ask(questions, form, form.message, (ACCEPT,))
        return {} if answer.selected == (ACCEPT,) else None
    answers: dict[str, Any] = {}
    for number, field in enumerate(form.fields, 1):
        found = await _field(form, field, number, questions)
        if found is None:
            return None
        answers |= found
    if len(form.fields) == 1:
        return answers
    listed = [f"{field.title}: {_shown(answers[field.name])}" for field in form.fields if field.name in answers]
    answer = await _ask(questions, form, "\n".join(["Send these answers?", *listed]), (SEND,))
    return answers if answer.selected == (SEND,) else None


async def _field(form: Form, field: Field, number: int, questions: Questions) -> Answers | None:
    """The answer to one field: empty if it was skipped, None if it was declined."""
    of = f" ({number} of {len(form.fields)})" if len(form.fields) > 1 else ""
    title = f"{field.title}{of}{': ' if field.description else ''}{field.description}"
    default = _default(field)
    options = (*field.labels[:MOST_LISTED], *([default] if default and default not in field.labels else []))
    options += () if field.required else (SKIP,)
    more = one_line(", ".join(field.labels[MOST_LISTED:]), MORE_CHARS)
    hint = f"Or type: {more}" if more else field.hint
    while True:
        lines = (form.message, title, hint, f"Default: {default}" if default else "", WARNING)
        text = "\n".join(filter(None, lines))
        answer = await _ask(questions, form, text, options, multiple=field.kind == "choices")
        if answer.declined:
            return None
        if answer.selected == (SKIP,) and SKIP not in field.labels:
            return {}
        try:
            return {field.name: _value(field, answer)}
        except WrongAnswer as wrong:
            hint = f"“{one_line(answer.text, 40)}”: {wrong}"


def _value(field: Field, answer: ModelAnswer) -> Any:
    if field.kind == "choices" and answer.selected:
        return [field.option(each) for each in answer.selected if each != SKIP]
    return field.value(answer.selected[0] if answer.selected else answer.text)


async def _ask(
    questions: Questions, form: Form, text: str, options: tuple[str, ...], *, multiple: bool = False
) -> ModelAnswer:
    return await questions.ask(
        ModelQuestion(question=text, options=options, multiple=multiple, agent=f"MCP server {form.server}")
    )


def _default(field: Field) -> str:
    """The default as it would be answered; empty without a usable one."""
    if field.default is None or field.kind == "choices":
        return ""
    text = ("Yes" if field.default else "No") if field.kind == "boolean" else str(field.default)
    if text and field.kind == "choice":
        text = dict(field.options).get(text, "")
    try:
        field.value(text)
    except WrongAnswer:
        return ""
    return text if text == one_line(text, VALUE_CHARS) else ""


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(", ".join(value) if isinstance(value, list) else str(value), VALUE_CHARS)
