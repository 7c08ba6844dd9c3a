"""What each layer may load: the first paint and the command line stay light. Nothing imports itself by a detour."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

HEAVY = (
    "pydantic",
    "pydantic_core",
    "pydantic_ai",
    "openai",
    "anthropic",
    "google",
    "httpx",
    "httpx2",
    "sqlite_utils",
    "textual",
    "tomlkit",
    "mcp",
    "fastmcp",
    "aiohttp",
    "textual_serve",
    "PIL",
    "pathspec",
    "regex",
    "keyring",
    "trafilatura",
    "lxml",
)


@cache
def modules_loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded_by(module: str) -> set[str]:
    return {name.partition(".")[0] for name in modules_loaded_by(module)}


LIGHT = (
    "co_tui.events",
    "co_tui.events.stored_messages",
    "co_tui.store.port",
    "co_tui.store.sqlite.in_memory",
    "co_tui.store.sqlite.store",
    "co_tui.store.sqlite.reader",
    "co_tui.store.sqlite.writer",
    "co_tui.settings",
    "co_tui.cli",
    "co_tui.cli.commands",
    "co_tui.session.state.session_state",
    "co_tui.session.approvals.questions",
    "co_tui.session.file_references",
    "co_tui.session.state.derive",
    "co_tui.agent.models.catalogue",
    "co_tui.headless.sessions.show_command",
    "co_tui.headless.sessions.export_command",
)


def test_light_modules_load_nothing_heavy() -> None:
    """All in one process; only when something heavy is loaded, each is asked for by itself."""
    if not loaded_by(", ".join(LIGHT)).isdisjoint(HEAVY):
        found = {module: loaded_by(module) & {*HEAVY} for module in LIGHT}
        pytest.fail(str({module: heavy for module, heavy in found.items() if heavy}))


def test_the_first_paint_loads_textual_and_nothing_else_that_is_heavy() -> None:
    loaded = loaded_by("co_tui.ui.app")
    assert "textual" in loaded
    assert loaded.isdisjoint({*HEAVY, "markdown_it", "pygments"} - {"textual"})


MOST_OWN_MODULES = 131
"""Modules of co-tui that an empty chat is painted with. The number may only become smaller."""
START = """
import json, os, sys
from pathlib import Path
from co_tui.ui.heavy_imports import without_palette
with without_palette():
    from co_tui.ui.app import CoTui
from textual.screen import Screen

steps, lay_out, display = [], Screen._refresh_layout, CoTui._display

def laid_out(screen, *given, **named):
    steps.append("layout")
    return lay_out(screen, *given, **named)

def displayed(app, screen, update):
    steps.append("paint")
    return display(app, screen, update)

async def painted(app):
    seen = {"modules": [*sys.modules], "steps": steps, "prompt": app.chat.prompt.text}
    Path(os.environ["SEEN"]).write_text(json.dumps(seen))
    app.exit()

Screen._refresh_layout, CoTui._display, CoTui._painted = laid_out, displayed, painted
from co_tui.__main__ import main
main()
"""
"""The app, which ends after the first paint and writes what it took."""


def test_an_empty_chat_is_painted_at_once_and_with_few_modules(tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    os.write(terminal, b"Z")  # typed while it starts
    seen = tmp_path / "seen.json"
    environ = {**os.environ, "CO_TUI_HOME": str(tmp_path / "home"), "SEEN": str(seen), "TERM": "xterm-256color"}
    command = [sys.executable, "-c", START]
    with subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, env=environ, cwd=tmp_path, start_new_session=True
    ) as app:
        os.close(inside)
        with contextlib.suppress(OSError):  # on Linux, the end of the output
            while os.read(terminal, 65_536):
                pass
    os.close(terminal)
    assert app.returncode == 0
    found = json.loads(seen.read_text())
    assert found["prompt"] == "Z"
    assert found["steps"].index("paint") == 1, "one layout, then the first paint"
    assert {"textual.command", "tree_sitter", "hashlib", "tomllib", "argparse"}.isdisjoint(found["modules"])
    own = [name for name in found["modules"] if name.partition(".")[0] == "co_tui"]
    assert len(own) <= MOST_OWN_MODULES, " ".join(own)


def test_help_needs_no_settings_and_a_list_of_sessions_no_event_loop() -> None:
    assert not [name for name in modules_loaded_by("co_tui.cli.arguments, co_tui.cli") if "settings" in name]
    listing = "co_tui.cli.settled, co_tui.session.workplace.here.local_workplace, co_tui.cli.commands"
    assert "asyncio" not in modules_loaded_by(f"{listing}, co_tui.headless.sessions.sessions_command")
    assert "asyncio" not in modules_loaded_by(f"{listing}, co_tui.headless.sessions.show_command")


def test_the_list_of_models_opens_without_what_fills_it() -> None:
    assert loaded_by("co_tui.ui.models.models_screen").isdisjoint({*HEAVY} - {"textual"})


def test_the_first_paint_knows_the_table_of_commands_but_none_of_them() -> None:
    loaded = modules_loaded_by("co_tui.ui.app")
    assert "co_tui.ui.keys.command_table" in loaded
    later = (
        "co_tui.ui.commands",
        "co_tui.ui.commands.host",
        "co_tui.ui.chat.deferred_widgets",
        "co_tui.ui.gauge.gauge_widget",
    )
    assert not [name for name in loaded if name.startswith(later)]


def test_importers_are_loaded_when_a_file_is_read() -> None:
    programs = "co_tui.exchange.importers.programs."
    assert not [name for name in modules_loaded_by("co_tui.exchange.importers") if name.startswith(programs)]


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports for type checking count, too."""
    graph = grimp.build_graph("co_tui", cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {' → '.join(reversed(error.args[1]))}")
