"""Read a tool call: what it is in a line, and which files it changes and reads."""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from itertools import pairwise
from shlex import quote
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from co_tui.context.journal.command_runs import READERS, Run, last_run, main_of, program_of, run_of, runs_of
from co_tui.context.journal.net_changes import patch_changes
from co_tui.context.journal.outcomes import done_by
from co_tui.context.journal.outline import written_outline
from co_tui.context.journal.shell_edits import SED, Script, documents_of, edits_of, scripts_in
from co_tui.context.journal.shell_files import Change, changes_of, patched_files, reads_of
from co_tui.context.memory.unwrap import changes_in, edit_in, edited_lines
from co_tui.events.tool_calls import CHANGING_TOOLS, TOOL_LABELS, WRITE_PLAN, objects_in
from co_tui.inert import one_line
from co_tui.shell.programs import PYTHON, Simple, is_file_name, read_command

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
_NUMBERS: Final = frozenset(("startline", "insertline", "line", "afterline", "linenumber"))
_INSERTED: Final = ("replacement_text", "insert_text", "new_str", "new_text", "replacement", *_CONTENTS)
"""Arguments with the text that is put at a line, or instead of it."""
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
_REMOVES: Final = frozenset(("delete", "remove"))
_ADDS: Final = frozenset(("insert", "append"))
_READS: Final = frozenset((
    "read", "view", "get", "list", "search", "find", "open", "cat", "ls", "grep", "glob", "show", "fetch", "check",
    "think", "calculate", "recall", "query", "load", "describe", "lookup", "count", "web",
))  # fmt: skip
_SHOWS_FILE: Final = frozenset(("read", "view", "open", "cat", "show"))
_PARTS: Final = frozenset((
    "pattern", "query", "regex", "limit", "offset", "startline", "endline", "viewrange", "lines", "range", "start",
    "end", "lineno", "linenumber", "linestart", "lineend", "from", "to", "head", "tail", "maxlines", "numlines",
))  # fmt: skip
"""Arguments that ask for a part of a file, in lower case and without underscores."""
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
_SHOWN_BY_EDITOR: Final = frozenset(("open", "goto", "scroll_down", "scroll_up", "search_file"))
_PATCH_FILE: Final = re.compile(r"\.(?:patch|diff)$|(?:^|/)(?:patch|diff)\.txt$")
_OPEN_FILE: Final = re.compile(r"^\(Open file: (.+)\)$(?:\n\(Current directory: (.+)\)$)?", re.MULTILINE)


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
    """What is known of a call before its result."""

    head: str
    verb: str
    run: Run
    """What fails if it fails."""
    runs: tuple[Run, ...] = ()
    """What went well if it goes well."""
    line: tuple[Simple, ...] | None = None
    """The programs of a command; None for other tools."""
    changes: tuple[Change, ...] = ()
    read: tuple[str, ...] = ()
    reads: bool = False
    """Whether it only looks at something."""
    acts: bool = False
    """Whether it does something other than change files, such as booking a flight."""
    undoes: bool = False
    """Whether it takes back the last edit of a file."""
    outline: str = ""
    """Of the file that it writes."""
    scripts: Mapping[str, Script] = {}
    """The Python files that it writes, by their names without folders."""
    plan: tuple[str, ...] | None = None
    """The steps of the plan that it writes, with how far each is; our own plan is stated anyway."""
    edits: Mapping[str, Sequence[str]] = {}
    """The lines that it removes and adds, by file; of the only file it changes, under no name."""
    may_miss: bool = False
    """Whether its edits replace a text that may not be there."""
    documents: Mapping[str, str] = {}
    """The whole texts that it writes, by file."""
    shows_whole: bool = False
    """Whether it shows a file from its beginning, and not only what matches something."""

    @property
    def folder(self) -> str:
        """Where a command ended up; empty if it went nowhere."""
        return self.line[-1].folder if self.line else ""

    def edit_of(self, path: str, *, is_only: bool) -> Sequence[str]:
        """The lines that it removes and adds in a file, which may be the only one that it changes."""
        return self.edits.get(path) or (self.edits.get("", ()) if is_only else ())

    @property
    def role(self) -> Role:
        if self.run.program == "git diff" or any(map(is_patch_file, self.read)):
            return Role.SHOWED_CHANGES
        if self.read:
            return Role.READ
        if self.outline and not any(
            script.files for script in self.scripts.values()
        ):  # a script may be what changes files
            return Role.WROTE
        if self.run.program == EDIT or self.changes:
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
    head = one_line(f"{name}({_telling(values) or one_line(raw, _VALUE_CHARS)})", HEAD_CHARS)
    words = [word.lower() for word in _WORDS.findall(tool.rpartition("__")[2])] or [name]
    label = TOOL_LABELS.get(tool, "")
    sub = str(values.get("command") or "").lower() if isinstance(values.get("command"), str) else ""
    verb = sub or label or name
    if label in ("read", "list", "search", "find") or sub == "view" or (not sub and words[0] in _READS):
        return _begin_look(f"{READ} {name}", head, verb, values, {label, sub, words[0]})
    changing = (*words, *sub.split("_"))
    if tool in CHANGING_TOOLS or label in ("write", "edit") or not _CHANGES.isdisjoint(changing):
        paths = _changed(tool, values)
        patched = patched_files(_patch_in(values))
        removes = not _REMOVES.isdisjoint(words)
        named = patched or [Change(path, removes) for path in dict.fromkeys(paths)]
        changes = tuple(change for change in named if is_file_name(change.path))
        if changes or (words[0] in _EDITOR_COMMANDS and not paths):
            return _begin_edit(head, EDIT if sub else verb, values, changes, changing)
    run = Run(name, _values(values)[:1])
    return Begun(head, verb, run, (run,), acts=bool(_ACTS.intersection(words[:1])) and not label)


