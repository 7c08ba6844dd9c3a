"""What a run says to scripts: `--output-format json` and `stream-json`, in the form that Claude Code prints."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import uuid4

from co_tui.actions import COMMANDS
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    CompactionComplete,
    DelegationStart,
    Event,
    Json,
    Message,
    SessionError,
    TurnEnded,
    UsageInfo,
)
from co_tui.events.stored_messages import pieces
from co_tui.headless.output import json_line
from co_tui.headless.printing import PrintedPiece
from co_tui.session.hooks.tool_forms import claude_name, given_input
from co_tui.session.hooks.transcript import message_blocks
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import permission_mode

MS: Final = 1000
STEPS: Final = "steps"
"""The failure of a turn that used up `--max-turns`."""
INTERRUPTED: Final = "Interrupted."
NOT_ANSWERED: Final = "The prompt was not answered; standard error says why."
_USAGE: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class ResultLines:
    """Turns the events of a session into lines: all of them, or only the result of each prompt."""

    def __init__(self, *, streams: bool) -> None:
        self._streams = streams
        self._session: Session | None = None
        self._cost_before: float | None = None
        self._has_begun = False
        self._parents: dict[str, str] = {}
        """The call that started each delegation."""
        self._asked: dict[tuple[str, str], ApprovalRequested] = {}
        self.asked = 0
        """How many prompts there were; set by the run."""
        self._answered = 0
        self._begin()

    @property
    def is_owed(self) -> bool:
        """Whether the last prompt has no result; a run without a prompt has one, too."""
        return self._answered < max(1, self.asked)

    def use(self, session: Session) -> None:
        self._session = session
        self._cost_before = session.state.total_cost

    def _begin(self) -> None:
        """The next result is about what comes from now on."""
        self._error = self._kind = self._text = ""
        self._started: float | None = None
        self._asked_at: float | None = None
        self._waited_s = 0.0
        self._replies = 0
        self._usage = dict.fromkeys(_USAGE, 0)
        self._denials: list[Json] = []

    def show(self, event: Event) -> Sequence[PrintedPiece]:
        """What to print for an event."""
        return [PrintedPiece(f"{json_line(line)}\n") for line in self._lines(event)]

    def _lines(self, event: Event) -> Iterator[Json]:
        match event.fact:
            case UsageInfo(agent=""):
                self._asked_at = self._asked_at or time.monotonic()
                yield from self._beginning()
            case DelegationStart() as started:
                self._parents[started.agent] = started.call_id
            case ApprovalRequested() as asked:
                self._asked[asked.agent, asked.call_id] = asked
            case ApprovalDecided() as decided:
                self._decided(decided)
            case SessionError(agent="") as failed if failed.retry_in_s is None and not failed.is_warning:
                self._error, self._kind = failed.what, failed.kind
            case CompactionComplete(success=False) as compacted:
                self._error = compacted.outcome_sentence()
            case Message() as message:
                yield from self._said(message)
            case TurnEnded() as ended:
                yield from self._beginning()
                yield self.result(Outcome(ended.outcome), ended.text)

    def _beginning(self) -> Iterator[Json]:
        """The first line, once the tools of the first request are known."""
        if self._has_begun or not self._streams or self._session is None:
            return
        self._has_begun = True
        state, servers = self._session.state, self._session.settings.mcp_servers
        scaffold = self._session.history.scaffold
        tools = dict.fromkeys(claude_name(each) for each in (scaffold.tool_names if scaffold else ()))
        yield self._line(
            "system",
            subtype="init",
            cwd=state.cwd,
            tools=[*tools],
            mcp_servers=[{"name": name, "status": "configured"} for name in servers],
            model=state.model,
            permissionMode=permission_mode(state.mode),
            slash_commands=[row.name for row in COMMANDS if not row.instead],
            apiKeySource="none",
        )

    def _line(self, kind: str, **more: Any) -> Json:
        return {"type": kind, **more, "session_id": self._session.id if self._session else "", "uuid": str(uuid4())}

    def _decided(self, decided: ApprovalDecided) -> None:
        asked = self._asked.pop((decided.agent, decided.call_id), None)
        if asked is not None and not decided.approved and self._session is not None:
            given = given_input(asked.tool, asked.arguments, self._session.folder)
            denied = {"tool_name": claude_name(asked.tool), "tool_use_id": asked.call_id, "tool_input": given}
            self._denials.append(denied)

    def _said(self, said: Message) -> Iterator[Json]:
        message, session = said.message, self._session
        assert session is not None
        self._started = self._started or time.monotonic()
        is_reply = message.get("kind") == "response"
        if is_reply:
            self._count(said)
        blocks = list(message_blocks(message, session.folder))
        if not is_reply:  # the prompt is the script's own
            blocks = [each for each in blocks if each["type"] == "tool_result"]
        if not self._streams or not blocks:
            return
        yield from self._beginning()
        parent = self._parents.get(said.agent) if said.agent else None
        if not is_reply:
            yield self._line("user", message={"role": "user", "content": blocks}, parent_tool_use_id=parent)
            return
        reply = {
            "id": message.get("provider_response_id") or f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": message.get("model_name") or session.state.model,
            "content": blocks,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(message),
        }
        yield self._line("assistant", message=reply, parent_tool_use_id=parent)

    def _count(self, reply: Message) -> None:
        """Add a reply to the figures of the result."""
        for name, tokens in _usage(reply.message).items():
            self._usage[name] += tokens
        if reply.agent:
            return
        self._replies += 1
        self._text = "".join(text for role, text, _ in pieces(reply.message) if role == "assistant")
        if self._asked_at is not None:
            self._waited_s += time.monotonic() - self._asked_at
            self._asked_at = None

    def result(self, outcome: Outcome, text: str = "") -> Json:
        """The result of a prompt; `text` is what there is in place of a reply. The cost is None if the model's price is
        not known."""
        has_failed, session, now = outcome is not Outcome.DONE, self._session, time.monotonic()
        cost = session.state.total_cost if session is not None else None
        known = cost is not None and cost != self._cost_before
        said: Json = {"result": text or self._text}
        if has_failed:
            why = text or self._error or (INTERRUPTED if outcome is Outcome.INTERRUPTED else NOT_ANSWERED)
            said = {"result": self._text or why, "errors": [why]}
        line = self._line(
            "result",
            subtype=self._subtype(has_failed),
            is_error=has_failed,
            duration_ms=round((now - (self._started or now)) * MS),
            duration_api_ms=round(self._waited_s * MS),
            num_turns=self._replies,
            **said,
            total_cost_usd=round((cost or 0.0) - (self._cost_before or 0.0), 6) if known else None,
            usage=self._usage,
            permission_denials=self._denials,
        )
        self._answered += 1
        self._begin()
        return line

    def _subtype(self, has_failed: bool) -> str:
        if not has_failed:
            return "success"
        return "error_max_turns" if self._kind == STEPS else "error_during_execution"


def _usage(message: Json) -> dict[str, int]:
    """What a reply used; there, cached tokens are not part of the input tokens."""
    reported = message.get("usage")
    used = reported if isinstance(reported, dict) else {}
    written, read, whole, output = (
        int(used.get(name) or 0)
        for name in ("cache_write_tokens", "cache_read_tokens", "input_tokens", "output_tokens")
    )
    return dict(zip(_USAGE, (max(0, whole - written - read), written, read, output), strict=True))
