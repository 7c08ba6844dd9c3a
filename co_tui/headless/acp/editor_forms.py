"""Forms that an editor shows: the model's questions, and what an MCP server wants to know."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from acp.schema import (
    CreateFormSessionElicitationRequest,
    ElicitationBooleanPropertySchema,
    ElicitationIntegerPropertySchema,
    ElicitationMultiSelectPropertySchema,
    ElicitationNumberPropertySchema,
    ElicitationOtherPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    TitledMultiSelectItems,
)

from co_tui.agent.mcp.elicitation import Answers, Field, Form, WrongAnswer
from co_tui.inert import inert
from co_tui.session.approvals.questions import ModelAnswer, ModelQuestion
from co_tui.session.approvals.server_forms import WARNING

Property: TypeAlias = (
    ElicitationStringPropertySchema
    | ElicitationNumberPropertySchema
    | ElicitationIntegerPropertySchema
    | ElicitationBooleanPropertySchema
    | ElicitationMultiSelectPropertySchema
    | ElicitationOtherPropertySchema
)
CHOICE, TEXT = "choice", "text"
NO_ANSWER: Final = "The user gave no answer."


def new_form(
    session_id: str, message: str, properties: Mapping[str, Property], required: Iterable[str], call_id: str = ""
) -> CreateFormSessionElicitationRequest:
    schema = ElicitationSchema(type="object", properties=dict(properties), required=list(required))
    return CreateFormSessionElicitationRequest(
        session_id=session_id, tool_call_id=call_id or None, message=message, mode="form", requested_schema=schema
    )


def question_text(question: ModelQuestion) -> str:
    """A question, after who asks it if that is not the main agent."""
    return inert(f"{question.agent}: {question.question}" if question.agent else question.question)


def question_form(question: ModelQuestion, session_id: str) -> CreateFormSessionElicitationRequest:
    """A question of the model: its options, and a field for other words."""
    message = question_text(question)
    own = ElicitationStringPropertySchema(type="string", title="Another answer" if question.options else "Your answer")
    if not question.options:
        return new_form(session_id, message, {TEXT: own}, (TEXT,))
    meanings = question.descriptions or ("",) * len(question.options)
    options = [
        EnumOption(const=str(number), title=inert(option), description=inert(meaning) or None)
        for number, (option, meaning) in enumerate(zip(question.options, meanings, strict=False))
    ]
    return new_form(session_id, message, {CHOICE: _choice(options, several=question.multiple), TEXT: own}, ())


def read_answer(question: ModelQuestion, content: Mapping[str, Any] | None) -> ModelAnswer:
    """The answer in a filled form; the user's own words count before an option."""
    text, chosen = (content or {}).get(TEXT), (content or {}).get(CHOICE)
    if isinstance(text, str) and text.strip():
        return ModelAnswer(text=text.strip())
    numbers = [str(each) for each in (chosen if isinstance(chosen, list) else [chosen])]
    selected = tuple(option for number, option in enumerate(question.options) if str(number) in numbers)
    if not selected or (len(selected) > 1 and not question.multiple):
        return ModelAnswer(declined=True, reason=NO_ANSWER)
    return ModelAnswer(selected=selected)


def server_form(form: Form, session_id: str, fault: str = "") -> CreateFormSessionElicitationRequest:
    """The form of an MCP server; `fault` says what was wrong with the last answers."""
    lines = (f"MCP server {form.server} asks: {form.message}", fault, WARNING if form.fields else "")
    properties = {field.name: _property(field) for field in form.fields}
    required = [field.name for field in form.fields if field.required]
    return new_form(session_id, "\n".join(filter(None, lines)), properties, required)


def read_answers(form: Form, content: Mapping[str, Any]) -> Answers:
    """The answers of a filled form, each of the kind that was asked for. Raises `WrongAnswer`."""
    answers = {}
    for field in form.fields:
        value = content.get(field.name)
        if value is None or (value == "" and not field.required):
            if field.required:
                raise WrongAnswer(f"{field.title}: an answer is needed.")
            continue
        try:
            answers[field.name] = _value(field, value)
        except WrongAnswer as wrong:
            raise WrongAnswer(f"{field.title}: {wrong}") from None
    return answers


def _value(field: Field, value: Any) -> Any:
    if field.kind == "choices":
        each = value if isinstance(value, list) else [value]
        return list(dict.fromkeys(field.option(str(one)) for one in each))
    if isinstance(value, float) and value.is_integer() and field.kind == "integer":
        value = int(value)
    return field.value(str(value))


def _property(field: Field) -> Property:
    texts: dict[str, Any] = {"title": field.title, "description": field.description or None}
    options = [EnumOption(const=value, title=label) for value, label in field.options]
    default = field.default
    match field.kind:
        case "choice" | "choices":
            return _choice(options, several=field.kind == "choices", **texts)
        case "boolean":
            chosen = default if isinstance(default, bool) else None
            return ElicitationBooleanPropertySchema(type="boolean", default=chosen, **texts)
        case "integer" | "number":
            return _number(field, texts)
        case _:
            return ElicitationStringPropertySchema(
                type="string",
                min_length=_length(field.least),
                max_length=_length(field.most),
                default=inert(default) if isinstance(default, str) else None,
                **texts,
            )


def _choice(options: list[EnumOption], *, several: bool, **texts: Any) -> Property:
    if several:
        items = TitledMultiSelectItems(any_of=options)
        return ElicitationMultiSelectPropertySchema(type="array", items=items, **texts)
    return ElicitationStringPropertySchema(type="string", one_of=options, **texts)


def _number(field: Field, texts: Mapping[str, Any]) -> Property:
    is_number = isinstance(field.default, int | float) and not isinstance(field.default, bool)
    default = field.default if is_number else None
    if field.kind == "number":
        return ElicitationNumberPropertySchema(
            type="number", minimum=field.least, maximum=field.most, default=default, **texts
        )
    whole = [int(each) if each is not None else None for each in (field.least, field.most, default)]
    return ElicitationIntegerPropertySchema(
        type="integer", minimum=whole[0], maximum=whole[1], default=whole[2], **texts
    )


def _length(limit: float | None) -> int | None:
    return int(limit) if limit is not None and limit >= 0 else None
