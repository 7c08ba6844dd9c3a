"""The user's own command: run in the session's folder, shown while it runs, then added to the conversation."""

import asyncio
import contextlib
import os
import signal
import time
from typing import Final, Literal

from pydantic_ai.messages import ModelRequest

from co_tui.agent.redact import without_secrets
from co_tui.events import CommandOutput, Message
from co_tui.events.storable import dump
from co_tui.session.environment import Environment
from co_tui.session.host.user_line import user_line
from co_tui.session.processes.child_process import LINGER_S, BoundedOutput, ChildProcess
from co_tui.session.processes.process_guard import ProcessGuard
from co_tui.session.prompt_messages import command_message
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.turns.turn import Outcome

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

    def __init__(self, environment: Environment, runtime: Runtime, guard: ProcessGuard, command: str) -> None:
        self._recorder = runtime.history.recorder
        self._guard = guard
        self._command = command
        self._cwd = environment.cwd
        self._where = environment.where
        self._host = environment.host
        self._environ = without_secrets(environment.environ)
        self._timeout_s = runtime.settings.command_timeout_s
        self._output = BoundedOutput(min(MOST_OUTPUT_CHARS, runtime.history.governor.window.tokens // 4))
        self._shown_chars = 0
        self._began = time.monotonic()
        self._stopped = asyncio.Event()

    def interrupt(self, *, leaving: bool = False) -> None:
        """Kill it and everything it started."""
        self._stopped.set()

    async def run(self) -> Outcome:
        """Run until it exits, is stopped, or times out; then log it as part of the conversation."""
        self._save(STILL_RUNNING)
        self._recorder.announce(CommandOutput(command=self._command))
        how = await self._run()
        message = Message(turn=self._recorder.state.turn, message=message_json(self._message(how)))
        await self._recorder.record_said(message, ends_draft=True)
        return Outcome.INTERRUPTED if self._stopped.is_set() else Outcome.DONE

    async def _run(self) -> str:
        """How it ended, as part of a sentence."""
        if self._stopped.is_set():
            return "was stopped by the user before it started"
        loop = asyncio.get_running_loop()
        try:
            transport, process = await loop.subprocess_shell(
                lambda: ChildProcess(loop, lambda _, data: self._output.add(data)),
                self._command if self._host is None else user_line(self._host, self._command),
                cwd=self._cwd,
                env=self._environ if self._host is None else self._host.connection.environ,
                stdin=asyncio.subprocess.DEVNULL if self._host is None else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"could not be started: {getattr(error, 'strerror', None) or error}"
        showing = asyncio.create_task(self._show_and_save())
        self._guard.note(transport.get_pid())
        try:
            return await self._wait(transport, process)
        finally:
            showing.cancel()
            _kill(transport)
            self._guard.forget(transport.get_pid())  # a service that the user started stays
            transport.close()

    async def _wait(self, transport: asyncio.SubprocessTransport, process: ChildProcess) -> str:
        stopping = asyncio.create_task(self._stopped.wait())
        ends: set[asyncio.Future[None] | asyncio.Task[Literal[True]]] = {process.exited, stopping}
        await asyncio.wait(ends, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        ended = process.exited.done()
        if not ended:
            _kill(transport)
            await asyncio.wait({process.exited}, timeout=LINGER_S)
        # Children that it left running may stay, but are not waited for.
        await asyncio.wait({process.closed}, timeout=LINGER_S)
        took = f"after {time.monotonic() - self._began:.1f} s"
        if not ended:
            return f"was stopped {'by the user' if self._stopped.is_set() else 'at its time limit'} {took}"
        code = transport.get_returncode() or 0
        return f"ended with exit code {code} {took}" if code >= 0 else f"was ended by signal {-code} {took}"

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


def _kill(transport: asyncio.SubprocessTransport) -> None:
    """Kill the command and its process group."""
    if transport.get_returncode() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
