"""Requests between a run and the script that drives it, in the form of Claude Code's SDK."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4

from co_tui.actions import COMMANDS
from co_tui.events import Json, TurnEnded
from co_tui.headless.output import json_line, say
from co_tui.headless.printing import Output, PrintedPiece
from co_tui.inert import one_line
from co_tui.session.session import Session
from co_tui.session.state.context_report import context_report
from co_tui.settings.hook_entries import mode_of

GONE: Final = "The script closed standard input."


class RequestRefused(Exception):
    """Why a request is not done: a sentence."""


class Control:
    """Answers the requests of a script, and asks it."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._output: Output | None = None
        self._handling: set[asyncio.Task[None]] = set()
        self._asked: dict[str, asyncio.Future[Json]] = {}
        """What the script has not answered yet."""
        self._has_ended = False
        self.is_used = False
        """Whether the script asked for anything."""
        self.is_answering = False
        """Whether a prompt is being answered; set by the run."""

    def use(self, session: Session, output: Output) -> None:
        self._session, self._output = session, output

    def take(self, message: Json) -> None:
        """A message of the script that is not a prompt."""
        match message:
            case {"type": "control_request", "request_id": str(number), "request": {"subtype": str(kind)} as request}:
                self.is_used = True
                task = asyncio.create_task(self._handle(number, kind, request))
                self._handling.add(task)
                task.add_done_callback(self._handling.discard)
            case {"type": "control_response", "response": {"request_id": str(number)} as response}:
                if (asked := self._asked.get(number)) is not None and not asked.done():
                    asked.set_result(response)
            case {"type": "control_request" | "control_response"}:
                say("A control message on standard input has no request_id or subtype. Ignored.")

    def end(self) -> None:
        """The script will answer nothing more."""
        self._has_ended = True
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(RequestRefused(GONE))

    def interrupt_soon(self) -> None:
        """Stop the turn once its question is answered."""
        assert self._session is not None
        asyncio.get_running_loop().call_soon(self._session.interrupt)

    async def settle(self) -> None:
        """Wait for the answers to all requests so far."""
        await asyncio.gather(*self._handling, return_exceptions=True)

    def stop(self) -> None:
        """Answer no request any more."""
        for task in self._handling:
            task.cancel()

    async def ask(self, kind: str, **given: Any) -> Json:
        """What the script answers to a request. Raises `RequestRefused`."""
        if self._has_ended:
            raise RequestRefused(GONE)
        number = str(uuid4())
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._put(type="control_request", request_id=number, request={"subtype": kind, **given})
        try:
            answered = await answer
        except asyncio.CancelledError:
            self._put(type="control_cancel_request", request_id=number)
            raise
        finally:
            del self._asked[number]
        if answered.get("subtype") != "success" or not isinstance(answered.get("response"), dict):
            raise RequestRefused(str(answered.get("error") or "The script could not answer."))
        return dict(answered["response"])

    def _put(self, **line: Any) -> None:
        assert self._output is not None
        self._output.put(PrintedPiece(f"{json_line(line)}\n"))

    async def _handle(self, number: str, kind: str, request: Json) -> None:
        answer: dict[str, Any] = {"subtype": "success", "request_id": number}
        assert self._session is not None
        try:
            if (handle := _REQUESTS.get(kind)) is None:
                raise RequestRefused(f"{one_line(kind, 40)} is not supported. Use one of {', '.join(_REQUESTS)}.")
            answer["response"] = await handle(self, self._session, request)
        except Exception as error:  # the script waits for an answer in any case
            answer |= {"subtype": "error", "error": str(error) or type(error).__name__}
        self._put(type="control_response", response=answer)

    async def _initialize(self, session: Session, request: Json) -> Json:
        if request.get("hooks"):
            raise RequestRefused("Hooks of a script are not supported. Put commands into the setting hooks.")
        for given in ("agents", "skills"):
            if request.get(given):
                say(f"{given} of the script are not supported. Ignored; files in the folder are used.")
        rows = [row for row in COMMANDS if not row.instead]
        model = session.state.model
        return {
            "commands": [{"name": row.name, "description": row.help, "argumentHint": row.arguments} for row in rows],
            "models": [{"value": model, "displayName": model, "description": ""}],
            "output_style": "default",
            "available_output_styles": ["default"],
            "account": {},
            "pid": os.getpid(),
        }

    async def _interrupt(self, session: Session, request: Json) -> Json:
        events = session.events()
        try:
            if not session.interrupt() and self.is_answering:  # a prompt that was just read has no turn yet
                async for event in events:
                    if isinstance(event.fact, TurnEnded) or session.interrupt():
                        break
        finally:
            session.leave(events)
        return {}

    async def _set_permission_mode(self, session: Session, request: Json) -> Json:
        name = str(request.get("mode"))
        if (mode := mode_of(name)) is None:
            raise RequestRefused(f"Mode {one_line(name, 40)} is not supported during a run.")
        await session.switcher.switch_mode(mode)
        return {"mode": name}

    async def _set_model(self, session: Session, request: Json) -> Json:
        await session.switcher.switch_model(str(request.get("model") or ""))
        return {}

    async def _get_context_usage(self, session: Session, request: Json) -> Json:
        report = context_report(session.state)
        parts = {"System prompt": "system", "System tools": "tool_definition", "Messages": "conversation"}
        return {
            "categories": [
                {"name": name, "tokens": report[f"{part}_tokens"], "color": ""} for name, part in parts.items()
            ],
            "totalTokens": report["current_tokens"],
            "maxTokens": report["token_limit"],
            "rawMaxTokens": report["token_limit"],
            "percentage": round(report["share"] * 100, 2),
            "model": report["model"],
            "isAutoCompactEnabled": True,
            **{key: [] for key in ("memoryFiles", "mcpTools", "agents", "gridRows")},
        }


_REQUESTS: Final[Mapping[str, Callable[[Control, Session, Json], Any]]] = {
    "initialize": Control._initialize,
    "interrupt": Control._interrupt,
    "set_permission_mode": Control._set_permission_mode,
    "set_model": Control._set_model,
    "get_context_usage": Control._get_context_usage,
}
