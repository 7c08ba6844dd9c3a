"""`/init` asks the model for AGENTS.md, and the user before an existing one is changed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from co_tui.ui.commands.work_commands import IMPROVE, INIT_PROMPT, init


class Host:
    """The part of the app that the command uses."""

    def __init__(self, folder: Path, works: tuple[str, ...] | None = ("files",), answer: bool = True) -> None:
        self.session = SimpleNamespace(works=works) if works is not None else None
        self.sessions = SimpleNamespace(session_id="")
        self.settings = SimpleNamespace(launch=SimpleNamespace(cwd=folder))
        self.view = SimpleNamespace(shortcut_for=lambda name: "F6")
        self.answer = answer
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.failed: list[str] = []
        self.send, self.fail = self.sent.append, self.failed.append

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
    host = await ran(Host(tmp_path, ()))
    assert (host.sent, host.failed) == ([], ["This model has no tools for files. Choose another with F6."])