def _begin_look(program: str, head: str, verb: str, values: Mapping[str, Any], words: AbstractSet[str]) -> Begun:
    """Read a call that only looks at something."""
    named = next(_path_values(values), "")
    run = Run(program, (named,) if named else _values(values))
    read = _ranged(values, named)
    asks_part = any(key.replace("_", "").lower() in _PARTS and value is not None for key, value in values.items())
    is_whole = read == (named,) and not words.isdisjoint(_SHOWS_FILE) and not asks_part
    return Begun(head, verb, run, (run,), read=read, reads=True, shows_whole=is_whole)


def _begin_edit(
    head: str, verb: str, values: Mapping[str, Any], changes: tuple[Change, ...], words: Sequence[str]
) -> Begun:
    """Read a call that changes files, or the one that is open in an editor."""
    run = Run(EDIT, (changes[0].path,) if changes else ())
    written = next((text for key in _CONTENTS if isinstance(text := values.get(key), str)), "")
    is_whole = edit_in(values) == [] and _ADDS.isdisjoint(words)
    outline = written_outline(written) if is_whole else ""
    changes = tuple(change._replace(is_whole=True) for change in changes) if is_whole and written else changes
    documents = {change.path: written for change in changes[:1] if is_whole and written}
    return Begun(
        head, verb, run, (run,), changes=changes, undoes="undo" in words, outline=outline,
        scripts=scripts_in(documents.items()), edits=_edits(values), documents=documents,
    )  # fmt: skip


