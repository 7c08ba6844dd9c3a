"""Hooks before a compaction: the user's own commands that may veto it or add to its focus.

A hook never blocks the session: it is stopped at its timeout, and a failure is reported and ignored.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from co_tui.agent.redact import redact
from co_tui.events import HookRun, Json
from co_tui.inert import inert
from co_tui.session.hooks.hook_process import (
    COMMAND_CHARS,
    OUTPUT_BYTES,
    REASON_CHARS,
    HookCommand,
    HookEnded,
    HookPlace,
    failure_of,
    first_line,
    run_hook,
    shown_line,
    unconfined,
)
from co_tui.session.hooks.transcript import Transcript
from co_tui.settings.hook_entries import HookEntry
from co_tui.settings.rules import SANDBOX_OFF

FOCUS_CHARS = 4_000
VETO_EXIT = 2
VETOES = ("veto", "block")


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
    failed: bool = False
    notice: str = ""


class Hooks(NamedTuple):
    """The user's commands for one moment, where they run, and their timeout."""

    name: str
    entries: Sequence[HookEntry]
    cwd: Path
    timeout_s: float
    secrets: Sequence[str] = ()
    environ: Mapping[str, str] = MappingProxyType({})
    transcript: Transcript | None = None
    variables: Mapping[str, str] = MappingProxyType({})
    """The setting `env`."""
    command: HookCommand = unconfined
    sandbox: str = SANDBOX_OFF

    async def run(self, payload: Mapping[str, object]) -> HookOutcome:
        """Run the commands in order, each with the payload as JSON on its standard input, until one vetoes.

        A hook vetoes by exit code 2 (its first line on standard error is the reason) or by answering with a JSON
        object: `{"decision": "block", "reason": …}` or `{"continue": false, "stopReason": …}`. `{"focus": …}` adds to
        the focus. Never raises for what a hook does, takes at most `timeout_s` for each unless it has its own limit,
        and kills the running one with all its children when cancelled. A hook gets `environ` without keys. A matcher
        is compared with the trigger.
        """
        payload = {"hook": self.name, "cwd": str(self.cwd), **payload}
        if self.transcript is not None and self.entries:
            payload["transcript_path"] = await self.transcript.path()
        trigger = str(payload.get("trigger", ""))
        names = (trigger, "manual" if trigger == "manual" else "auto")
        verdicts: list[_Verdict] = []
        runs: list[HookRun] = []
        for entry in self.entries:
            if not entry.matches(names):
                continue
            verdict = await self._verdict(entry, payload)
            verdicts.append(verdict)
            where = shown_line(entry.command, self.secrets, COMMAND_CHARS)
            run = HookRun(what=f"{self.name} hook", where=where, outcome=verdict.outcome, failed=verdict.failed)
            runs.append(run.but(notice=verdict.notice))
            if verdict.veto:
                break
        focus = "\n".join(verdict.focus for verdict in verdicts if verdict.focus)
        last = verdicts[-1] if verdicts else _Verdict("")
        return HookOutcome(last.veto, last.reason, focus, tuple(runs))

    async def _verdict(self, entry: HookEntry, payload: Mapping[str, object]) -> _Verdict:
        place = HookPlace(
            self.cwd,
            entry.timeout_s or self.timeout_s,
            self.secrets,
            self.environ,
            self.variables,
            self.command,
            self.sandbox,
        )
        ended = await run_hook(entry.command, payload, place)
        return _Verdict(ended, failed=True) if isinstance(ended, str) else _judge(ended, self.secrets)


NO_HOOKS = Hooks("", (), Path(), 0.0)


def _judge(ended: HookEnded, secrets: Sequence[str]) -> _Verdict:
    if ended.code == VETO_EXIT:
        return _vetoed(shown_line(first_line(ended.refusal.encode()), secrets, REASON_CHARS))
    if failure := failure_of(ended, secrets):
        return _Verdict(failure, failed=True)
    if len(ended.stdout) > OUTPUT_BYTES:
        return _Verdict(f"Its output is over {OUTPUT_BYTES // 1024} kB and was ignored.", failed=True)
    answer = _answer(ended.stdout)
    if answer is None and not ended.stdout.lstrip().startswith((b"{", b"[")):
        return _Verdict("No objection.")  # words for people, as scripts for Claude Code print them
    if answer is None:
        return _Verdict("Its output is not a JSON object and was ignored.", failed=True)
    return _answered(answer, secrets)._replace(notice=shown_line(_text(answer, "systemMessage"), secrets, FOCUS_CHARS))


def _answered(answer: Json, secrets: Sequence[str]) -> _Verdict:
    if answer.get("continue") is False:
        return _vetoed(shown_line(_text(answer, "stopReason"), secrets, REASON_CHARS))
    if answer.get("decision") in VETOES:
        return _vetoed(shown_line(_text(answer, "reason"), secrets, REASON_CHARS))
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
