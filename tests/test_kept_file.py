"""Small files that several processes change: no saved change is lost, and what cannot be read is not overwritten."""

import errno
import os
import random
import stat
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.keys.key_servers import KeyOwner
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.paths import Paths, locate
from co_tui.session.approvals.kept_approvals import KeptApprovals
from co_tui.session.approvals.marks import Marks
from co_tui.session.history.learned_limits import LIMITS_FILE, Limits
from co_tui.settings import SettingsError, load
from co_tui.settings.permission_rules import parse_rule
from co_tui.settings.writing import add_permission, add_server, write
from co_tui.store.learned_numbers import LearnedNumbers
from co_tui.trust import Trust, TrustRequest
from co_tui.ui.models.model_list import RecentModels
from co_tui.ui.terminal.terminal_facts import KnownTerminals
from tests.support.forked import forked
from tests.support.long_run import drawn
from tests.support.waiting import PATIENCE_S

CHANGES = drawn(12)
"""By each process."""


def key_owner(name: str) -> KeyOwner:
    return KeyOwner("openai", f"https://{name}.example")


def trust_request(name: str) -> TrustRequest:
    return TrustRequest(file=Path(f"/{name}/.co-tui.toml"), requested={"model": "openai:x"})


def approvals(paths: Paths) -> KeptApprovals:
    return KeptApprovals(paths.state / "approvals.json", Path("/shop"), Marks(paths.machine_key))


def terminal(paths: Paths, name: str) -> KnownTerminals:
    return KnownTerminals(paths, {"TERM": name})


class Kind:
    """A kept file: how a process changes it, and what it holds."""

    def __init__(self, file: str, change: Callable[[Paths, str], object], names: Callable[[Paths], object]) -> None:
        self.file, self.change, self.names = file, change, names


KINDS: Mapping[str, Kind] = {
    "rules": Kind(
        "config/config.toml",
        lambda paths, name: add_permission("allow", f"Bash({name}:*)", paths),
        lambda paths: {each.rule.pattern.removesuffix(":*") for each in settings_of(paths).permissions},
    ),
    "servers": Kind(
        "config/config.toml",
        lambda paths, name: add_server(name, "https://mcp.example", paths),
        lambda paths: set(settings_of(paths).mcp_servers),
    ),
    "action keys": Kind(
        "config/config.toml",
        lambda paths, name: write("keys.compact", "f5", paths) and add_server(name, "https://mcp.example", paths),
        lambda paths: set(settings_of(paths).mcp_servers),
    ),
    "keys": Kind(
        "state/keys.json",
        lambda paths, name: KeptKeys(paths).keep(key_owner(name), "sk-made-up-0123456789"),
        lambda paths: {each.host.removesuffix(".example") for each in KeptKeys(paths).all()},
    ),
    "trust": Kind(
        "state/trust.json",
        lambda paths, name: Trust(paths.trust_file).remember(trust_request(name), trusted=True),
        lambda paths: {folder.strip("/") for folder in Trust(paths.trust_file).folders()},
    ),
    "approvals": Kind(
        "state/approvals.json",
        lambda paths, name: approvals(paths).add(parse_rule(f"Bash({name}:*)")),
        lambda paths: {rule.pattern.partition(",")[0] for rule in approvals(paths).rules()},
    ),
    "numbers": Kind(
        "state/hints.json",
        lambda paths, name: LearnedNumbers(paths.hints).put(name, 1.0),
        lambda paths: {name for name in NAMES if LearnedNumbers(paths.hints).get(name)},
    ),
    "limits": Kind(
        "state/learnt-limits.json",
        lambda paths, name: Limits(paths.state / LIMITS_FILE).learn(RequestTarget(name), 5_000),
        lambda paths: set(Limits(paths.state / LIMITS_FILE).all()),
    ),
    "terminals": Kind(
        "state/terminals.json",
        lambda paths, name: terminal(paths, name).note(dark=True),
        lambda paths: {name for name in NAMES if terminal(paths, name).is_dark()},
    ),
    "models": Kind(
        "state/recent-models.json",
        lambda paths, name: RecentModels(paths).note(f"openai:{name}"),
        lambda paths: {model.removeprefix("openai:") for model in RecentModels(paths).read()},
    ),
}
MOST = {"servers": 30, "action keys": 30, "terminals": 20, "models": 8}
"""How many such a file holds at most."""
NAMES = ["old", "new", *(f"{writer}{number}" for writer in "abc" for number in range(max(CHANGES, 100)))]


