"""Questions of a server to the user while one of its tools runs: a form, which is answered, declined or withdrawn."""

import asyncio
import contextlib
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from co_tui.events.storable import storable_text
from co_tui.inert import inert, one_line

MOST_FIELDS: Final = 10
MOST_OPTIONS: Final = 50
MESSAGE_CHARS: Final = 1_000
TITLE_CHARS: Final = 100
DESCRIPTION_CHARS: Final = 300
MOST_QUESTIONS: Final = 5
"""In one call: a server that asks more often is declined."""
MOST_NOTICES: Final = 5
"""About refused forms, from the beginning of one call to the next; equal ones are one."""
LARGEST_LIMIT: Final = 10**15
UNREADABLE: Final = "sent a form that cannot be read"
LONGEST_ANSWER_S: Final = 3_600.0
"""How long the user may take; a call's own time limit waits for that."""
_SECRET: Final = re.compile(
    r"passw|passphrase|\bpass\b|secret|token|api.?key|access.?key|private.?key|credential|\bpin\b|\bcv[cv]\b|card.?num",
    re.IGNORECASE,
)

FieldKind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]
Answers: TypeAlias = Mapping[str, Any]


class FormRefused(Exception):
    """Why a form is not shown, as the end of a sentence about the server."""


class WrongAnswer(ValueError):
    """What an answer must be, as a sentence."""


class Field(NamedTuple):
    """One field of a form; its texts are inert."""

    name: str
    kind: FieldKind
    title: str
    description: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """The values to choose from, each with its label."""
    required: bool = False
    default: Any = None
    least: float | None = None
    most: float | None = None
    """Limits of a number, or of the length of a text."""

    @property
    def labels(self) -> tuple[str, ...]:
        return ("Yes", "No") if self.kind == "boolean" else tuple(label for _, label in self.options)

    @property
    def hint(self) -> str:
        """What an answer must be, as a sentence; empty if any text or one of the options is right."""
        if self.kind in ("number", "integer"):
            return f"Enter a {'whole ' if self.kind == 'integer' else ''}number{self._limits('')}."
        limits = self._limits(" characters") if self.kind == "text" else ""
        return f"Enter a text{limits}." if limits else ""

    def value(self, answer: str) -> Any:
        """The value that an answer means. Raises `WrongAnswer`."""
        match self.kind:
            case "boolean":
                return _yes_or_no(answer)
            case "choice":
                return self.option(answer)
            case "choices":
                return list(dict.fromkeys(self.option(each) for each in answer.split(",")))
            case "number" | "integer":
                return self._number(answer)
            case _:
                return self._text(answer)

    def option(self, answer: str) -> str:
        """The value of one option, given by value or label. Raises `WrongAnswer`."""
        for value, label in self.options:
            if answer.strip() in (value, label):
                return value
        raise WrongAnswer(f"Choose from: {one_line(', '.join(self.labels), DESCRIPTION_CHARS)}.")

    def _number(self, answer: str) -> float:
        try:
            number = int(answer) if self.kind == "integer" else float(answer)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and self._fits(number):
            return number
        raise WrongAnswer(self.hint)

    def _text(self, answer: str) -> str:
        if not self._fits(len(answer)):
            raise WrongAnswer(self.hint)
        return answer

    def _fits(self, size: float) -> bool:
        return (self.least is None or size >= self.least) and (self.most is None or size <= self.most)

    def _limits(self, unit: str) -> str:
        least = f" of at least {self.least:g}{unit}" if self.least is not None else ""
        most = f"{' and' if least else ' of'} at most {self.most:g}{unit}" if self.most is not None else ""
        return least + most


class Form(NamedTuple):
    """What a server wants to know."""

    server: str
    message: str
    fields: tuple[Field, ...] = ()


AskForm: TypeAlias = Callable[[Form], Awaitable[Answers | None]]
"""Gets the user's answers; None if the user declines, or there is no user."""


async def decline(_: Form) -> Answers | None:
    """For runs without a user."""
    return None


def read_form(server: str, message: str, schema: Mapping[str, Any]) -> Form:
    """The form a server sent. Raises `FormRefused` for secrets, and for fields that MCP does not allow."""
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    if not isinstance(required, list | tuple):
        raise FormRefused(UNREADABLE)
    if not isinstance(properties, Mapping) or len(properties) > MOST_FIELDS:
        raise FormRefused(f"asked for more than {MOST_FIELDS} answers at once")
    fields = tuple(_field(str(name), each, name in required) for name, each in properties.items())
    for field in fields:
        if _SECRET.search(f"{field.name} {field.title}".replace("_", " ")):
            raise FormRefused(
                f"asked for a secret ({one_line(field.title, 40)}). Set secrets in its `env` or `headers`"
            )
    return Form(server, _plain(message, MESSAGE_CHARS), fields)


