"""The user's own command: run in the session's folder, shown while it runs, then added to the conversation."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal

from pydantic_ai.messages import ModelRequest

from co_tui.events import CommandOutput, Message
from co_tui.events.facts.conversation import CallEnd
from co_tui.events.storable import dump
from co_tui.session.call_facts import CallFacts
from co_tui.session.processes.child_process import LINGER_S, BoundedOutput
from co_tui.session.prompt_messages import command_message
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.session_workplace import UserProcess

Around = Callable[[CallFacts], AbstractAsyncContextManager[None]]
"""Entered around the command; adds what changed in the folder to its facts."""
StartCommand = Callable[[str, Callable[[bytes], None]], Awaitable[UserProcess]]
"""Starts a command; its output goes to the function. Raises OSError and ValueError."""
SHOW_EVERY_S: Final = 0.1
SAVE_EVERY_S: Final = 1.0
MOST_OUTPUT_CHARS: Final = 30_000
"""The most output the model gets; less in a small window."""
STILL_RUNNING: Final = "was still running when co-tui ended"
MOST_SHOWN_CHARS: Final = 20_000
"""The most output shown while it runs; the message has its end."""


class CommandRefused(Exception):
    """Why the user's command cannot run now, as a sentence."""


class UserCommand:
    """One run of a command. Its output so far is saved, even if co-tui is killed."""

    def __init__(self, runtime: Runtime, command: str, where: str, start: StartCommand, around: Around) -> None:
        """`where` names the folder in which `start` runs it."""
        self._around = around
        self._facts = CallFacts()
        self._recorder = runtime.history.recorder
        self._command = command
        self._where = where
        self._start = start
        self._timeout_s = runtime.settings.command_timeout_s
        self._keys = self._recorder.keys.filter()
        self._output = BoundedOutput(min(MOST_OUTPUT_CHARS, runtime.history.governor.window.tokens // 4))
        self._shown_chars = 0
        self._began = time.monotonic()
        self._stopped = asyncio.Event()

    def interrupt(self, *, leaving: bool = False) -> None:
        """Kill it and everything it started."""
        self._stopped.set()

    async def run(self) -> Outcome:
        """Run until it exits, is stopped, or times out; then log it as part of the conversation, and what it did."""
        self._save(STILL_RUNNING)
        self._recorder.announce(CommandOutput(command=self._command))
        async with self._around(self._facts):
            ended, how = await self._run()
            self._save(how)
        message = Message(turn=self._recorder.state.turn, message=message_json(self._message(how)))
        await self._recorder.record_said(self._facts.outcome("", ended), message, ends_draft=True)
        return Outcome.INTERRUPTED if self._stopped.is_set() else Outcome.DONE

    async def _run(self) -> tuple[CallEnd, str]:
        """How it ended, also as part of a sentence."""
        if self._stopped.is_set():
            return "stopped", "was stopped by the user before it started"
        try:
            process = await self._start(self._command, lambda data: self._output.add(self._keys.take(data)))
        except (OSError, ValueError) as error:
            return "failed", f"could not be started: {getattr(error, 'strerror', None) or error}"
        showing = asyncio.create_task(self._show_and_save())
        try:
            return await self._wait(process)
        finally:
            showing.cancel()
            process.kill()
            process.leave()
            self._output.add(self._keys.end())

    async def _wait(self, process: UserProcess) -> tuple[CallEnd, str]:
        stopping = asyncio.create_task(self._stopped.wait())
        ends: set[asyncio.Future[None] | asyncio.Task[Literal[True]]] = {process.exited, stopping}
        await asyncio.wait(ends, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        ended = process.exited.done()
        if not ended:
            process.kill()
            await asyncio.wait({process.exited}, timeout=LINGER_S)
        # Children that it left running may stay, but are not waited for.
        await asyncio.wait({process.closed}, timeout=LINGER_S)
        took = f"after {time.monotonic() - self._began:.1f} s"
        if not ended and self._stopped.is_set():
            return "stopped", f"was stopped by the user {took}"
        if not ended:
            return "timed out", f"was stopped at its time limit {took}"
        self._facts.exit_code = process.exit_code
        return "done" if process.exit_code == 0 else "failed", f"{process.outcome} {took}"

    async def _show_and_save(self) -> None:
        """Show and save the output at intervals."""
        saved_at = time.monotonic()
        while True:
            await asyncio.sleep(SHOW_EVERY_S)
            self._show()
            if time.monotonic() - saved_at > SAVE_EVERY_S:
                saved_at = time.monotonic()
                self._save(STILL_RUNNING)

    def _show(self) -> None:
        text = self._output.beginning(MOST_SHOWN_CHARS)[self._shown_chars :]
        if text:
            self._shown_chars += len(text)
            self._recorder.announce(CommandOutput(command=self._command, text=text))

    def _save(self, how: str) -> None:
        """Save it for the log, in case this process is killed."""
        body = {"turn": self._recorder.state.turn, "message": message_json(self._message(how))}
        self._recorder.writer.save_reply(self._recorder.session_id, 0, dump(body))

    def _message(self, how: str) -> ModelRequest:
        return command_message(self._command, how, self._output.text, self._where)
