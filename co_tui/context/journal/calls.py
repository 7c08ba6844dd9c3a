"""Read a tool call: what it is in a line, and which files it changes and reads."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from shlex import quote
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from co_tui.context.journal.command_runs import READERS, Run, last_run, main_of, program_of, run_of, runs_of
from co_tui.context.journal.outline import written_outline
from co_tui.context.memory.unwrap import edit_in
from co_tui.events.tool_calls import CHANGING_TOOLS, TOOL_LABELS, WRITE_PLAN, objects_in
from co_tui.inert import one_line
from co_tui.shell.programs import Simple, arguments, is_file_name, read_command

HEAD_CHARS: Final = 200
EDIT_CHARS: Final = 400
"""Of a command that changes a file: what it does to it."""
_VALUE_CHARS: Final = 80
_LAST_LINE_CHARS: Final = 80
_NAME_CHARS: Final = 60
EDIT: Final = "edit"
"""The program of every tool that changes a file, so that any of them makes up for the failure of another."""
READ: Final = "read"
_CONTENTS: Final = ("content", "file_text", "contents", "text", "file_content", "new_content", "code_edit")
"""Arguments with the text of a file that is written."""
_PATCHES: Final = frozenset(("patch", "diff"))
_MANY: Final = ("files", "edits", "changes")
"""Arguments with several edits, which may name their files."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PATHS: Final = frozenset((
    "path", "filepath", "filename", "file", "targetfile", "notebookpath", "relativepath", "absolutepath",
    "relativeworkspacepath",
))  # fmt: skip
_CHANGES: Final = frozenset((
    "write", "edit", "create", "insert", "replace", "patch", "append", "delete", "remove", "move", "rename", "modify",
    "update", "undo", "multiedit", "touch",
))  # fmt: skip
_ADDS: Final = frozenset(("insert", "append"))
_READS: Final = frozenset((
    "read", "view", "get", "list", "search", "find", "open", "cat", "ls", "grep", "glob", "show", "fetch", "check",
    "think", "calculate", "recall", "query", "load", "describe", "lookup", "count", "web",
))  # fmt: skip
_ACTS: Final = frozenset((
    "update", "book", "cancel", "create", "delete", "send", "modify", "set", "add", "remove", "exchange", "return",
    "transfer", "submit", "pay", "post", "put", "close", "approve", "assign", "merge", "refund", "schedule", "upload",
    "change", "issue", "place", "order", "publish", "deploy", "insert",
))  # fmt: skip
PLAN: Final = "(plan)"
"""The verb of every tool that writes a plan; no tool or program is called so."""
_PLAN_WORDS: Final = frozenset(("todo", "todos", "plan", "checklist", "todowrite", "todolist"))
_PLAN_LISTS: Final = frozenset(("tasklist", "todolist"))
_PLANNED: Final = ("content", "step", "title", "task", "description", "text", "name")
_HOW_FAR: Final = {
    "completed": " (done)", "done": " (done)", "complete": " (done)", "in_progress": " (under way)",
    "active": " (under way)", "doing": " (under way)", "cancelled": " (dropped)", "blocked": " (blocked)",
}  # fmt: skip
_DULL: Final = frozenset(
    ("edits", "security_risk", "timeout", "timeout_seconds", "description", "explanation", "is_background", "workdir")
)
_EDITOR_COMMANDS: Final = frozenset(("edit", "insert", "append", "create"))
"""Of agents with an editor in their shell: they change the open file."""
_SHOWS: Final = frozenset(("cat", "head", "tail", "less", "more", "bat", "nl", "batcat"))
_RANGE: Final = re.compile(r"(\d+),(\d+)p")
_IN_PLACE: Final = re.compile(r"-[a-zA-Z]*i|--in-place")
_HIDES_EXIT: Final = re.compile(r"[|;&<>!(){}`$\n\\]")
"""What may run a program whose exit code is not the line's, other than `&&`."""
_PATCHED: Final = re.compile(
    r"^(?:\+\+\+ (?:b/)?([^\t\n]+)|\*\*\* (?:Add|Update|Delete) File: (.+)|\*\*\* Move to: (.+))", re.MULTILINE
)
_PATCH_FILE: Final = re.compile(r"\.(?:patch|diff)$|(?:^|/)(?:patch|diff)\.txt$")


