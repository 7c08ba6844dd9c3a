"""The text of a settings file with one key changed, and everything else as its user wrote it."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Comment, Item, Table

from co_tui.settings.mcp_servers import McpServer


def with_key(text: str, key: str, value: object) -> str:
    """The text with a top-level key set. Raises ValueError for what only its user can change."""
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = text.endswith("\n") or not text
    try:
        changed = _with_key(text if ended else text + newline, key, value, newline)
    except (TOMLKitError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return changed if ended else changed.removesuffix(newline)


def without_key(text: str, key: str) -> str:
    """The text with a top-level key gone. Raises ValueError for what only its user can change."""
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
        # What follows is not even read: tables that stand in no order would be brought into one.
        tables = text[len(top) :]
        return _with_key_on_top(tomlkit.parse(top), key, value, newline, bool(tables)) + tables
    if document.as_string() != text:
        raise ValueError("its tables stand in no order")
    _change(document, key, value, newline)
    return document.as_string()


def _above_tables(document: TOMLDocument) -> str:
    """The text up to the first table that has a line of its own."""
    top = tomlkit.document()
    for name, item in document.body:
        if name is not None and isinstance(item, Table | AoT) and not name.is_dotted():
            break
        top.body.append((name, item))
    return top.as_string()


def _with_key_on_top(top: TOMLDocument, key: str, value: object, newline: str, tables_follow: bool) -> str:
    if key in top:
        _change(top, key, value, newline)
    if key not in tomlkit.parse(top.as_string()):  # new, or nothing is left of a key with dots
        _insert(top, key, value, newline, tables_follow)
    return top.as_string()


def _change(table: Any, key: str, value: object, newline: str) -> None:
    """Tables and lists are changed one by one, so that what is said about the others stays beside them."""
    present, value = table.get(key), _plain(value)
    if isinstance(present, MutableMapping) and isinstance(value, Mapping):
        for name in [name for name in present if name not in value]:
            del present[name]
        for name, each in value.items():
            _change(present, name, each, newline)
    elif isinstance(present, Array) and isinstance(value, tuple):
        _change_list(present, value)
    else:
        table[key] = _item(value, newline)


def _change_list(present: Array, value: tuple[object, ...]) -> None:
    del present[len(value) :]
    for index, each in enumerate(value):
        if index == len(present):
            present.append(each)
        elif present[index] != each:
            present[index] = each


def _insert(top: TOMLDocument, key: str, value: object, newline: str, tables_follow: bool) -> None:
    """Below the last key; without one at the end, or above the comments on the first table."""
    body, item = top.body, _item(value, newline)
    place = next((index for index in range(len(body), 0, -1) if body[index - 1][0] is not None), 0)
    if not place:
        place = len(body)
        if tables_follow:
            while place and isinstance(body[place - 1][1], Comment):
                place -= 1
            item.trivia.trail = newline * 2
    body.insert(place, (tomlkit.key(key), item))


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
