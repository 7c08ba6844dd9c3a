"""What a hook's exit code and output mean, in the form that Claude Code defined."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from co_tui.agent.redact import redact
from co_tui.events import Json
from co_tui.events.storable import storable_text
from co_tui.inert import inert
from co_tui.session.hooks.hook_process import OUTPUT_BYTES, REASON_CHARS, HookEnded, failure_of, shown_line
from co_tui.settings.hook_entries import PRE_TOOL_USE, SESSION_START, USER_PROMPT_SUBMIT

REFUSE_EXIT: Final = 2
TOLD_CHARS: Final = 10_000
"""Most of a hook's text that the model gets."""
NO_REASON: Final = "No reason given."
NO_OBJECTION: Final = "No objection."
NOT_JSON: Final = "Its output is not a JSON object and was ignored."
TAKES_PLAIN_TEXT: Final = frozenset({SESSION_START, USER_PROMPT_SUBMIT})
"""Events whose hooks may answer with plain text, which the model gets."""
Decision: TypeAlias = Literal["", "allow", "ask", "deny", "block", "stop"]
_STRENGTH: Final[Sequence[Decision]] = ("", "allow", "ask", "block", "deny", "stop")


class HookAnswer(NamedTuple):
    """The answer of one hook, or of all hooks of an event."""

    outcome: str = NO_OBJECTION
    """A sentence for people."""
    decision: Decision = ""
    reason: str = ""
    context: str = ""
    """Text for the model."""
    updated_input: Json | None = None
    failed: bool = False
    """Whether the hook did not work, and so decided nothing."""
    notice: str = ""
    """Text for the user."""

    @property
    def refuses(self) -> bool:
        return self.decision in ("block", "deny", "stop")

    @property
    def stops(self) -> bool:
        """Whether the turn ends."""
        return self.decision == "stop"


def failed(outcome: str) -> HookAnswer:
    """The answer of a hook that did not work."""
    return HookAnswer(outcome, failed=True)


def combined(answers: Iterable[HookAnswer]) -> HookAnswer:
    """The strictest decision with its reason, and everything that was added."""
    answers = list(answers)
    if not answers:
        return HookAnswer()
    strictest = max(answers, key=lambda answer: _STRENGTH.index(answer.decision))
    context = "\n".join(answer.context for answer in answers if answer.context)
    updated = next((each.updated_input for each in reversed(answers) if each.updated_input is not None), None)
    return strictest._replace(context=context, updated_input=updated)


def read_answer(event: str, ended: HookEnded, secrets: Sequence[str] = ()) -> HookAnswer:
    """Read the answer of a hook that ended by itself."""
    if ended.code == REFUSE_EXIT:
        return _refusal("block", _told(ended.refusal, secrets), secrets)
    if failure := failure_of(ended, secrets):
        return failed(failure)
    if len(ended.stdout) > OUTPUT_BYTES:
        return failed(f"Its output is over {OUTPUT_BYTES // 1024} kB and was ignored.")
    text = ended.stdout.decode(errors="replace").strip()
    try:
        answer = json.loads(text or "{}")
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        return _from_json(event, answer, secrets)
    if event in TAKES_PLAIN_TEXT:
        return HookAnswer("Added to the context.", context=_told(text, secrets))
    # Programs that know nothing of hooks print what they like.
    return failed(NOT_JSON) if text.startswith("{") else HookAnswer()


def _from_json(event: str, answer: Json, secrets: Sequence[str]) -> HookAnswer:
    read = _decided(event, answer, secrets)._replace(notice=_told(_text(answer.get("systemMessage")), secrets))
    if answer.get("continue") is not False:
        return read
    reason = _told(_text(answer.get("stopReason")), secrets) or NO_REASON
    outcome = f"Stopped: {shown_line(reason, secrets, REASON_CHARS)}"
    return read._replace(outcome=outcome, decision="stop", reason=reason, updated_input=None)


def _decided(event: str, answer: Json, secrets: Sequence[str]) -> HookAnswer:
    given = answer.get("hookSpecificOutput")
    specific: Mapping[str, Any] = given if isinstance(given, dict) else {}
    decision, reason = _decision(event, answer, specific)
    reason = _told(reason, secrets)
    context = _told(_text(specific.get("additionalContext")), secrets)
    if decision in ("block", "deny"):
        return _refusal(decision, reason, secrets)._replace(context=context)
    updated = specific.get("updatedInput") if event == PRE_TOOL_USE else None
    updated = updated if isinstance(updated, dict) else None
    outcome = _outcome(decision, reason, context, updated, secrets)
    return HookAnswer(outcome, decision, reason, context, updated)


def _decision(event: str, answer: Json, specific: Json) -> tuple[Decision, str]:
    if event == PRE_TOOL_USE and (word := specific.get("permissionDecision")) is not None:
        reason = _text(specific.get("permissionDecisionReason"))
        # An unknown word must not let a call through that the hook wanted to stop.
        return (word if word in ("allow", "deny") else "ask"), reason
    if answer.get("decision") == "block":
        return "block", _text(answer.get("reason"))
    if event == PRE_TOOL_USE and answer.get("decision") == "approve":
        return "allow", _text(answer.get("reason"))
    return "", ""


def _refusal(decision: Decision, reason: str, secrets: Sequence[str]) -> HookAnswer:
    reason = reason or NO_REASON
    return HookAnswer(f"Refused: {shown_line(reason, secrets, REASON_CHARS)}", decision, reason)


def _outcome(decision: Decision, reason: str, context: str, updated: Json | None, secrets: Sequence[str]) -> str:
    did = [
        {"allow": "Allowed it", "ask": "Asked for approval"}.get(decision, ""),
        "changed the input" if updated is not None else "",
        "added to the context" if context else "",
    ]
    said = ", ".join(filter(None, did))
    if not said:
        return NO_OBJECTION
    why = f": {shown_line(reason, secrets, REASON_CHARS)}" if reason else "."
    return f"{said[0].upper()}{said[1:]}{why}"


def _told(text: str, secrets: Sequence[str]) -> str:
    """A hook's text as the model and people get it."""
    text = storable_text(inert(redact(text, secrets))).strip()
    if len(text) <= TOLD_CHARS:
        return text
    return f"{text[:TOLD_CHARS]}\n[… {len(text) - TOLD_CHARS:,} more characters are left out]"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
