"""Every sentence people can read, by file: `uv run python -m tests.sentences [PART OF A PATH]`.

Read from the source: string constants and f-strings that are no docstring, pattern, SQL, style sheet or type.
A `…` is where an f-string puts a value.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

ROOT: Final = Path(__file__).parents[1]
Kind: TypeAlias = Literal["notice", "help", "setting", "label", "error", "text"]

NOTICES: Final = {"say", "_say", "notify", "_notify", "note", "_note", "Hint", "_report"}
"""Functions that show a line to people."""
HELP: Final = {"add_argument", "add_parser", "_Parser", "SlashCommand", "KeyAction", "Binding", "KeyHint"}
LABELS: Final = {"Static", "Label", "Button", "Content", "title", "border_title", "placeholder", "label", "tooltip"}
SETTINGS: Final = {"About"}
NOT_FOR_PEOPLE: Final = (
    "agent/delegates.py",  # for the model
    "agent/summariser.py",
    "agent/subconscious.py",
    "agent/titles.py",
    "agent/toolkit.py",
    "session/tools/plan_mode.py",
    "agent/permissions/command_kinds.py",  # commands, options and patterns
    "agent/permissions/reading_commands.py",
    "agent/permissions/reading_tables.py",
    "agent/wire/error_numbers.py",
    "agent/wire/overflow.py",
    "agent/wire/refused_images.py",
    "context/compact/",
    "context/memory/",
    "context/request/",
    "context/board_note.py",
    "context/conversation_text.py",
    "exchange/exporters/html_style.py",
    "store/search/",
    "ui/textual_internals.py",
)
"""What these say goes to the model, or is compared with what others wrote."""
_SKIPPED_CALLS: Final = {"compile", "execute", "executemany", "executescript", "cast", "TypeVar", "query_one", "split"}
_WITHOUT_STRINGS: Final = (ast.Name, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.alias)
_STYLE_SHEETS: Final = {"CSS", "DEFAULT_CSS", "SCHEMA", "HOT_CSS"}
_WORDS: Final = re.compile(r"[A-Za-z][a-z’']+[^A-Za-z]* [^A-Za-z]*[A-Za-z]|…[^…]* ?[a-z]{2}|[a-z]{2}[^…]* ?…")
_ONE_LABEL: Final = re.compile(r"[A-Z][a-z]+…?")
_NOT_WORDS: Final = re.compile(
    r"\\[bdswx]|\(\?|\[\^|\.\*|^\s*<[\w!]|\?mode=|\| ?char\(|[a-z]\|[a-zA-Z]|"
    r"\b(GLOB|LIKE|SELECT|INSERT|UPDATE|DELETE FROM|CREATE|PRAGMA|WHERE|ORDER BY|FROM|JOIN|AND)\b|"
    r"^[\w./:…-]*$|^#[\w-]+ |^\$[\w-]+ |^[\w-]+(\.[\w-]+)+|^\w+\(.*\)$|^--\S+( \S+)?$|^default-src"
)


class Sentence(NamedTuple):
    """What people read, where it is written, and what it is."""

    file: str
    line: int
    kind: Kind
    text: str


def sentences(part: str = "") -> Iterator[Sentence]:
    """All sentences of the files whose path contains the part, in order."""
    for path in sorted((ROOT / "co_tui").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if part in name.removeprefix("co_tui/") and not any(other in name for other in NOT_FOR_PEOPLE):
            yield from in_source(path.read_text(encoding="utf-8"), name)
    for path in sorted((ROOT / "co_tui" / "context" / "policies").glob("*.toml")):
        if part in (name := path.relative_to(ROOT).as_posix()):
            yield Sentence(name, 1, "label", tomllib.loads(path.read_text(encoding="utf-8"))["description"])


def in_source(source: str, name: str) -> list[Sentence]:
    """The sentences of one file."""
    found = [
        Sentence(name, node.lineno, kind, text)
        for node, kind in _strings(ast.parse(source), "text")
        if _is_for_people(text := written(node), kind)
    ]
    return sorted(found, key=lambda each: each.line)


def written(node: ast.Constant | ast.JoinedStr) -> str:
    """The text of a string, with `…` for each value."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)


def _is_for_people(text: str, kind: Kind) -> bool:
    if kind in ("notice", "label", "setting") and _ONE_LABEL.fullmatch(text):
        return True
    return bool(_WORDS.search(text)) and not _NOT_WORDS.search(text)


def _strings(node: ast.AST, kind: Kind) -> Iterator[tuple[ast.Constant | ast.JoinedStr, Kind]]:
    """The strings below a node, without docstrings, types, style sheets, patterns and SQL."""
    match node:
        case ast.Expr(value=ast.Constant() | ast.JoinedStr()) | ast.pattern():
            return
        case ast.JoinedStr():
            yield node, kind
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _strings(part.value, "text")
            return
        case ast.Constant(value=str()):
            yield node, kind
            return
        case ast.Assign(targets=[ast.Name(id=name), *_]) if name in _STYLE_SHEETS:
            return
        case ast.Call(func=func) if _name(func) in _SKIPPED_CALLS:
            yield from _strings(func, kind)
            return
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, _WITHOUT_STRINGS) or field == "returns":
                continue
            if field in ("annotation", "slice"):  # only a setting's `Annotated` holds sentences
                for call in (each for each in ast.walk(child) if isinstance(each, ast.Call)):
                    yield from _strings(call, kind)
            else:
                yield from _strings(child, _kind(node, field, kind))


def _kind(node: ast.AST, field: str, kind: Kind) -> Kind:
    """What a string in this field is, as far as its place says so."""
    if isinstance(node, ast.Raise):
        return "error"
    if isinstance(node, ast.keyword) and (node.arg in LABELS or node.arg == "help"):
        return "help" if node.arg == "help" else "label"
    if isinstance(node, ast.Assign) and any(_name(target) in LABELS for target in node.targets):
        return "label"
    if isinstance(node, ast.Call) and field in ("args", "keywords"):
        name = _name(node.func)
        for names, named in ((NOTICES, "notice"), (HELP, "help"), (SETTINGS, "setting"), (LABELS, "label")):
            if name in names:
                return named  # type: ignore[return-value]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return "text"
    return kind


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _print(part: str) -> None:
    file = ""
    for each in sentences(part):
        if each.file != file:
            file = each.file
            print(f"\n{file}")
        print(
            f"  {each.line:4} {each.kind:7} {each.text!r}"
            if "\n" in each.text
            else f"  {each.line:4} {each.kind:7} {each.text}"
        )


if __name__ == "__main__":
    _print(sys.argv[1] if len(sys.argv) > 1 else "")
