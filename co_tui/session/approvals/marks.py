"""The marks of this machine on what its logs and files decide. Its key never leaves it."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from co_tui.agent.permissions.older_answers import rules_of, rules_revoked
from co_tui.agent.tool_names import mcp_server_and_tool
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    Event,
    Fact,
    SessionFork,
    SessionResume,
    SessionStart,
)
from co_tui.events.decisions import Source, decides, without_decisions
from co_tui.events.facts.base import MARK
from co_tui.paths import ensure_dir, read_small_bytes
from co_tui.session.workplace.host.address import host_of
from co_tui.settings.permission_rules import MCP, Rule

if TYPE_CHECKING:
    from co_tui.session.state.session_state import SessionState
    from co_tui.store.port import Reading

KEY_BYTES: Final = 32
_FOREVER: Final = 1 << 62
_NOT_MARKED: Final = (MARK, "host")
"""Fields that decide nothing."""


class Marks:
    """Makes and checks marks. A decision without a valid one does not count here."""

    def __init__(self, file: Path | None) -> None:
        """`file` holds the key, and is created when the first mark is made; None for a key of this process alone."""
        self._file = file
        self._key = b""

    def marked(self, session_id: str, fact: Fact, cwd: str) -> Fact:
        """The fact with a mark, if it decides something. `cwd` is the session's folder."""
        return fact.but(mark=self._of_fact(session_id, fact, host_of(cwd))) if decides(fact) else fact

    def of_rule(self, project: str, rule: str) -> str:
        """The mark of a rule that holds for a project."""
        return self._made(["rule", project, rule])

    def has_rule(self, project: str, rule: str, marks: Iterable[object]) -> bool:
        """Whether the mark of a rule is among these."""
        return self._can_check and self.of_rule(project, rule) in marks

    def counted(self, events: Iterable[Event], source: Source) -> Iterator[Event]:
        """The events of one log, without what they decide and this machine did not mark.

        A fork that this machine made vouches for what it copied: marks name the session they were made in.
        """
        log = list(events)
        hosts = _hosts(log)
        sessions = {log[0].session_id: _FOREVER} if log else {}
        used: set[str] = set()

        def is_marked(event: Event) -> bool:
            mark, seq = getattr(event.fact, MARK, ""), event.seq or 0
            if not mark or not self._can_check:
                return False
            made_in = [session_id for session_id, upto in sessions.items() if seq <= upto]
            return any(mark == self._of_fact(each, event.fact, hosts.get(seq, "")) for each in made_in)

        for event in reversed(log):
            if isinstance(event.fact, SessionFork) and is_marked(event):
                sessions.setdefault(event.fact.source_session_id, event.fact.source_seq)

        def is_counted(event: Event) -> bool:
            """Each answer counts once: one that was revoked is not repeated."""
            if not is_marked(event):
                return False
            if not isinstance(event.fact, ApprovalDecided):
                return True
            is_new = event.fact.mark not in used
            used.add(event.fact.mark)
            return is_new

        return without_decisions(log, source, is_counted)

    def _of_fact(self, session_id: str, fact: Fact, host: str) -> str:
        # Without defaults, so that a field that a later version adds does not end the marks of this one.
        content = {
            name: value
            for name, value in vars(fact).items()
            if name not in _NOT_MARKED and value != _default(fact, name)
        }
        # What is allowed on one host is not on another.
        return self._made([fact.TYPE, session_id, host if isinstance(fact, ApprovalDecided) else "", content])

    def _made(self, content: list[object]) -> str:
        import hmac  # keeps the first paint fast

        text = json.dumps(content, sort_keys=True, default=dict)
        return hmac.new(self._own_key(), text.encode(errors="surrogatepass"), "sha256").hexdigest()

    @property
    def _can_check(self) -> bool:
        """Whether this machine ever made a mark."""
        return bool(self._key) or (self._file is not None and self._file.exists())

    def _own_key(self) -> bytes:
        self._key = self._key or (_kept_key(self._file) if self._file is not None else b"") or os.urandom(KEY_BYTES)
        return self._key


def _default(fact: Fact, name: str) -> object:
    return getattr(type(fact), name, None)


def source_of(reading: "Reading", session_id: str) -> Source:
    """Who may have written a stored log."""
    if reading.session(session_id).owner:
        return Source.OTHERS
    return Source.OWN if reading.is_from_elsewhere(session_id) else Source.HERE


def is_narrow(rule: Rule) -> bool:
    """Whether a stored rule may count: never for all calls of a tool, which no question offers."""
    if rule.tool.startswith(MCP):
        return "*" not in rule.tool and all(mcp_server_and_tool(rule.tool))
    first = rule.pattern.removeprefix("domain:").split(maxsplit=1)[:1]
    return bool("".join(first).strip("*:"))


def uncounted_rules(log: Iterable[Event], counted: Iterable[Event], state: "SessionState") -> tuple[str, ...]:
    """The rules that a log allows and the state does not, as far as the session was not resumed here since."""
    tools: dict[tuple[str, str], str] = {}
    found: dict[Rule, None] = {}
    for event, checked in zip(log, counted, strict=True):
        match fact := event.fact:
            case SessionResume() if getattr(checked.fact, MARK):
                found.clear()  # they were named then
            case ApprovalRequested():
                tools[fact.call_id, fact.agent] = fact.tool
            case ApprovalDecided():
                found |= dict.fromkeys(rules_of(tools.get((fact.call_id, fact.agent), ""), fact))
            case ApprovalRevoked():
                found = {rule: None for rule in found if rule not in rules_revoked(fact)}
            case _:
                pass
    return tuple(str(rule) for rule in found if rule not in state.allowed)


def _hosts(log: Iterable[Event]) -> dict[int, str]:
    """By the seq of each decision about a call, the host that the session worked on."""
    found: dict[int, str] = {}
    host = ""
    for event in log:
        if isinstance(event.fact, SessionStart | SessionResume | SessionFork) and event.fact.cwd:
            host = host_of(event.fact.cwd)
        elif isinstance(event.fact, ApprovalDecided):
            found[event.seq or 0] = host
    return found


def _kept_key(file: Path) -> bytes:
    """The key in a file, which is created if it is missing; empty if that fails. All processes get the same."""
    with suppress(OSError):
        if key := _read(file):
            return key
        handle, name = tempfile.mkstemp(dir=ensure_dir(file.parent), prefix=f".{file.name}.")  # owner-only
        new = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(os.urandom(KEY_BYTES))
            with suppress(OSError):  # it exists, or there are no links on this disk
                file.hardlink_to(new)
            if not _read(file):  # damaged, or still missing
                new.replace(file)
        finally:
            new.unlink(missing_ok=True)
        return _read(file)
    return b""


def _read(file: Path) -> bytes:
    with suppress(FileNotFoundError):
        key = read_small_bytes(file, 10 * KEY_BYTES)
        return key if len(key) == KEY_BYTES else b""
    return b""
