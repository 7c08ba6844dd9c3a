"""What is the same in every test is made once a process: a new database, descriptions of tools, parsed style sheets,
prices of models, the code that another host gets.

Each is made by the code that makes it for a user; the next time it is taken from where the first was kept.
So is the table of characters that drawn tests begin with.
"""

import json
import marshal
import sqlite3
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

from genai_prices.types import Provider as PricedProvider
from hypothesis.internal import charmap
from hypothesis.internal.intervalsets import IntervalSet
from pydantic_ai import _function_schema
from textual.css.stylesheet import Stylesheet

from co_tui.kept_file import file_lock
from co_tui.session.workplace.host import link, sent_program
from co_tui.store.sqlite import migrations
from tests.support.messages_once import look_up_once
from tests.support.styles_once import style_once

_migrate = migrations.migrate
_create_schema = migrations.create_schema
_copying = threading.Lock()
_parse = Stylesheet._parse_rules
_parse_all = Stylesheet.parse
_describe = _function_schema.function_schema
_find_model = PricedProvider.find_model
_characters_of = charmap.intervals_from_codec
_UTF_8 = IntervalSet([(0, 0xD7FF), (0xE000, 0x10FFFF)]), IntervalSet([])
"""All characters but surrogates; none is read as another one. Trying each takes seconds."""
_sent_modules, _boot = sent_program.sent_modules, sent_program._BOOT
_READ_SOURCES = "sent = json.loads(zlib.decompress(sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))))"
_READ_CODE = """
import marshal
version, code, sources = marshal.loads(zlib.decompress(sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))))
sent = sources
if version == importlib.util.MAGIC_NUMBER:
    sent = marshal.loads(code)
    compile = lambda code, *_: code
"""
_VARIABLES, _WRAPPED = "_variables_as_key", "__wrapped__"
_rules: dict[Any, Any] = {}
_sheets: dict[Any, list[Any]] = {}
_described: dict[Any, Any] = {}
_models: dict[Any, Any] = {}


def make_once(*, now: bool = False) -> None:
    """From here on; with `now`, what takes longest is there for all processes that are forked from this one."""
    if now:
        _new_database()
    migrations.migrate = _migrate_or_copy
    migrations.create_schema = _create_or_copy
    Stylesheet._parse_rules = _parse_once
    Stylesheet.parse = _parse_all_once
    style_once()
    look_up_once()
    _function_schema.function_schema = _describe_once
    PricedProvider.find_model = _find_model_once
    assert _READ_SOURCES in _boot
    sent_program._BOOT = _boot.replace(_READ_SOURCES, _READ_CODE)
    link.sent_modules = sent_program.sent_modules = sent_code
    charmap.intervals_from_codec = lambda name: _UTF_8 if name == "utf-8" else _characters_of(name)


def _migrate_or_copy(connection: sqlite3.Connection, path: Path, *how: Any) -> None:
    made = _new_database()
    with file_lock(path.with_name(f"{path.name}.migrate")):
        if path.stat().st_size == 0:
            path.write_bytes(made)
            return
    _migrate(connection, path, *how)


@cache
def _new_database() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "new.db"
        connection = sqlite3.connect(file, isolation_level=None)
        _migrate(connection, file)
        connection.close()
        return file.read_bytes()


def _create_or_copy(connection: sqlite3.Connection) -> None:
    """A database in memory is copied; a file gets the steps that it lacks."""
    if connection.execute("PRAGMA database_list").fetchone()[2]:
        _create_schema(connection)
        return
    with _copying:
        _new_in_memory().backup(connection)


@cache
def _new_in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _create_schema(connection)
    return connection


def _parse_once(sheet: Stylesheet, css: str, *place: Any, **more: Any) -> Any:
    key = (css, place, frozenset(more.items()), _variables_of(sheet))
    if key not in _rules:
        _rules[key] = _parse(sheet, css, *place, **more)
    return _rules[key]


def _parse_all_once(sheet: Stylesheet) -> None:
    key = (tuple(sheet.source.items()), frozenset(sheet._invalid_css), _variables_of(sheet))
    if key not in _sheets:
        _parse_all(sheet)
        assert sheet._rules is not None
        _sheets[key] = sheet._rules
    sheet._rules, sheet._rules_map, sheet._require_parse = _sheets[key], None, False


def _variables_of(sheet: Stylesheet) -> frozenset[Any]:
    """Hashed once a sheet: it has hundreds, and each of its parts is looked up under them."""
    kept = vars(sheet).get(_VARIABLES)
    if kept is None or kept[0] is not sheet._variables:
        kept = vars(sheet)[_VARIABLES] = sheet._variables, frozenset(sheet._variables.items())
    variables: frozenset[Any] = kept[1]
    return variables


def _describe_once(function: Callable[..., Any], *generator: Any, **more: Any) -> Any:
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType) or set(vars(plain)) - {_WRAPPED}:
        return _describe(function, *generator, **more)
    key = (_looks_of(plain), function is plain, generator, frozenset(more.items()))
    if key not in _described:
        made = _describe(function, *generator, **more)
        _described[key] = made, json.dumps(made.json_schema), json.dumps(made.return_schema)
    known, schema, return_schema = _described[key]
    return replace(known, function=function, json_schema=json.loads(schema), return_schema=json.loads(return_schema))


def _find_model_once(provider: PricedProvider, name: str, *, all_providers: Any = None) -> Any:
    key = (id(provider), name, all_providers is None)
    if key not in _models:
        _models[key] = provider, _find_model(provider, name, all_providers=all_providers)
    return _models[key][1]


@cache
def sent_code() -> bytes:
    """The program for another host, compiled: the one of the tests has the same Python."""
    sources = json.loads(zlib.decompress(_sent_modules().partition(b"\n")[2]))
    code = {name: compile(text, name, "exec") for name, text in sources.items()}
    data = zlib.compress(marshal.dumps((MAGIC_NUMBER, marshal.dumps(code), sources), 4), 1)
    return b"%d\n%s" % (len(data), data)


def _looks_of(function: FunctionType) -> object:
    """All that a description is made from."""
    code = function.__code__
    names = code.co_filename, code.co_firstlineno, function.__name__, function.__doc__
    wrapped = vars(function).get(_WRAPPED)
    return (
        names,
        repr(function.__annotations__),
        repr((function.__defaults__, function.__kwdefaults__)),
        _looks_of(wrapped) if isinstance(wrapped, FunctionType) else wrapped,
    )
