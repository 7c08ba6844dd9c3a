"""Hooks: the user's own commands that may veto a compaction or add to its focus.

A hook never blocks the session: it is stopped at its timeout, and a failure is reported and ignored.
"""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from co_tui.agent.redact import redact, without_secrets
from co_tui.events import HookRun, Json
from co_tui.inert import inert, one_line
from co_tui.session.processes.child_process import LINGER_S, ChildProcess
from co_tui.session.run_to_completion import run_to_completion

OUTPUT_BYTES = 64 * 1024
REASON_CHARS = 300
COMMAND_CHARS = 200
FOCUS_CHARS = 4_000
VETO_EXIT = 2


class HookOutcome(NamedTuple):
    """The combined decision of the hooks for one moment."""

    veto: bool
    reason: str
    focus: str
    runs: tuple[HookRun, ...]
    """One for each hook that ran, to be logged."""


class _Verdict(NamedTuple):
    """The decision of one hook."""

    outcome: str
    veto: bool = False
    reason: str = ""
    focus: str = ""


class _Ended(NamedTuple):
    """The exit of one hook; outputs are cut one byte above the limit."""

    code: int
    stdout: bytes
    stderr: bytes


_Started = tuple[asyncio.SubprocessTransport, ChildProcess]


class Hooks(NamedTuple):
    """The user's commands for one moment, where they run, and their timeout."""

    name: str
    commands: Sequence[str]
    cwd: Path
    timeout_s: float
    secrets: Sequence[str] = ()
    environ: Mapping[str, str] = MappingProxyType({})

    async def run(self, payload: Mapping[str, object]) -> HookOutcome:
        """Run the commands in order, each with the payload as JSON on its standard input, until one vetoes.

        A hook vetoes by exit code 2 (its first line on standard error is the reason) or by answering with a JSON
        object: `{"decision": "veto", "reason": …}`. `{"focus": …}` adds to the focus. Never raises for what a hook
        does, takes at most `timeout_s` for each, and kills the running one with all its children when cancelled.
        A hook gets `environ` without keys.
        """
        payload = {"hook": self.name, "cwd": str(self.cwd), **payload}
        verdicts: list[_Verdict] = []
        runs: list[HookRun] = []
        for command in self.commands:
            verdict = await _verdict(command, payload, self)
            verdicts.append(verdict)
            where = _line(command, self.secrets, COMMAND_CHARS)
            runs.append(HookRun(what=f"{self.name} hook", where=where, outcome=verdict.outcome))
            if verdict.veto:
                break
        focus = "\n".join(verdict.focus for verdict in verdicts if verdict.focus)
        last = verdicts[-1] if verdicts else _Verdict("")
        return HookOutcome(last.veto, last.reason, focus, tuple(runs))


NO_HOOKS = Hooks("", (), Path(), 0.0)


async def _verdict(command: str, payload: Mapping[str, object], hooks: Hooks) -> _Verdict:
    secrets = hooks.secrets
    try:
        ended = await _run(command, json.dumps(payload, default=str), hooks)
    except TimeoutError:
        return _Verdict(f"Timed out after {hooks.timeout_s:g} s.")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return _Verdict(f"Cannot start it: {_line(reason, secrets, REASON_CHARS)}.")
    return _judge(ended, secrets)


def _judge(ended: _Ended, secrets: Sequence[str]) -> _Verdict:
    complaint = _line(_first_line(ended.stderr), secrets, REASON_CHARS)
    if ended.code == VETO_EXIT:
        return _vetoed(complaint)
    if ended.code:
        how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
        return _Verdict(f"Failed with {how}" + (f": {complaint}" if complaint else "."))
    if len(ended.stdout) > OUTPUT_BYTES:
        return _Verdict(f"Its output is over {OUTPUT_BYTES // 1024} kB and was ignored.")
    answer = _answer(ended.stdout)
    if answer is None:
        return _Verdict("Its output is not a JSON object and was ignored.")
    if answer.get("decision") == "veto":
        return _vetoed(_line(_text(answer, "reason"), secrets, REASON_CHARS))
    focus = inert(redact(_text(answer, "focus"), secrets)).strip()[:FOCUS_CHARS]
    return _Verdict("Added to the focus." if focus else "No objection.", focus=focus)


def _vetoed(reason: str) -> _Verdict:
    reason = reason or "No reason given."
    return _Verdict(f"Vetoed: {reason}", veto=True, reason=reason)


def _answer(stdout: bytes) -> Json | None:
    text = stdout.decode(errors="replace").strip()
    try:
        answer = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _text(answer: Json, key: str) -> str:
    value = answer.get(key)
    return value if isinstance(value, str) else ""


def _first_line(output: bytes) -> str:
    lines = output[:OUTPUT_BYTES].decode(errors="replace").strip().splitlines()
    return lines[0] if lines else ""


def _line(text: str, secrets: Sequence[str], limit: int) -> str:
    # Redact first: cutting could leave half a secret that is no longer recognised.
    return one_line(redact(text, secrets), limit)


async def _run(command: str, text: str, hooks: Hooks) -> _Ended:
    """Run the command; raises TimeoutError if it does not exit in time."""
    output = {1: bytearray(), 2: bytearray()}

    def receive(stream: int, data: bytes) -> None:
        """Keep output up to a limit; the rest is dropped, so that the hook is not blocked."""
        output[stream] += data[: OUTPUT_BYTES + 1 - len(output[stream])]

    started: list[_Started] = []
    try:
        # A start cancelled halfway would leave the hook's children running, or wait for them.
        await run_to_completion(_start(command, text, hooks, receive, started))
        ((transport, process),) = started
        ended, _ = await asyncio.wait({process.exited}, timeout=hooks.timeout_s)
        if not ended:
            raise TimeoutError
        # Children that the hook left running may stay, but are not waited for.
        await asyncio.wait({process.closed}, timeout=LINGER_S)
        return _Ended(transport.get_returncode() or 0, bytes(output[1]), bytes(output[2]))
    except BaseException:
        for transport, process in started:
            await _kill(transport.get_pid(), process)
        raise
    finally:
        for transport, _ in started:
            transport.close()


async def _start(
    command: str, text: str, hooks: Hooks, receive: Callable[[int, bytes], None], started: list[_Started]
) -> None:
    """Start the command with the text as its input, and add it to `started`."""
    loop = asyncio.get_running_loop()
    # From a file, not a pipe: a hook that never reads its input cannot block us.
    with tempfile.TemporaryFile() as stdin:
        stdin.write(text.encode() + b"\n")
        stdin.seek(0)
        started.append(
            await loop.subprocess_shell(
                lambda: ChildProcess(loop, receive),
                command,
                stdin=stdin,
                cwd=hooks.cwd,
                env=without_secrets(hooks.environ),
                start_new_session=True,
            )
        )


async def _kill(group: int, process: ChildProcess) -> None:
    """Kill a hook and its whole process group."""
    if process.closed.done():
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    await asyncio.wait({process.exited}, timeout=LINGER_S)