def _field(name: str, schema: Any, required: bool) -> Field:
    if not isinstance(schema, Mapping):
        raise FormRefused(UNREADABLE)
    kind, options = _kind(schema)
    is_text = kind == "text"
    return Field(
        name,
        kind,
        _plain(str(schema.get("title") or name), TITLE_CHARS),
        _plain(str(schema.get("description") or ""), DESCRIPTION_CHARS),
        options,
        required,
        schema.get("default"),
        _limit(schema.get("minLength" if is_text else "minimum")),
        _limit(schema.get("maxLength" if is_text else "maximum")),
    )


def _kind(schema: Mapping[str, Any]) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    match schema.get("type"):
        case "boolean":
            return "boolean", ()
        case "integer":
            return "integer", ()
        case "number":
            return "number", ()
        case "array" if isinstance(items := schema.get("items"), Mapping) and (options := _options(items)):
            return "choices", options
        case "string":
            return ("choice", options) if (options := _options(schema)) else ("text", ())
        case _:
            raise FormRefused(UNREADABLE)


def _options(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The choices of a field, in the ways that versions of MCP write them."""
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, Sequence):
        pairs = [(str(each.get("const")), each.get("title")) for each in titled if isinstance(each, Mapping)]
    else:
        names = schema.get("enumNames") or ()
        values = schema.get("enum") or ()
        if not isinstance(names, list | tuple) or not isinstance(values, list | tuple):
            raise FormRefused(UNREADABLE)
        pairs = [(str(value), names[n] if n < len(names) else value) for n, value in enumerate(values)]
    return tuple((value, _plain(str(label or value), TITLE_CHARS)) for value, label in pairs[:MOST_OPTIONS])


def _limit(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if abs(value) > LARGEST_LIMIT:
        raise FormRefused(UNREADABLE)
    return value if math.isfinite(value) else None


def _yes_or_no(answer: str) -> bool:
    match answer.strip().lower():
        case "yes" | "y" | "true":
            return True
        case "no" | "n" | "false":
            return False
    raise WrongAnswer("Answer yes or no.")


def _plain(text: str, most_chars: int) -> str:
    plain = inert(storable_text(text)).strip()
    return plain if len(plain) <= most_chars else f"{plain[:most_chars]}…"


class Elicitations:
    """The questions of one server: only while a tool call of it runs, and withdrawn when that ends."""

    def __init__(self, server: str, ask: AskForm) -> None:
        self._server = server
        self._ask = ask
        self._calls: dict[asyncio.Timeout, float] = {}
        """The time limits of running calls."""
        self._pending: set[asyncio.Task[Answers | None]] = set()
        self._asked = 0
        """Since a call began while none ran."""
        self.notices: list[str] = []
        """Sentences about refused forms, not logged yet."""
        self._noticed: set[str] = set()
        """Those since a call began while none ran."""

    @contextlib.asynccontextmanager
    async def during_call(self, timeout_s: float) -> AsyncIterator[None]:
        """Limit a call in time; while the user answers, no time passes. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s) as timeout:
            if not self._calls:
                self._asked = 0
                self._noticed.clear()
            self._calls[timeout] = timeout_s
            try:
                yield
            finally:
                del self._calls[timeout]
                if not self._calls:
                    for task in self._pending:
                        task.cancel()

    async def answers(self, message: str, schema: Mapping[str, Any] | None) -> Answers | None:
        """The user's answers to a form, None to decline; without a schema it is not a form."""
        try:
            if schema is None:
                raise FormRefused("asked to open an address")
            form = read_form(self._server, message, schema)
            if not self._calls:
                raise FormRefused("asked a question while none of its tools was running")
            self._asked += 1
            if self._asked > MOST_QUESTIONS:
                raise FormRefused(f"asked more than {MOST_QUESTIONS} questions in one call")
        except FormRefused as refused:
            self._note(f"MCP server {self._server} {refused}.")
            return None
        return await self._answered(form)

    def _note(self, notice: str) -> None:
        """Add a notice; a server that asks on and on is named a few times only."""
        if len(self._noticed) == MOST_NOTICES:
            notice = f"MCP server {self._server} asked more questions, which were refused, too."
        if notice not in self._noticed and len(self._noticed) <= MOST_NOTICES:
            self._noticed.add(notice)
            self.notices.append(notice)

    async def _answered(self, form: Form) -> Answers | None:
        async def ask() -> Answers | None:
            return await self._ask(form)

        task = asyncio.create_task(ask(), name=f"a question of MCP server {self._server}")
        self._pending.add(task)
        self._limit_calls(waits=True)
        try:
            await asyncio.wait({task})
            return None if task.cancelled() else task.result()
        finally:
            task.cancel()
            self._pending.discard(task)
            self._limit_calls(waits=bool(self._pending))

    def _limit_calls(self, *, waits: bool) -> None:
        now = asyncio.get_running_loop().time()
        for timeout, timeout_s in self._calls.items():
            with contextlib.suppress(RuntimeError):  # it ends right now
                timeout.reschedule(None if waits else now + timeout_s)
