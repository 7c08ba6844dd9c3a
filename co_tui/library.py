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
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
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
from co_tui.headless.open_session import SessionOpening, environment_of
from co_tui.headless.output import CommandContext
from co_tui.inert import one_line
from co_tui.open_store import open_store
from co_tui.paths import locate
from co_tui.session.approvals.questions import (
    Approval,
    ApprovalQuestion,
    ModelAnswer,
    ModelQuestion,
    Questions,
    Unattended,
)
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.hooks.session_hooks import PromptRefused
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

BY_SCRIPT: Final = "script"
"""Who decided, in the log."""
Given: TypeAlias = bool | str | Sequence[str] | Approval | ModelAnswer | None
Answer: TypeAlias = Callable[[ApprovalQuestion | ModelQuestion], Given | Awaitable[Given]]
"""Answers a question: for an approval true, false, the reason of a refusal, or an `Approval`; for a question of the
model a text, the chosen options, a `ModelAnswer`, or None for no answer."""


@asynccontextmanager
async def open_session(
    folder: str | Path = ".",
    *,
    session_id: str = "",
    works_in_folder: bool = True,
    questions: Questions | None = None,
    answer: Answer | None = None,
    tools: Sequence[Callable[..., Any] | str] = (),
    instructions: str = "",
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[Session]:
    """Start a session in a folder, or resume the one with that id, and close it at the end.

    `settings` are those of the settings file, such as `model="anthropic:claude-sonnet-5"`. `answer` answers what the
    session asks, or `questions`, which also decides about compactions; without them, calls that need approval are
    denied. `tools` are functions that the model may call without a question: their names, annotations and docstrings
    describe them to it; texts among them are the setting `tools`. `instructions` are added to the model's. The session
    is stored with all others.
    Raises `SettingsError`, `ModelUnusable` and `StoreError`, each with a sentence.
    """
    given = os.environ if environ is None else environ
    functions = [each for each in tools if not isinstance(each, str)]
    if names := [each for each in tools if isinstance(each, str)]:
        settings["tools"] = names
    opening = _opening(folder, given, settings)._replace(
        session_id=session_id,
        questions=questions or (_Answering(answer) if answer is not None else Unattended()),
        works_in_folder=works_in_folder,
        more_instructions=instructions,
    )
    async with _opened(opening, functions) as session:
        yield session


async def turn_events(session: Session, prompt: str) -> AsyncGenerator[Event, None]:
    """Send a prompt and give the events of its turn as they happen, `TurnEnded` last. Match on `event.fact`.

    Closing the iterator early interrupts the turn. Raises `PromptRefused` if the prompt was not sent.
    """
    events = session.events()
    turn = asyncio.create_task(session.submit(prompt))
    turn.add_done_callback(lambda _: events.put(None))
    try:
        async for event in events:
            yield event
        await turn
    finally:
        if not turn.done():
            session.interrupt()
            await asyncio.wait({turn})
        session.leave(events)


@asynccontextmanager
async def _opened(opening: SessionOpening, tools: Sequence[Callable[..., Any]]) -> AsyncIterator[Session]:
    with opening.context.store:
        servers = McpServers(waits_for_start=True)
        environment = environment_of(opening, servers)
        try:
            environment.toolsets = [FunctionToolset(list(tools))] if tools else []
        except (UserError, PydanticUserError) as error:
            raise SettingsError(f"tools: {one_line(str(error), 300)}") from error
        try:
            if opening.session_id:
                session = await Session.resume(environment, opening.session_id, opening.model)
            else:
                session = await Session.start(environment, opening.model)
            try:
                yield session
            finally:
                await asyncio.shield(session.close())
        finally:
            await servers.close()


class _Answering(Unattended):
    """Lets a callback answer; compactions are always allowed."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer

    async def _answered(self, question: ApprovalQuestion | ModelQuestion) -> Given:
        given = self._answer(question)
        return await given if inspect.isawaitable(given) else given

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
            chosen = (given,) if given in question.options else ()
            return ModelAnswer(selected=chosen, text="" if chosen else given)
        if isinstance(given, Sequence):
            return ModelAnswer(selected=tuple(map(str, given)))
        return ModelAnswer(declined=True, reason="The script gave no answer.")


def _opening(folder: str | Path, environ: Mapping[str, str], settings: Mapping[str, Any]) -> SessionOpening:
    cwd, paths = Path(folder).absolute(), locate(environ)
    loaded = load(paths=paths, cwd=cwd, environ=environ, command_line=settings)
    if problems := [*loaded.problems, *(unknown_key(key) for key in settings if key not in rules())]:
        raise SettingsError(" ".join(problems))
    return SessionOpening(
        CommandContext(paths, loaded, open_store(paths, loaded.settings.database, environ), LocalWorkplace(cwd)),
        environ,
        cwd,
        "",
        loaded.overriding_model,
    )
