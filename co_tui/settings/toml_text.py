"""Change one key in the text of a settings file, leaving everything else as the user wrote it."""

import re
from collections.abc import Mapping, MutableMapping, Sequence
from difflib import SequenceMatcher
from itertools import dropwhile, takewhile
from typing import Any, Final, NamedTuple, TypeAlias

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Comment, Item, Key, Table

from co_tui.settings.mcp_servers import McpServer

_TOKEN: Final = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'|\#[^\r\n]*|[][{},]|\s+|[^][{},\s\#"']+""",
    re.DOTALL,
)
_COMMENT: Final = re.compile(r"[ \t]*#[^\r\n]*")
_NEW_LINE: Final = re.compile(r"\r?\n[ \t]*\Z")

Body: TypeAlias = list[tuple[Key | None, Item]]
"""The parts of a document or table, in order; comments and blanks have no key."""


def with_key(text: str, key: str, value: object) -> str:
    """The text with a top-level key set. Raises ValueError when only the user can make that change."""
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = text.endswith("\n") or not text
    try:
        changed = _with_key(text if ended else text + newline, key, value, newline)
    except (TOMLKitError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return changed if ended else changed.removesuffix(newline)


def without_key(text: str, key: str) -> str:
    """The text with a top-level key removed. Raises ValueError when only the user can make that change."""
    try:
        document, kept = tomlkit.parse(text), tomlkit.document()
        for name, item in document.body:
            kept.body.extend(_last_comments(item) if name is not None and name.key == key else [(name, item)])
    except (TOMLKitError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return kept.as_string()


def _last_comments(item: Item) -> Body:
    """The comments at the end of a table, which may be about the next one."""
    if isinstance(item, AoT):
        item = item[-1]
    body = item.value.body if isinstance(item, Table) else []
    end = _end_of_keys(body)
    below = list(dropwhile(lambda each: not isinstance(each[1], Comment), body[end:]))
    return below or (_last_comments(body[end - 1][1]) if end else [])


def _end_of_keys(body: Body) -> int:
    """The position below the last key."""
    return next((index for index in range(len(body), 0, -1) if body[index - 1][0] is not None), 0)


def _with_key(text: str, key: str, value: object, newline: str) -> str:
    document = tomlkit.parse(text)
    head = tomlkit.document()
    head.body.extend(_above_tables(document.body))
    top = head.as_string()
    if key not in document or key in tomlkit.parse(top):
        # The tables below are not parsed: tomlkit would reorder them.
        tables = text[len(top) :]
        return _with_key_on_top(tomlkit.parse(top), key, value, newline, bool(tables)) + tables
    if document.as_string() != text:
        raise ValueError("its tables are out of order")
    _change(document, key, value, newline)
    return document.as_string()


def _above_tables(body: Body) -> Body:
    """What is above the first table header."""

    def is_table(name: Key | None, item: Item) -> bool:
        return name is not None and isinstance(item, Table | AoT) and not name.is_dotted()

    return list(takewhile(lambda each: not is_table(*each), body))


def _with_key_on_top(top: TOMLDocument, key: str, value: object, newline: str, tables_follow: bool) -> str:
    if key in top:
        _change(top, key, value, newline)
    if key not in tomlkit.parse(top.as_string()):  # new, or a dotted key of which nothing is left
        _insert(top, key, value, newline, tables_follow)
    return top.as_string()


def _change(table: Any, key: str, value: object, newline: str) -> None:
    """Change tables and lists item by item, so that comments on other items stay."""
    current, value = table.get(key), _plain(value)
    if isinstance(current, MutableMapping) and isinstance(value, Mapping):
        _change_table(current, value, newline)
    elif isinstance(current, Array) and isinstance(value, list):
        sources = [_item(each, "").as_string() for each in value]
        table[key] = tomlkit.value(changed_list(current.as_string(), current.unwrap(), value, sources))
    elif repr(current.unwrap() if isinstance(current, Item) else current) != repr(value):
        table[key] = _item(value, newline)


def _change_table(table: Any, value: Mapping[str, object], newline: str) -> None:
    for name in [name for name in table if name not in value]:
        del table[name]
    for name in [name for name in value if name in table]:
        _change(table, name, value[name], newline)
    for name in [name for name in value if name not in table]:
        item = _item(value[name], newline)
        if isinstance(table, Table) and not table.is_super_table():
            body = table.value.body  # tomlkit would append it below the comments on the next table
            body.insert(_end_of_keys(_above_tables(body)), (tomlkit.key(name), item))
        else:
            table[name] = item


def _insert(top: TOMLDocument, key: str, value: object, newline: str, tables_follow: bool) -> None:
    """Insert below the last key; without keys, at the end or above the comments on the first table."""
    body, item = top.body, _item(value, newline)
    position = _end_of_keys(body)
    if not position:
        position = len(body)
        if tables_follow:
            while position and isinstance(body[position - 1][1], Comment):
                position -= 1
            item.trivia.trail = newline * 2
    body.insert(position, (tomlkit.key(key), item))


def _item(value: object, newline: str) -> Item:
    value = _plain(value)
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update({name: _item(each, "") for name, each in value.items()})
        item: Item = table
    else:
        item = tomlkit.item(value)
    item.trivia.trail = newline
    return item


def _plain(value: object) -> object:
    """The value in dictionaries and lists."""
    if isinstance(value, McpServer):
        value = value.as_table()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


class _Element(NamedTuple):
    before: str
    """Blanks, and comments on lines of their own."""
    source: str
    gap: str = ""
    """What is before its comma."""
    comment: str = ""
    """On the same line."""


def changed_list(text: str, old: Sequence[object], new: Sequence[object], sources: Sequence[str]) -> str:
    """The text of the list `old`, changed to `new`, whose elements are written as `sources`."""
    elements, tail, ends_in_comma = _list_elements(text[1:-1])
    result: list[_Element] = []
    removed: str | None = None
    steps = SequenceMatcher(None, list(map(repr, old)), list(map(repr, new)), autojunk=False).get_opcodes()
    for step, first, last, start, end in steps:
        kept = min(last - first, end - start)
        for each, source in zip(elements[first:last], sources[start:end], strict=False):
            source = each.source if step == "equal" else source
            result.append(each._replace(before=_following(removed, each.before), source=source))
            removed = None
        for each in elements[first + kept : last]:
            removed = _following(removed, each.before) + each.gap
        for source in sources[start + kept : end]:
            result.append(_Element(_layout(text, elements, result), source))
    if removed is not None and ("#" in removed or (result and result[-1].comment)):  # a comment ends its line
        tail = _following(removed, tail)
    return f"[{_list_text(result, ends_in_comma=ends_in_comma)}{tail}]"


def _list_elements(inner: str) -> tuple[list[_Element], str, bool]:
    """The elements of a list, the text after the last one, and whether that has a comma."""
    elements: list[_Element] = []
    before = source = gap = ""
    depth = 0
    for token in _TOKEN.findall(inner):
        if depth or not (token == "," or token.isspace() or token.startswith("#")):
            depth += (token in "[{") - (token in "]}")
            source, gap = source + gap + token, ""
        elif token == ",":
            elements.append(_Element(before, source, gap))
            before = source = gap = ""
        elif source:
            gap += token
        elif elements and not elements[-1].comment and (comment := _COMMENT.fullmatch(before + token)):
            elements[-1], before = elements[-1]._replace(comment=comment[0]), ""
        else:
            before += token
    if not source:
        return elements, before, bool(elements)
    comment = _COMMENT.match(gap)
    elements.append(_Element(before, source, comment=comment[0] if comment else ""))
    return elements, gap[comment.end() :] if comment else gap, False


def _following(removed: str | None, before: str) -> str:
    """What comes before an element, with the comments above a removed one."""
    if removed is None:
        return before
    if "\n" not in before:
        return removed
    return (removed.rstrip() if "#" in removed else "") + before


def _layout(text: str, elements: Sequence[_Element], result: Sequence[_Element]) -> str:
    """What comes before a new element: a new line, if the one before it has its own."""
    model = result[-1] if result else elements[0] if elements else None
    if model is None:
        return ""
    line = _NEW_LINE.search(model.before)
    if line is None and result and model.comment:
        return "\r\n  " if "\r\n" in text else "\n  "
    return line[0] if line else " " if result else ""


def _list_text(elements: Sequence[_Element], *, ends_in_comma: bool) -> str:
    written = ""
    for number, each in enumerate(elements, 1):
        comma = "," if number < len(elements) or ends_in_comma else ""
        written += f"{each.before}{each.source}{each.gap}{comma}{each.comment}"
    return written
