"""`/init` asks the model for AGENTS.md, and the user before an existing one is changed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from co_tui.session.slash.command_host import CommandFailed
from co_tui.session.slash.work_commands import IMPROVE, INIT_PROMPT, init


class Host:
    """The part of the app that the command uses."""

    def __init__(self, folder: Path, works: tuple[str, ...] | None = ("files",), answer: bool = True) -> None:
        self.session = SimpleNamespace(works=works) if works is not None else None
        self.session_id = "" if works is None else "one"
        self.launch = SimpleNamespace(cwd=folder)
        self.answer = answer
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.send = self.sent.append

    def opened(self) -> Any:
        return self.session

    def shortcut_for(self, _: str) -> str:
        return "F6"

    async def confirm(self, question: str) -> bool:
        self.asked.append(question)
        return self.answer


async def ran(host: Any, words: str = "") -> Any:
    await init(host, words)
    return host


async def test_init_asks_the_model_to_write_the_file(tmp_path: Path) -> None:
    for works in (("files", "commands"), None):
        host = await ran(Host(tmp_path, works), " in German ")
        assert (host.sent, host.asked) == ([f"{INIT_PROMPT}\n\nin German"], [])


async def test_init_asks_before_it_changes_the_file(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("mine")
    assert (await ran(Host(tmp_path, answer=False))).sent == []
    host = await ran(Host(tmp_path))
    assert host.asked == ["AGENTS.md exists. Let the model improve it?"]
    assert host.sent == [f"{INIT_PROMPT}\n\n{IMPROVE}"]


async def test_init_needs_a_model_with_file_tools(tmp_path: Path) -> None:
    host = Host(tmp_path, ())
    with pytest.raises(CommandFailed, match=r"This model has no tools for files. Choose another with F6."):
        await ran(host)
    assert host.sent == []