def settings_of(paths: Paths) -> Any:
    loaded = load(paths=paths, cwd=paths.config, environ={})
    assert loaded.problems == ()
    return loaded.settings


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(tmp_path / "home")})


def change_often(kind: str, paths: Paths, writer: str, count: int, saved: Connection) -> None:
    """Report each change once it is saved."""
    saved.send("")
    saved.recv()  # all begin at once
    for number in range(count):
        KINDS[kind].change(paths, f"{writer}{number}")
        saved.send(f"{writer}{number}")


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_processes_saved_is_in_the_file(paths: Paths, kind: str) -> None:
    """Two change it to their end, one is killed in the middle of a change."""
    processes, draw = forked(), random.Random(kind)
    counts = {writer: min(CHANGES, MOST.get(kind, CHANGES * 2) // 2) for writer in "ab"}
    killed_after = {} if kind in MOST else {"c": draw.randrange(1, 6)}
    pipes: dict[Connection, str] = {}
    running = {}
    for writer, count in {**counts, **dict.fromkeys(killed_after, 100)}.items():
        ours, theirs = processes.Pipe()
        running[writer] = processes.Process(target=change_often, args=(kind, paths, writer, count, theirs))
        running[writer].start()
        theirs.close()
        pipes[ours] = writer
    for pipe in pipes:
        assert pipe.poll(PATIENCE_S) and pipe.recv() == ""
    for pipe in pipes:
        pipe.send("begin")
    saved: set[str] = set()
    while pipes:
        for pipe in wait([*pipes]):
            assert isinstance(pipe, Connection)
            try:
                saved.add(name := pipe.recv())
            except (EOFError, OSError):
                del pipes[pipe]
                continue
            if name == f"c{killed_after.get('c')}":
                time.sleep(draw.uniform(0, 0.01))
                running["c"].kill()
    for writer, process in running.items():
        process.join(PATIENCE_S)
        assert process.exitcode == (-9 if writer in killed_after else 0)
    found = KINDS[kind].names(paths)
    assert isinstance(found, set) and not saved - found and len(found - saved) <= len(killed_after)
    file = paths.state.parent / KINDS[kind].file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def failing_change(kind: str, paths: Paths) -> str:
    """What is said about a change that fails; empty where nothing is: it is learned again, or asked again."""
    try:
        KINDS[kind].change(paths, "new")
    except SettingsError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""


SILENT = {"approvals", "numbers", "limits", "terminals", "models"}


@pytest.mark.parametrize("content", [b"{ half", b"[[1, 2]]\xff", b"5", b"x" * 4_000_000])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_cannot_be_read_is_never_overwritten(paths: Paths, kind: str, content: bytes) -> None:
    file = paths.state.parent / KINDS[kind].file
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    said = failing_change(kind, paths)
    assert file.read_bytes() == content
    assert bool(said) == (kind not in SILENT) and (not said or str(file) in said)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_file_as_it_was(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, kind: str, step: str
) -> None:
    KINDS[kind].change(paths, "old")
    file = paths.state.parent / KINDS[kind].file
    before, there = file.read_bytes(), {*file.parent.iterdir()}

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fails)
        said = failing_change(kind, paths)
    assert file.read_bytes() == before and {*file.parent.iterdir()} == there
    assert bool(said) == (kind not in SILENT)
    assert not said or (str(file) in said and os.strerror(errno.ENOSPC) in said)
    KINDS[kind].change(paths, "new")
    assert "new" in (KINDS[kind].names(paths))  # type: ignore[operator]