def is_patch_file(path: str) -> bool:
    return _PATCH_FILE.search(path) is not None


class Role(StrEnum):
    """What a step is for the work."""

    SAID = "said"
    REST = "rest"
    """A text whose conclusion is shown."""
    READ = "read"
    """It read a file, which can be read again."""
    READ_LAST = "read last"
    """One of the latest calls read a file: it is worked on next."""
    WROTE = "wrote"
    """It wrote a whole file."""
    EDITED = "edited"
    SHOWED_CHANGES = "showed changes"
    """It showed what was changed so far, as a patch."""
    LOOKED = "looked"
    RAN = "ran"
    ANSWERED = "answered"
    """A service answered."""
    OUTDATED = "outdated"
    """The file that it read was changed since, or it was made again."""
    UNDONE = "undone"
    """Its edits were undone."""


class Begun(NamedTuple):
    """What the words of a call say. What came of it is recorded, or not known."""

    head: str
    verb: str
    run: Run
    """What fails if it fails."""
    runs: tuple[Run, ...] = ()
    """What went well if it goes well."""
    whole: int = 0
    """The same for calls with the same words, also those that its head leaves out."""
    line: tuple[Simple, ...] | None = None
    """The programs of a command; None for other tools."""
    names: tuple[str, ...] = ()
    """The files that an editing tool was asked to change."""
    read: tuple[str, ...] = ()
    """The files that it asks for, for choosing lines."""
    reads: bool = False
    """Whether it only looks at something."""
    acts: bool = False
    """Whether it does something other than change files, such as booking a flight."""
    writes: bool = False
    """Whether it is about changing files, for choosing lines."""
    outline: str = ""
    """Of the file that it writes."""
    plan: tuple[str, ...] | None = None
    """The steps of the plan that it writes, with how far each is; our own plan is stated anyway."""
    shows_exit: bool = False
    """Whether its exit code is that of everything it runs: nothing in its words hides a failure."""

    @property
    def role(self) -> Role:
        if self.run.program == "git diff" or any(map(is_patch_file, self.read)):
            return Role.SHOWED_CHANGES
        if self.read:
            return Role.READ
        if self.outline:
            return Role.WROTE
        if self.writes:
            return Role.EDITED
        if self.line is not None:
            return Role.LOOKED if self.reads else Role.RAN
        return Role.ANSWERED


def begin_call(tool: str, values: Mapping[str, Any], raw: str = "") -> Begun:
    """Read a call; `raw` are its arguments when they could not be read."""
    name = one_line(tool, _NAME_CHARS)
    if (plan := plan_in(tool, values)) is not None:
        run = Run(PLAN, ())
        return Begun(f"{name}({len(plan)} steps)", PLAN, run, (run,), plan=None if tool == WRITE_PLAN else plan)
    command = command_in(values)
    if command is not None:
        return begin_command(command)
    return _begin_tool(name, tool, values, raw)._replace(whole=hash((name, raw, *map(repr, values.items()))))


def _begin_tool(name: str, tool: str, values: Mapping[str, Any], raw: str) -> Begun:
    """Read the call of a tool that runs no commands."""
    head = one_line(f"{name}({_telling(values) or one_line(raw, _VALUE_CHARS)})", HEAD_CHARS)
    words = [word.lower() for word in _WORDS.findall(tool.rpartition("__")[2])] or [name]
    label = TOOL_LABELS.get(tool, "")
    sub = str(values.get("command") or "").lower() if isinstance(values.get("command"), str) else ""
    verb = sub or label or name
    if label in ("read", "list", "search", "find") or sub == "view" or (not sub and words[0] in _READS):
        named = next(_path_values(values), "")
        run = Run(f"{READ} {name}", (named,) if named else _values(values))
        return Begun(head, verb, run, (run,), read=_ranged(values, named), reads=True)
    changing = (*words, *sub.split("_"))
    if tool in CHANGING_TOOLS or label in ("write", "edit") or not _CHANGES.isdisjoint(changing):
        names = tuple(filter(is_file_name, dict.fromkeys(_patched(values) or _changed(values))))
        if names or words[0] in _EDITOR_COMMANDS:
            written = next((text for key in _CONTENTS if isinstance(text := values.get(key), str)), "")
            is_whole = edit_in(values) == [] and _ADDS.isdisjoint(changing)
            return Begun(
                head, EDIT if sub else verb, Run(EDIT, names[:1]), (Run(EDIT, names[:1]),), names=names, writes=True,
                outline=written_outline(written) if is_whole else "",
            )  # fmt: skip
    run = Run(name, _values(values)[:1])
    return Begun(head, verb, run, (run,), acts=bool(_ACTS.intersection(words[:1])) and not label)


