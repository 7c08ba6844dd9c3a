"""The setting `hooks`: the user's own commands that run at an event, for all tools or for some."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern
from co_tui.settings.rules import ASK, AUTO, EDITS, PLAN, PartRefused, Rule, quoted, table_in

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
PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"
"""Where scripts for Claude Code look for the project they run in."""
MOST_MATCHED_CHARS: Final = 200
"""Of a name that a pattern is compared with; names come from the model."""
NAME_CHARS: Final = 60
"""Of an unknown name in a sentence."""
_KEYS: Final = frozenset(("command", "matcher", "timeout", "type", "hooks"))
_PLAIN: Final = late_pattern(r"[\w |-]*")
_ENTRY: Final = "a command, or a table with `matcher`, and `command` or `hooks`"
_NESTED: Final = 'a table with `type = "command"`, `command` and `timeout`'
_SECONDS: Final = "a number of seconds above 0"
LONGEST_S: Final = 86_400
"""Of a hook's own limit; a clock cannot count to every number that a file may have."""
_PATTERN: Final = "a regular expression for tool names, such as `Bash` or `Edit|Write`"


class HookEntry(NamedTuple):
    """A command to run, the tools it is for, and the file that configures it."""

    command: str
    matcher: str = ""
    """Empty or `*` for all."""
    source: str = ""
    timeout_s: float | None = None
    """Its own limit instead of `hook_timeout_s`."""

    @property
    def written(self) -> object:
        """As people write it in a file."""
        own = {"matcher": self.matcher, "timeout": self.timeout_s}
        table = {key: value for key, value in own.items() if value}
        return {**table, "command": self.command} if table else self.command

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


def mode_of(name: str) -> str | None:
    """The mode that Claude Code calls by this name; None if there is none."""
    return {"default": ASK, "dontAsk": ASK, "acceptEdits": EDITS, PLAN: PLAN, AUTO: AUTO}.get(name)


class SupportedHooks(NamedTuple):
    """The part of a table that is supported here, and each unsupported key with the reason."""

    table: dict[str, object]
    unused: list[str]


def supported_hooks(value: Mapping[object, object]) -> SupportedHooks:
    """Leave out events, kinds of hooks and keys that only other programs know."""
    kept: dict[str, object] = {}
    unused: list[str] = []
    for name, entries in value.items():
        if _event(name) in HOOKS:
            several = entries if isinstance(entries, list | tuple) else [entries]
            supported = [each for entry in several for each in _supported(str(name), entry, unused)]
            if supported or not several:
                kept[str(name)] = supported
        else:
            unused.append(f"{one_line(str(name), NAME_CHARS)}: there is no such event")
    return SupportedHooks(kept, unused)


def _supported(name: str, entry: object, unused: list[str]) -> Iterator[object]:
    """An entry without what is unsupported; nothing if that is the hook itself."""
    if not isinstance(entry, Mapping):
        yield entry
        return
    kind, condition = entry.get("type", "command"), entry.get("if")
    if isinstance(kind, str) and kind != "command":
        unused.append(f"{name}: hooks of type {one_line(kind, NAME_CHARS)}")
    elif condition is not None:
        unused.append(f"{name}.if: a hook with a condition does not run")
    else:
        for key in [key for key in entry if key not in _KEYS]:
            unused.append(f"{name}.{one_line(str(key), NAME_CHARS)}")
        kept = {key: each for key, each in entry.items() if key in _KEYS}
        if isinstance(nested := entry.get("hooks"), list | tuple):
            kept["hooks"] = [each for inner in nested for each in _supported(f"{name}.hooks", inner, unused)]
            if nested and not kept["hooks"]:
                return
        yield kept


def _event(name: object) -> str:
    """The event of that name, in either spelling."""
    return name[:1].lower() + name[1:] if isinstance(name, str) else ""


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
        event = _event(name)
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
            yield from _from_table(name, each)


def _from_table(name: str, value: object) -> Iterator[HookEntry]:
    """One table has one command, or in Claude Code's form several in `hooks`."""
    if not isinstance(value, Mapping) or not set(value) <= _KEYS:
        raise PartRefused(name, quoted(value), _ENTRY)
    matcher = _matcher(name, value.get("matcher", ""))
    if "hooks" not in value:
        yield _command(name, value, matcher)
        return
    nested = value["hooks"]
    if not set(value) <= {"matcher", "hooks"} or not isinstance(nested, list | tuple):
        raise PartRefused(name, quoted(value), _ENTRY)
    for each in nested:
        if not isinstance(each, Mapping) or not set(each) <= {"type", "command", "timeout"}:
            raise PartRefused(f"{name}.hooks", quoted(each), _NESTED)
        yield _command(f"{name}.hooks", each, matcher)


def _matcher(name: str, value: object) -> str:
    try:
        re.compile(value)  # type: ignore[call-overload]
    except (re.error, TypeError, RecursionError, OverflowError):
        if value != "*":
            raise PartRefused(f"{name}.matcher", quoted(value), _PATTERN) from None
    return str(value)


def _command(name: str, value: Mapping[str, object], matcher: str) -> HookEntry:
    command = value.get("command")
    if value.get("type", "command") != "command":
        raise PartRefused(f"{name}.type", quoted(value["type"]), '"command"')
    if not isinstance(command, str) or not command:
        raise PartRefused(f"{name}.command", quoted(command), "a command")
    return HookEntry(command, matcher, timeout_s=_seconds(name, value.get("timeout")))


def _seconds(name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise PartRefused(f"{name}.timeout", quoted(value), _SECONDS)
    return min(value, LONGEST_S)
