"""The setting `hooks`: the user's own commands that run at an event, for all tools or for some."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from co_tui.settings.rules import ASK, EDITS, PartRefused, Rule, quoted, table_in

PRE_COMPACT: Final = "preCompact"
SESSION_START: Final = "sessionStart"
USER_PROMPT_SUBMIT: Final = "userPromptSubmit"
PRE_TOOL_USE: Final = "preToolUse"
POST_TOOL_USE: Final = "postToolUse"
STOP: Final = "stop"
SUBAGENT_STOP: Final = "subagentStop"
NOTIFICATION: Final = "notification"
SESSION_END: Final = "sessionEnd"
HOOKS: Final = (
    PRE_COMPACT,
    SESSION_START,
    USER_PROMPT_SUBMIT,
    PRE_TOOL_USE,
    POST_TOOL_USE,
    STOP,
    SUBAGENT_STOP,
    NOTIFICATION,
    SESSION_END,
)
"""Events at which the user's own commands can run."""
MOST_MATCHED_CHARS: Final = 200
"""Of a name that a pattern is compared with; names come from the model."""
_PLAIN: Final = re.compile(r"[\w |-]*")
_ENTRY: Final = "a command, or a table with `command` and `matcher`"
_PATTERN: Final = "a regular expression for tool names, such as `Bash` or `Edit|Write`"


class HookEntry(NamedTuple):
    """A command to run, the tools it is for, and the file that configures it."""

    command: str
    matcher: str = ""
    """Empty or `*` for all."""
    source: str = ""

    @property
    def written(self) -> object:
        """As people write it in a file."""
        return {"matcher": self.matcher, "command": self.command} if self.matcher else self.command

    def matches(self, names: Sequence[str]) -> bool:
        """Whether it is for something that has any of these names. Letters and `|` are compared exactly, everything
        else is a regular expression, as in Claude Code. Events without names ignore it."""
        if self.matcher in ("", "*") or not names:
            return True
        if _PLAIN.fullmatch(self.matcher):
            return not {each.strip() for each in self.matcher.split("|")}.isdisjoint(names)
        pattern = re.compile(self.matcher)
        return any(pattern.search(name[:MOST_MATCHED_CHARS]) for name in names)


HookTable: TypeAlias = Mapping[str, tuple[HookEntry, ...]]


def hook_table() -> Rule:
    return Rule(f"a table of commands for {', '.join(HOOKS)}; or none", _read)


def capitalised(event: str) -> str:
    """An event's name as Claude Code spells it."""
    return event[0].upper() + event[1:]


def permission_mode(mode: str) -> str:
    """A mode's name in Claude Code."""
    return {ASK: "default", EDITS: "acceptEdits"}.get(mode, mode)


def hooks_as_table(hooks: HookTable) -> dict[str, tuple[object, ...]]:
    """The hooks as people write them in a file."""
    return {event: tuple(each.written for each in entries) for event, entries in hooks.items()}


def joined(stronger: HookTable, weaker: HookTable) -> HookTable:
    """The hooks of two files: those of the weaker one run first, so that a project cannot replace the user's own."""
    events = [event for event in HOOKS if event in stronger or event in weaker]
    return {event: (*weaker.get(event, ()), *stronger.get(event, ())) for event in events}


def _read(value: object) -> HookTable:
    value = table_in(value)
    if not isinstance(value, Mapping):
        raise ValueError
    found: dict[str, tuple[HookEntry, ...]] = {}
    for name, entries in value.items():
        event = name[:1].lower() + name[1:] if isinstance(name, str) else ""
        if event not in HOOKS:
            raise ValueError
        found[event] = (*found.get(event, ()), *_entries(name, entries))
    return found


def _entries(name: str, value: object) -> Iterator[HookEntry]:
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(each, str) and each:
            yield HookEntry(each)
        elif isinstance(each, HookEntry):
            yield each
        else:
            yield _from_table(name, each)


def _from_table(name: str, value: object) -> HookEntry:
    if not isinstance(value, Mapping) or not set(value) <= {"command", "matcher"}:
        raise PartRefused(name, quoted(value), _ENTRY)
    command, matcher = value.get("command"), value.get("matcher", "")
    if not isinstance(command, str) or not command:
        raise PartRefused(f"{name}.command", quoted(command), "a command")
    try:
        re.compile(matcher)
    except (re.error, TypeError, RecursionError, OverflowError):
        if matcher != "*":
            raise PartRefused(f"{name}.matcher", quoted(matcher), _PATTERN) from None
    return HookEntry(command, matcher)
