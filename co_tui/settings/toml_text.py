"""Change one key in the text of a settings file, leaving everything else as the user wrote it."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Comment, Item, Table

from co_tui.settings.mcp_servers import McpServer


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
        document = tomlkit.parse(text)
        document.remove(key)
    except (TOMLKitError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return document.as_string()


def _with_key(text: str, key: str, value: object, newline: str) -> str:
    document = tomlkit.parse(text)
    top = _above_tables(document)
    if key not in document or key in tomlkit.parse(top):
        # The tables below are not parsed: tomlkit would reorder them.
        tables = text[len(top) :]
        return _with_key_on_top(tomlkit.parse(top), key, value, newline, bool(tables)) + tables
    if document.as_string() != text:
        raise ValueError("its tables are out of order")
    _change(document, key, value, newline)
    return document.as_string()


def _above_tables(document: TOMLDocument) -> str:
    """The text above the first table header."""
    top = tomlkit.document()
    for name, item in document.body:
        if name is not None and isinstance(item, Table | AoT) and not name.is_dotted():
            break
        top.body.append((name, item))
    return top.as_string()


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
        for name in [name for name in current if name not in value]:
            del current[name]
        for name, each in value.items():
            _change(current, name, each, newline)
    elif isinstance(current, Array) and isinstance(value, tuple):
        _change_list(current, value)
    else:
        table[key] = _item(value, newline)


def _change_list(items: Array, value: tuple[object, ...]) -> None:
    del items[len(value) :]
    for index, each in enumerate(value):
        if index == len(items):
            items.append(each)
        elif items[index] != each:
            items[index] = each


def _insert(top: TOMLDocument, key: str, value: object, newline: str, tables_follow: bool) -> None:
    """Insert below the last key; without keys, at the end or above the comments on the first table."""
    body, item = top.body, _item(value, newline)
    position = next((index for index in range(len(body), 0, -1) if body[index - 1][0] is not None), 0)
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
        item = tomlkit.item(list(value) if isinstance(value, tuple) else value)
    item.trivia.trail = newline
    return item


def _plain(value: object) -> object:
    return value.as_table() if isinstance(value, McpServer) else value