def _patched(values: Mapping[str, Any]) -> list[str]:
    """The files that a patch names, in the form of `diff` or `apply_patch`."""
    found = (next(filter(None, each.groups())).strip() for each in _PATCHED.finditer(_patch_in(values)))
    return [name for name in found if name != "/dev/null"]


def _patch_in(values: Mapping[str, Any]) -> str:
    """The patch that a call is given, in the form of `apply_patch` or, under its name, of `diff`."""
    given = {key: value for key, value in values.items() if key not in _CONTENTS and isinstance(value, str)}
    named = (value for key, value in given.items() if key in _PATCHES and "\n+++ " in value)
    return next((value for value in given.values() if "*** Begin Patch" in value), "") or next(named, "")


def plan_in(tool: str, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The steps of a plan that a call writes, in the form of any program: texts with how far they are. None for other
    calls: lists of a service's data also have a status."""
    is_planner = _is_plan(tool)
    for key, value in values.items():
        if not isinstance(value, list) or not (is_planner or _is_plan(key)):
            continue
        steps = [*objects_in(value)]
        texts = [next((each[name] for name in _PLANNED if isinstance(each.get(name), str)), "") for each in steps]
        if len(steps) == len(value) and all(texts) and all(isinstance(each.get("status"), str) for each in steps):
            marks = (_HOW_FAR.get(each["status"].lower().replace("-", "_"), "") for each in steps)
            return tuple(f"{one_line(text, _VALUE_CHARS)}{mark}" for text, mark in zip(texts, marks, strict=True))
    return None


def _is_plan(name: str) -> bool:
    """Whether a tool or an argument is named after a plan."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return not _PLAN_WORDS.isdisjoint(words) or not _PLAN_LISTS.isdisjoint(map("".join, pairwise(words)))


def command_in(values: Mapping[str, Any]) -> str | None:
    """The command line among the arguments of a call; None if its tool runs no commands."""
    if any(key.replace("_", "").lower() in _PATHS for key in values):
        return None
    for key in ("command", "cmd", "commandLine", "CommandLine", "script"):
        value = values.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return value[2] if len(value) == 3 and value[1] in ("-c", "-lc") else _joined(value)
    return None


def _joined(words: Sequence[str]) -> str:
    """The words of a command as a line; a patch may be one of them."""
    return words[0] if len(words) == 1 else " ".join(quote(word) if re.search(r"\s", word) else word for word in words)


def begin_command(command: str) -> Begun:
    """Read a shell command."""
    line = read_command(command)
    main, last = main_of(line), last_run(line)
    verb = one_line(program_of(main), _NAME_CHARS) if main is not None else "shell"
    run = run_of(last) if last is not None else Run(verb, (one_line(command, HEAD_CHARS),))
    writes = any(simple.written or _edits_in_place(simple) for simple in line)
    looks = bool(line) and all(program_of(simple) in READERS for simple in line) and not writes
    documents = (simple.document for simple in line if simple.written and simple.document)
    return Begun(
        command_head(command, EDIT_CHARS if writes else HEAD_CHARS),
        verb or "shell",
        run,
        tuple(runs_of(line)),
        hash(command.strip()),
        tuple(line),
        read=tuple(one_line(each, HEAD_CHARS) for each in reads_of(line)),
        reads=looks,
        writes=writes,
        outline=next(map(written_outline, documents), ""),
        shows_exit=bool(line) and _HIDES_EXIT.search(command.strip().replace("&&", "")) is None,
    )


def _edits_in_place(simple: Simple) -> bool:
    return simple.program in ("sed", "gsed", "perl") and any(_IN_PLACE.match(word) for word in simple.words[1:])


def reads_of(line: Sequence[Simple]) -> list[str]:
    """The files that a command line names to be shown, with the lines when they are given."""
    found: list[str] = []
    for simple in line:
        if simple.is_filter:
            if found and simple.program == "sed" and (lines := _lines(simple)):
                found[-1] = f"{found[-1]}:{lines}"
        elif simple.written or simple.document:
            continue
        elif simple.program in _SHOWS:
            found += filter(is_file_name, arguments(simple, "-n", "-c", "--lines"))
        elif simple.program == "sed" and "-n" in simple.words:
            named = arguments(simple, "-e")[0 if "-e" in simple.words else 1 :]
            lines = _lines(simple)
            found += [f"{path}:{lines}" if lines else path for path in named if is_file_name(path)]
    return list(dict.fromkeys(found))


def _lines(sed: Simple) -> str:
    for word in sed.words[1:]:
        if found := _RANGE.fullmatch(word.strip()):
            return f"{found[1]}-{found[2]}"
    return ""


def command_head(command: str, most_chars: int = HEAD_CHARS) -> str:
    """A command in a line: its first line, and its last if that is another command."""
    lines = [line for line in command.strip().splitlines() if line.strip()] or [""]
    if len(lines) > 1 and lines[0].lstrip().startswith("#"):
        lines = next((lines[at:] for at, line in enumerate(lines) if not line.lstrip().startswith("#")), lines)
    first = f"$ {one_line(lines[0].strip(), most_chars)}"
    if len(lines) == 1:
        return one_line(first, most_chars)
    last = lines[-1].strip()
    is_run = "<<" in lines[0] and re.match(r"(?:cd |\w+=|python|pytest|\./|bash |sh |node |npm |cat |git |ls )", last)
    ending = f" … {one_line(last, _LAST_LINE_CHARS)}" if is_run else " …"
    return f"{one_line(first, HEAD_CHARS - len(ending))}{ending}"


def _changed(values: Mapping[str, Any]) -> list[str]:
    """The files that the call of an editing tool names."""
    many = [path for name in _MANY for each in objects_in(values.get(name)) for path in _path_values(each)]
    moved = [str(values[key]) for key in ("destination", "new_path", "target") if isinstance(values.get(key), str)]
    return [*list(_path_values(values))[:1], *many, *(moved if _path_values(values) else ())]


def _path_values(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, str) and value and key.replace("_", "").lower() in _PATHS:
            yield one_line(value, HEAD_CHARS)


def _ranged(values: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """A file that was read, with the lines that were asked for."""
    if not path or not is_file_name(path):
        return ()
    first, last = values.get("start_line", values.get("offset")), values.get("end_line")
    if isinstance(view := values.get("view_range"), list) and len(view) == 2:
        first, last = view
    if isinstance(first, int) and last is None and isinstance(limit := values.get("limit"), int):
        last = first + limit
    return (f"{path}:{first}-{last}" if isinstance(first, int) and isinstance(last, int) and last > 0 else path,)


def _values(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_shown(value)[:HEAD_CHARS] for value in list(values.values())[:3])


def _telling(values: Mapping[str, Any]) -> str:
    """The short arguments of a call; of one that has none, the beginning of the first."""
    given = {key: _shown(value) for key, value in values.items() if value not in (None, "", False) and key not in _DULL}
    short = {key: text for key, text in given.items() if "\n" not in text and len(text) <= _most_chars(key)}
    if not short and given:
        key = next(iter(given))
        short = {key: one_line(given[key], _VALUE_CHARS * 2)}
    return ", ".join(f"{one_line(key, _NAME_CHARS)}: {text}" for key, text in short.items())


def _most_chars(key: str) -> int:
    return HEAD_CHARS if key.replace("_", "").lower() in _PATHS else _VALUE_CHARS


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return to_json(value, serialize_unknown=True).decode(errors="replace")
    except ValueError:
        return str(value)
