"""co-tui in a script: a session without a screen and without the command line.

`open_session` gives a `Session`. Of it, these stay as they are: `id`, `submit`, `events`, `compact`, `interrupt`. Of
this module, the names in `__all__` stay; all other names inside of `co_tui` may change.
"""

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic.errors import PydanticUserError
from pydantic_ai.exceptions import UserError
from pydantic_ai.toolsets import FunctionToolset

from co_tui.agent.mcp.servers import McpServers
from co_tui.agent.tool_names import TOOLS
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallOutcome,
    CompactionComplete,
    DelegationEnd,
    DelegationStart,
    Event,
    FilesChanged,
    Message,
    PlanChanged,
    SessionError,
    StreamDelta,
    ToolActivity,
    Truncation,
    TurnEnded,
    UsageInfo,
)
from co_tui.events.stored_messages import Span
from co_tui.folders import FolderRefused, folders_to_add
from co_tui.headless.open_session import SessionOpening, environment_of
from co_tui.headless.output import CommandContext
from co_tui.inert import one_line
from co_tui.open_store import open_store
from co_tui.paths import locate
from co_tui.session.approvals.questions import (
    BY_SCRIPT,
    Approval,
    ApprovalQuestion,
    ModelAnswer,
    ModelQuestion,
    Questions,
    Unattended,
)
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.environment import Environment
from co_tui.session.file_references import NamedFile
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.opening import Opening
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import SettingsError, load, rules, unknown_key
from co_tui.store.store_errors import StoreError

__all__ = [
    "Answer",
    "Approval",
    "ApprovalDecided",
    "ApprovalQuestion",
    "ApprovalRequested",
    "CallOutcome",
    "CompactionComplete",
    "CompactionRefused",
    "DelegationEnd",
    "DelegationStart",
    "Event",
    "FilesChanged",
    "Message",
    "ModelAnswer",
    "ModelQuestion",
    "ModelUnusable",
    "Outcome",
    "PlanChanged",
    "PromptRefused",
    "Session",
    "SessionError",
    "SettingsError",
    "StoreError",
    "StreamDelta",
    "ToolActivity",
    "Truncation",
    "TurnEnded",
    "UsageInfo",
    "open_session",
    "turn_events",
]

Given: TypeAlias = bool | str | Sequence[str] | Approval | ModelAnswer | None
Answer: TypeAlias = Callable[[ApprovalQuestion | ModelQuestion], Given | Awaitable[Given]]
"""Answers a question: for an approval true, false, the reason of a refusal, or an `Approval`; for a question of the
model a text, the chosen options, a `ModelAnswer`, or None for no answer. What it raises refuses the question, and is
raised again by `turn_events` at once, or by `submit` at the end of the turn; the session stays usable."""
LEFT_STEPS: Final = 2
"""Steps of the loop until it begins to close an iterator that was left by `break`."""
STILL_RUNNING: Final = (
    "Not sent: another turn_events of this session is running. Read it to its end, or close it, first."
)


