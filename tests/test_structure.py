"""The shape of the code: one kind of record for each purpose, background work through one place."""

import ast
import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
UI = "co_tui.ui."
STARTERS = {"run_worker", "create_task", "ensure_future", "Thread", "run_coroutine_threadsafe", "call_from_thread"}
EXEMPT = {
    f"{UI}background",  # the one place
    f"{UI}signals",  # ends a process whose loop hangs: there is no screen that could say something
}
CALLBACKS = {"call_later", "call_after_refresh", "call_next", "set_timer", "set_interval"}
INTERNALS = f"{UI}textual_internals"
"""The one file with private names of Textual and Rich; `tests/ui/test_textual_internals.py` checks it."""
OTHERS = ("_replace", "_asdict", "_exit")
"""Of named tuples, and of `os`."""
OTHERS_PRIVATE = re.compile(rf"(?<!\bself)(?<!\bcls)(?<!\bsuper\(\))\.(?!({'|'.join(OTHERS)})\b)_[a-z]")


WRITERS = {"write_atomically", "replaced_atomically", "write_text", "write_bytes", "mkstemp", "NamedTemporaryFile"}
WRITE_OTHER_FILES = {
    "co_tui.paths": "has the functions",
    "co_tui.agent.permissions.home_view": "a copy of git's settings without keys, made again when they change",
    "co_tui.kept_file": "the one place for files that several processes change",
    "co_tui.headless.backup_command": "a file that the user names",
    "co_tui.headless.lab_command": "a file that the user names",
    "co_tui.headless.lab_jobs": "files of one run",
    "co_tui.headless.sessions.export_all": "a folder that the user names",
    "co_tui.headless.sessions.export_command": "a file that the user names",
    "co_tui.session.slash.sessions_commands": "a file that the user names",
    "co_tui.ui.prompt.external_editor": "a file for one use",
    "co_tui.exchange.intake.folder_deletions": "a folder that machines share, one file a deletion",
    "co_tui.exchange.backup.restoring": "what a backup holds, under the locks of the kept files",
    "co_tui.headless.web.serve_command": "the key of a port, which one server has",
    "co_tui.headless.acp.editor_folder": "what the agent works on",
    "co_tui.session.tools.folder.session_folder": "what the agent works on",
    "co_tui.session.tools.folder.several_files": "what the agent works on",
    "co_tui.session.workplace.host.program.remote_files": "what the agent works on",
    "co_tui.session.approvals.marks": "the key of this machine, created once by a link",
    "co_tui.session.history.request_scaffold": "a session's folder: it has one writer",
    "co_tui.session.lens.last_viewed": "a session's folder",
    "co_tui.session.snapshots.git_objects": "a session's snapshots",
    "co_tui.session.snapshots.journal": "a session's snapshots",
    "co_tui.session.snapshots.known_files": "a session's snapshots",
    "co_tui.session.snapshots.restore": "a session's snapshots",
    "co_tui.session.synced_files": "a session's folder",
    "co_tui.session.tools.kept_output": "a session's folder",
    "co_tui.session.tools.page_cache": "a session's folder",
    "co_tui.store.notes.checkpoints": "a session's folder",
}
"""Modules that write files, and which; all others change theirs through `KeptFile`."""


class Module(NamedTuple):
    text: str
    tree: ast.Module


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, Module]]:
    """All of ours by name, parsed once."""
    gc.disable()  # a million nodes would be looked at again and again
    try:
        texts = {file: file.read_text(encoding="utf-8") for file in sorted((ROOT / "co_tui").rglob("*.py"))}
        yield {
            ".".join(file.relative_to(ROOT).with_suffix("").parts): Module(text, ast.parse(text))
            for file, text in texts.items()
        }
    finally:
        gc.enable()


def of_the_screen(modules: dict[str, Module]) -> dict[str, Module]:
    return {name: module for name, module in modules.items() if name.startswith(UI)}


def statements(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """All below a node but expressions, with the function or class that each is, or is in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # holds none
        is_named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        below = f"{name}.{child.name}" if is_named else name  # type: ignore[attr-defined]
        yield below, child
        yield from statements(child, below)


def test_an_immutable_record_is_a_named_tuple_or_a_record(modules: dict[str, Module]) -> None:
    frozen = [
        name
        for module, (text, tree) in modules.items()
        if "frozen=" in text
        for name, node in statements(tree, module)
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and any(keyword.arg == "frozen" for keyword in decorator.keywords)
    ]
    assert frozen == [], "NamedTuple for a value, Record for what is stored; @dataclass is for objects that change"


def calls(modules: dict[str, Module], names: set[str]) -> Iterator[tuple[str, str, ast.Call]]:
    """Where each of these is called: the module and line, the name, the call."""
    for module, (text, tree) in modules.items():
        for node in ast.walk(tree) if any(name in text for name in names) else ():
            if isinstance(node, ast.Call) and (name := called(node)) in names:
                yield f"{module}:{node.lineno}", name, node


def called(node: ast.Call) -> str:
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def test_no_module_of_the_screen_starts_work_but_through_the_one_place(modules: dict[str, Module]) -> None:
    screen = {name: module for name, module in of_the_screen(modules).items() if name not in EXEMPT}
    assert [f"{where} {name}" for where, name, _ in calls(screen, STARTERS)] == []
    imported = [
        module
        for module, (_, tree) in screen.items()
        for _, node in statements(tree, "")
        if isinstance(node, ast.ImportFrom) and node.module == "textual" and "work" in {a.name for a in node.names}
    ]
    assert imported == [], "no @work"


def test_nothing_else_writes_the_files_that_several_processes_change(modules: dict[str, Module]) -> None:
    found = {
        name
        for name, (text, tree) in modules.items()
        if any(writer in text for writer in WRITERS)
        for node in ast.walk(tree)
        if {getattr(node, "id", ""), getattr(node, "attr", "")}.intersection(WRITERS)
    }
    assert found == {*WRITE_OTHER_FILES}


def test_no_coroutine_is_called_later_unguarded(modules: dict[str, Module]) -> None:
    screen = of_the_screen(modules)
    defined = [node for _, tree in screen.values() for _, node in statements(tree, "")]
    named = {
        kind: {node.name for node in defined if isinstance(node, kind)}
        for kind in (ast.AsyncFunctionDef, ast.FunctionDef)
    }
    only_asynchronous = named[ast.AsyncFunctionDef] - named[ast.FunctionDef]
    found = [
        f"{where} {each.attr}"
        for where, _, node in calls(screen, CALLBACKS)
        for each in node.args
        if isinstance(each, ast.Attribute) and each.attr in only_asynchronous
    ]
    assert only_asynchronous and found == []


def test_private_names_of_the_libraries_are_used_in_one_file_only(modules: dict[str, Module]) -> None:
    others = {name: module for name, module in of_the_screen(modules).items() if name != INTERNALS}
    found = {name: [*foreign_private_names(*module)] for name, module in others.items()}
    assert len(others) > 100 and {name: used for name, used in found.items() if used} == {}


def foreign_private_names(text: str, tree: ast.Module) -> Iterator[str]:
    """Imported from a library, or read from anything but `self`, `cls` and `super()`."""
    for _, node in statements(tree, ""):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("textual", "rich")):
            yield from (part for part in (node.module or "").split(".") if _is_private(part))
            yield from (alias.name for alias in node.names if _is_private(alias.name))
    for node in ast.walk(tree) if OTHERS_PRIVATE.search(text) else ():
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in OTHERS:
            of = ast.unparse(node.value)
            if of not in ("self", "cls", "super()"):
                yield f"{of}.{node.attr}"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"
