"""What the programs of a shell command change in files, as lines removed and added."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from co_tui.context.journal.net_changes import GAP, MOST_LINES, edit_of, net, patch_changes
from co_tui.context.journal.shell_files import (
    NOT_APPLIED,
    base_name,
    edited_in_place,
    inline_code,
    patch_of,
    written_by,
)
from co_tui.context.memory.unwrap import edited_lines
from co_tui.late_pattern import late_pattern
from co_tui.shell.programs import PYTHON, Simple, arguments, is_file_name

MOST_WRITTEN: Final = 50
"""Files of a script that are known."""
_READ_CHARS: Final = 10_000
"""Of a script: replacements in it are looked for in so much."""
_QUOTED = r"\"\"\"((?:[^\\]|\\.)*?)\"\"\"|'''((?:[^\\]|\\.)*?)'''|\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'"
_TEXT = rf"(?>([rf]{{0,2}})(?:{_QUOTED}))"  # else the ends of unfinished texts are looked for again and again
_ASSIGNED: Final = late_pattern(rf"^[ \t]*(\w+) = \(?\s*{_TEXT}", re.MULTILINE | re.DOTALL)
_APPENDED: Final = late_pattern(rf"^[ \t]*(\w+) = (\w+) \+ \(?\s*{_TEXT}", re.MULTILINE | re.DOTALL)
"""A text that a script puts behind one that it found."""
_REPLACED: Final = late_pattern(rf"(\.replace|\bre\.sub)\(\s*(?:{_TEXT}|(\w+)),\s*(?:{_TEXT}|(\w+))\s*[,)]", re.DOTALL)
_PUT: Final = late_pattern(
    rf"\b(?:\w*lines?|new\w*|out\w*|content\w*|result\w*)\.(?:append|insert)"
    rf"\((?:[^\n'\"]{{0,40}}(?:' +')?[^\n'\"]{{0,20}}[,+])?\s*{_TEXT}\s*\)"
)
"""A line that is put among others."""
_PRINTED: Final = late_pattern(r"print\(\s*f?(?:\"([^\"\n{]{4,})|'([^'\n{]{4,}))")
_MISSED: Final = late_pattern(
    r"not found|no match|not there|not present|could ?n[o']t|did ?n[o']t|unable|failed|missing|no change|nothing", re.I
)
_PATTERN: Final = re.compile(r"\\[(.sdw]|\.\*|\(\?")
"""What a regular expression has and no text that is replaced word for word."""
_IN_PATTERN: Final = re.compile(r"\\[a-zA-Z0-9]|(?<!\\)[$*+?{}()|\[^]")
"""What makes a regular expression more than a text with escapes."""
_GROUP: Final = re.compile(r"\\(?:[0-9]|g<\w+>)")
_GROUP_FIRST: Final = re.compile(r"^(?:\\(?:[0-9]|g<\w+>))+(?=[\w\s]|\Z)", re.MULTILINE)
_LONG_CHARS: Final = 20
"""A shorter text that replaces what a pattern finds may be for something else than the file."""
_INDENT: Final = re.compile(r"^\{\w*(?:indent|space)\w*\}", re.MULTILINE)
_INSERTED: Final = re.compile(r"new|insert|add|repl|code|method|propert|fix")
_ESCAPED: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "\n": ""}
_REVERSED: Final = frozenset(("-R", "--reverse"))
SED: Final = frozenset(("sed", "gsed"))
_LINE: Final = r"(?:\d++|\$|/(?:[^/\\\n]|\\.)*+/)"
_SED: Final = late_pattern(
    rf"[;\s]*+(?:{_LINE}(?:,\+?{_LINE})?)?[ \t]*+"
    r"(?:s(?P<sign>[^\w\s\\])(?P<old>(?:(?!(?P=sign))[^\\\n]|\\.)*)(?P=sign)"
    r"(?P<new>(?:(?!(?P=sign))[^\\]|\\.)*)(?P=sign)[gpiI\d]*+"
    r"|[aic][ \t]*+(?:\\\n?)?+(?P<text>(?:[^\\\n]|\\.)++)|[dpq])(?=[;\s}]|\Z)",
    re.DOTALL,
)
"""A command of `sed`: replacing a text, or adding lines."""
_OPERATORS: Final = late_pattern(r"\\[(){}+?|<>bwWsS\d]|(?<!\\)[*\[]|(?<=[^\\])\^|(?<!\\)\$(?!$)")
_EXTENDED: Final = late_pattern(r"\\[<>bwWsS\d]|(?<!\\)[*\[(){}+?|]|(?<=[^\\])\^|(?<!\\)\$(?!$)")
"""What makes a pattern more than a text; without and with `-E`."""
_TAKES_FOUND: Final = late_pattern(r"\\[\dULEulod]|(?<!\\)&|\$[\w{(]|`")
"""What puts something of the text that was found into the new one, or what the shell knows."""
_SED_ESCAPED: Final = late_pattern(r"\\(?:x([0-9a-fA-F]{2})|(\n|.))", re.DOTALL)
_SED_ESCAPES: Final = {"n": "\n", "t": "\t"}


class Script(NamedTuple):
    """What a Python script does when it is run."""

    files: tuple[str, ...] = ()
    """That it writes."""
    edits: tuple[str, ...] = ()
    """The lines that its replacements remove and add."""
    misses: tuple[str, ...] = ()
    """What it prints if it does not find what it is to replace."""


def scripts_in(written: Iterable[tuple[str, str]]) -> dict[str, Script]:
    """The Python files among written ones, by their names without folders."""
    return {base_name(path): _script(code) for path, code in written if path.endswith(".py")}


def _script(code: str) -> Script:
    files = tuple(islice(filter(is_file_name, dict.fromkeys(written_by(code))), MOST_WRITTEN))
    return Script(files, tuple(replacements_in(code)), misses_in(code)) if files else Script()


def misses_in(code: str) -> tuple[str, ...]:
    """What Python code prints if it does not find what it is to replace, up to the first value in it."""
    return tuple(found[1] or found[2] for found in _PRINTED.finditer(code[:_READ_CHARS]) if _MISSED.search(found[0]))


def replacements_in(code: str) -> list[str]:
    """The lines that Python code removes and adds by replacing texts, as far as it has both; else new texts in it."""
    code = code[:_READ_CHARS]
    named = {found[1]: _text(found.groups()[1:]) for found in _ASSIGNED.finditer(code)}
    appended = {found[2]: (found[1], _text(found.groups()[2:])) for found in _APPENDED.finditer(code)}
    changed: list[str] = []
    for found in _REPLACED.finditer(code):
        given = (found.groups()[1:7], found.groups()[7:])
        old, new = (named.get(part[5]) if part[5] else _text(part) for part in given)
        name, text = appended.get(given[0][5] or "", ("", ""))
        if name and name == given[1][5]:
            changed += edited_lines("", text)
        elif old is not None and new is not None and old.strip():
            changed += _lines_of(old, new) if found[1] == ".replace" else _lines_found(old, new)
            if len(changed) > MOST_LINES:
                break
    inserted = [text for name, text in named.items() if _INSERTED.search(name) and text.count("\n") > 1]
    inserted.append("\n".join(_text(found.groups()).strip("\n") for found in _PUT.finditer(code)))
    return (changed or [line for text in inserted for line in edited_lines("", text)])[:MOST_LINES]


def _lines_of(old: str, new: str) -> list[str]:
    return [] if _PATTERN.search(old) else edited_lines(old, new)


def _lines_found(pattern: str, new: str) -> list[str]:
    """The lines that replacing what a pattern finds removes and adds; if it is more than a text, only the added."""
    group = pattern[1:-1] if pattern[0] == "(" and pattern[-1] == ")" else ""
    if not _IN_PATTERN.search(group or pattern):
        old = _unescaped(group or pattern)
        return edited_lines(old, _unescaped(_GROUP.sub(lambda _: group or GAP, new)))
    added = _unescaped(_GROUP.sub(GAP, _GROUP_FIRST.sub("", new)))
    return edited_lines("", added) if "\n" in added.strip() or len(added.strip()) >= _LONG_CHARS else []


def _text(groups: Sequence[str | None]) -> str:
    """A text as Python code writes it: whether it is raw, then what is between the quotes of one kind."""
    kind, written = groups[0] or "", next((text for text in groups[1:5] if text is not None), "")
    if "f" in kind:
        written = _INDENT.sub("", written)
    return written if "r" in kind else _unescaped(written)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


def script_run_by(simple: Simple) -> str:
    """The name of the Python file that a program runs, without its folder; empty if it runs none."""
    named = arguments(simple, "-W", "-X") if PYTHON.fullmatch(simple.program) else []
    return base_name(named[0]) if named else ""


def edits_of(line: Iterable[Simple]) -> dict[str, list[str]]:
    """The lines that the programs of a command remove and add, by file; of Python code under no name."""
    found: dict[str, list[list[str]]] = {}
    for simple in line:
        if not simple.is_sure:
            continue
        if PYTHON.fullmatch(simple.program):
            code = inline_code(simple)
            if written := {path for path in written_by(code) if is_file_name(path)}:
                found.setdefault(written.pop() if len(written) == 1 else "", []).append(replacements_in(code))
        elif not simple.written and _applies(simple):
            found |= {path: [lines] for path, lines in patch_changes(patch_of(simple)).items()}
        for path in simple.appended if simple.document else ():
            found.setdefault(path, []).append(edited_lines("", simple.document)[:MOST_LINES])
        for path, lines in _sed_edits(simple).items():
            found.setdefault(path, []).append(lines)
    return {
        path: groups[0] if len(groups) == 1 else [*chain(*net(map(edit_of, groups)))] for path, groups in found.items()
    }


def documents_of(line: Iterable[Simple]) -> dict[str, str]:
    """The texts that a command writes as whole files."""
    return {
        path: simple.document
        for simple in line
        if simple.program == "cat" and simple.document and simple.is_sure
        for path in simple.written
        if path not in simple.appended
    }


def _sed_edits(simple: Simple) -> dict[str, list[str]]:
    if simple.program not in SED:
        return {}
    told = edited_in_place(simple)
    operators = _EXTENDED if told.is_extended else _OPERATORS
    lines = [line for script in told.scripts for line in _sed_changes(script[:_READ_CHARS], operators)][:MOST_LINES]
    return dict.fromkeys(told.files, lines) if lines else {}


def _sed_changes(script: str, operators: re.Pattern[str]) -> Iterator[str]:
    """What the commands of a script replace or add word for word, up to one that cannot be read."""
    at = 0
    while found := _SED.match(script, at):
        at = found.end()
        old, new = found["old"], found["new"]
        if found["text"]:
            yield from edited_lines("", _of_sed(found["text"]))
        elif old and old not in "^$" and not operators.search(old) and not _TAKES_FOUND.search(new):
            yield from edited_lines(_of_sed(old.removeprefix("^").removesuffix("$")), _of_sed(new))


def _of_sed(text: str) -> str:
    """A text of `sed` without its escapes."""
    return _SED_ESCAPED.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _SED_ESCAPES.get(found[2], found[2]), text
    )


def _applies(simple: Simple) -> bool:
    """Whether a program that is given a patch applies it as it is."""
    return not any(word in NOT_APPLIED or word in _REVERSED for word in simple.words)