@asynccontextmanager
async def open_session(
    folder: str | Path = ".",
    *,
    session_id: str = "",
    works_in_folder: bool = True,
    questions: Questions | None = None,
    answer: Answer | None = None,
    tools: Sequence[Callable[..., Any] | str] | None = None,
    instructions: str = "",
    add_dirs: Sequence[str | Path] = (),
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[Session]:
    """Start a session in a folder, or resume the one with that id, and close it at the end.

    `settings` are those of the settings file, such as `model="anthropic:claude-sonnet-5"`. `answer` answers what the
    session asks, or `questions`, which also decides about compactions; without them, calls that need approval are
    denied. `tools` are functions that the model may call without a question: their names, annotations and docstrings
    describe them to it; texts among them are the setting `tools`, the groups of built-in tools, all of which there are
    without a text. An empty list means none of them, as in the settings file. `instructions` are added to the model's.
    `add_dirs` are further folders to work in. The session is stored with all others.
    Raises `SettingsError`, `ModelUnusable` and `StoreError`, each with a sentence.
    """
    given = os.environ if environ is None else environ
    named = [tools] if isinstance(tools, str) else list(tools or ())
    functions = [each for each in named if not isinstance(each, str)]
    groups = [each for each in named if isinstance(each, str)]
    if groups or (tools is not None and not functions):
        settings["tools"] = groups
    opening = _opening(folder, given, settings, [*map(str, add_dirs)])._replace(
        session_id=session_id,
        questions=questions or (_Answering(answer) if answer is not None else Unattended()),
        works_in_folder=works_in_folder,
        more_instructions=instructions,
    )
    async with _opened(opening, functions) as session:
        yield session


async def turn_events(session: Session, prompt: str) -> AsyncGenerator[Event, None]:
    """Send a prompt and give the events of its turn as they happen, `TurnEnded` last. Match on `event.fact`.

    Closing or leaving the iterator early interrupts the turn. Raises `PromptRefused` if the prompt was not sent, and
    what `answer` raised.
    """
    if not isinstance(session, _ScriptSession):
        raise TypeError("turn_events needs a session of open_session.")
    if session.gives_events:
        for _ in range(LEFT_STEPS):
            await asyncio.sleep(0)
        async with session.closing_events:
            if session.gives_events:
                raise PromptRefused(STILL_RUNNING)
    session.gives_events = True
    events = session.events()
    turn = asyncio.create_task(session.submit(prompt))
    turn.add_done_callback(lambda _: events.put(None))
    try:
        async for event in events:
            yield event
            session.raise_failure()
        await turn
    finally:
        async with session.closing_events:
            if not turn.done():
                session.interrupt()
                await asyncio.gather(turn, return_exceptions=True)
            session.leave(events)
            session.gives_events = False


class _ScriptSession(Session):
    """A session whose questions a script answers."""

    def __init__(self, environment: Environment, opening: Opening) -> None:
        super().__init__(environment, opening)
        self._questions = environment.questions
        self.gives_events = False
        """Whether `turn_events` runs."""
        self.closing_events = asyncio.Lock()
        """Held while it is closed."""

    async def submit(
        self, prompt: str, *, files: Sequence[NamedFile] = (), steer: bool = False, pasted: Sequence[Span] = ()
    ) -> Outcome:
        outcome = await super().submit(prompt, files=files, steer=steer, pasted=pasted)
        self.raise_failure()
        return outcome

    def raise_failure(self) -> None:
        """Raise what the callback raised, once."""
        if isinstance(self._questions, _Answering) and (failure := self._questions.failure) is not None:
            self._questions.failure = None
            raise failure


@asynccontextmanager
async def _opened(opening: SessionOpening, tools: Sequence[Callable[..., Any]]) -> AsyncIterator[Session]:
    with opening.context.store:
        servers = McpServers(waits_for_start=True)
        environment = environment_of(opening, servers)
        environment.toolsets = [_toolset(tools)] if tools else []
        try:
            if opening.session_id:
                session = await _ScriptSession.resume(environment, opening.session_id, opening.model)
            else:
                session = await _ScriptSession.start(environment, opening.model)
            try:
                yield session
            finally:
                await asyncio.shield(session.close())
        finally:
            await servers.close()


def _toolset(functions: Sequence[Callable[..., Any]]) -> FunctionToolset[Any]:
    """The functions as tools. Raises `SettingsError`."""
    toolset = FunctionToolset[Any]()
    for each in functions:
        name = getattr(each, "__name__", "")
        if not name.isidentifier():  # a lambda, a partial, or not a function
            what = name or type(each).__name__
            raise SettingsError(f"tools: {what} has no name that the model can call. Write a function with `def`.")
        if name in TOOLS:
            raise SettingsError(f"tools: {name} is the name of a built-in tool. Rename the function.")
        if name in toolset.tools:
            raise SettingsError(f"tools: two functions are named {name}. Rename one.")
        try:
            toolset.add_function(each)
        except (UserError, PydanticUserError, NameError, TypeError) as error:
            why = one_line(str(error), 200)
            raise SettingsError(f"tools: the arguments of {name} cannot be described to the model: {why}") from error
    return toolset


class _Answering(Unattended):
    """Lets a callback answer; compactions are always allowed."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer
        self.failure: Exception | None = None
        """What the callback raised last."""

    async def _answered(self, question: ApprovalQuestion | ModelQuestion) -> Given:
        try:
            given = self._answer(question)
            return await given if inspect.isawaitable(given) else given
        except Exception as failure:
            self.failure = failure
            return None

    async def approve(self, question: ApprovalQuestion) -> Approval:
        given = await self._answered(question)
        if isinstance(given, Approval):
            return given
        reason = given if isinstance(given, str) else ""
        return Approval(approved=given is True, by=BY_SCRIPT, reason=reason)

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        given = await self._answered(question)
        if isinstance(given, ModelAnswer):
            return given
        if isinstance(given, str):
            return question.answered(given)
        if isinstance(given, Sequence):
            return ModelAnswer(selected=tuple(map(str, given)))
        return ModelAnswer(declined=True, reason="The script gave no answer.")


def _opening(
    folder: str | Path, environ: Mapping[str, str], settings: Mapping[str, Any], add_dirs: Sequence[str]
) -> SessionOpening:
    cwd, paths = Path(folder).absolute(), locate(environ)
    loaded = load(paths=paths, cwd=cwd, environ=environ, command_line=settings)
    if problems := [*loaded.problems, *(unknown_key(key) for key in settings if key not in rules())]:
        raise SettingsError(" ".join(problems))
    try:
        workplace = LocalWorkplace(cwd, folders_to_add(add_dirs, cwd, paths))
    except FolderRefused as refused:
        raise SettingsError(f"add_dirs: {refused}") from None
    return SessionOpening(
        CommandContext(paths, loaded, open_store(paths, loaded.settings.database, environ), workplace),
        environ,
        cwd,
        "",
        loaded.overriding_model,
    )