def _edits(values: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """The lines that a call of an editing tool removes and adds, by file, or of its only file under no name."""
    if patch := _patch_in(values):
        return patch_changes(patch)
    by_file: dict[str, list[str]] = {}
    for each in (each for name in _MANY for each in objects_in(values.get(name))):
        for path in [*_path_values(each)][:1]:
            by_file.setdefault(path, []).extend(changes_in(each))
    if by_file:
        return by_file
    changed = changes_in(values) or _inserted(values)
    return {"": changed} if changed else {}


def _inserted(values: Mapping[str, Any]) -> list[str]:
    """The lines that a call puts at a place given by its number."""
    if not any(key.replace("_", "").lower() in _NUMBERS and isinstance(values[key], int) for key in values):
        return []
    return edited_lines("", next((value for key in _INSERTED if isinstance(value := values.get(key), str)), ""))


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
    first = command.split(maxsplit=1)[:1]
    if first and first[0] in _EDITOR_COMMANDS and "\n" in command and "end_of_" in command[-40:]:
        words, _, text = command.rpartition("end_of_")[0].partition("\n")
        line, in_editor = [Simple(tuple(words.split()))], {"": edited_lines("", text)}
    else:
        line, in_editor = read_command(command), dict[str, list[str]]()
    main, last = main_of(line), last_run(line)
    verb = one_line(program_of(main), _NAME_CHARS) if main is not None else "shell"
    changes = tuple(dict.fromkeys(change for simple in line for change in changes_of(simple)))
    runs = tuple(runs_of(line))
    run = run_of(last) if last is not None else Run(verb, (one_line(command, HEAD_CHARS),))
    looks = bool(line) and all(program_of(simple) in READERS for simple in line) and not changes
    read = tuple(one_line(each, HEAD_CHARS) for each in reads_of(line))
    if (
        main is not None
        and main.program == "open"
        and (named := [word for word in main.words[1:] if is_file_name(word)])
    ):
        read = tuple(named[:1])
    outline = next((written_outline(simple.document) for simple in line if simple.written and simple.document), "")
    head = command_head(command, EDIT_CHARS if changes else HEAD_CHARS)
    return Begun(
        head, verb or "shell", run, runs, tuple(line), changes, read, looks,
        outline=outline, scripts=scripts_in((path, simple.document) for simple in line for path in simple.written),
        edits=edits_of(line) if changes else in_editor, documents=documents_of(line), shows_whole=_shows_whole(line),
        may_miss=any(PYTHON.fullmatch(simple.program) or simple.program in SED for simple in line),
    )  # fmt: skip


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


def changed_by(begun: Begun, outcome: str, result: str) -> tuple[Change, ...]:
    """The files that a call has changed, now that its result is known."""
    if begun.line is None:
        if outcome:
            return ()
        return begun.changes or (_in_editor(result) if begun.run.program == EDIT else ())
    done = done_by(begun.line, outcome, result)
    if done == begun.line:
        return begun.changes or _by_output(begun, result)
    return tuple(dict.fromkeys(change for simple in done for change in changes_of(simple)))


def _shows_whole(line: Sequence[Simple]) -> bool:
    """Whether all that a command does is to print one file."""
    programs = [simple for simple in line if simple.program != "cd"]
    return len(programs) == 1 and programs[0].program in ("cat", "nl", "bat") and not programs[0].written


def _by_output(begun: Begun, result: str) -> tuple[Change, ...]:
    if begun.verb == "create" and (named := [word for word in begun.run.targets if is_file_name(word)]):
        return (Change(named[0]),)
    if begun.verb in _EDITOR_COMMANDS:
        return _in_editor(result)
    if begun.verb == "git clean":
        return tuple(Change(name, is_removed=True) for name in re.findall(r"^Removing ([^\n]+)$", result, re.MULTILINE))
    if begun.verb in ("patch", "git apply"):
        return tuple(Change(name) for name in re.findall(r"^patching file '?([^'\n]+)", result, re.MULTILINE))
    return ()


def _in_editor(result: str) -> tuple[Change, ...]:
    found = _OPEN_FILE.search(result[-2_000:])
    if found is None or found[1] == "n/a":
        return ()
    path = found[1].removeprefix(f"{found[2]}/") if found[2] else found[1]
    return (Change(path),) if is_file_name(path) else ()


def _changed(tool: str, values: Mapping[str, Any]) -> list[str]:
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
