"""Drafts are saved in the background, and never overwritten by older ones."""

from collections.abc import Callable
from pathlib import Path

from co_tui.store.prompt_drafts import PromptDraftFiles, new_session_draft
from co_tui.store.sqlite.in_memory import InMemoryPromptDrafts
from co_tui.store.sync.files.synced_file import LocalFiles, SyncedFile
from co_tui.ui.prompt.draft_saver import DraftSaver
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, type_text


class Host:
    """Runs background work when asked to."""

    def __init__(self) -> None:
        self.beside: list[Callable[[], None]] = []

    def run_worker(self, work: Callable[[], None], **_: object) -> None:
        self.beside.append(work)


async def test_an_unsent_prompt_stays_in_its_folder(home: Path, provider: Provider) -> None:
    first = launch_for(home, provider)
    (other := first.cwd / "other").mkdir()
    async with running(first) as (app, pilot):
        await type_text(pilot, "drop the tables")
    async with running(launch_for(home, provider).in_folder(other)) as (app, pilot):
        assert app.chat.prompt.text == ""
        await ask(app, pilot, "hello")
        await type_text(pilot, "and more")
    async with running(launch_for(home, provider)) as (app, _):
        assert app.chat.prompt.text == "drop the tables", "sending elsewhere did not take it away"


def test_a_slow_write_does_not_take_the_place_of_a_newer_one() -> None:
    host, drafts, text, session = Host(), InMemoryPromptDrafts(), "", ""
    folder, new = Path("/shop"), new_session_draft(Path("/shop"))
    saver = DraftSaver(host, drafts, lambda: session, lambda: folder, lambda: text)  # type: ignore[arg-type]  # all it needs of an app
    text = "half"
    saver.save_in_background()
    text = "half a prompt"
    saver.save_in_background()
    assert drafts.read(new) == "", "nothing is written on the way of a key"
    for write in reversed(host.beside):
        write()
    assert drafts.read(new) == "half a prompt"

    host.beside.clear()
    text = "said by now"
    saver.save_in_background()
    saver.forget_next()
    session, text = "a", "in a session"
    saver.save_in_background()
    text = "in a session, left"
    saver.save()
    for write in host.beside:
        write()
    assert (drafts.read(new), drafts.read("a")) == ("", "in a session, left")


def test_what_was_typed_on_another_machine_replaces_what_is_only_shown_here(tmp_path: Path) -> None:
    sync = SentDrafts()
    drafts, text = PromptDraftFiles(tmp_path, sync), ""
    saver = DraftSaver(Host(), drafts, lambda: "s", Path, lambda: text)  # type: ignore[arg-type]  # all it needs of an app
    drafts.write("s", "half")
    assert sync.names == ["drafts/s"]
    text = saver.read()
    saver.await_fetched()
    drafts.file("s").write_text("half a prompt")  # it came with the session's files
    saver.save()
    assert saver.fetched() == "half a prompt" and sync.names == ["drafts/s"], "what is shown is no change"
    text = "half a prompt"
    saver.await_fetched()
    assert saver.fetched() is None
    drafts.file("s").write_text("from elsewhere")
    text = "typed here since"
    assert saver.fetched() is None
    text = ""
    assert saver.fetched() is None, "what is deleted here stays so"
    drafts.write(new_session_draft(tmp_path), "of a folder here")
    assert sync.names == ["drafts/s"]


def test_a_draft_of_another_process_stays_although_there_was_none_before(tmp_path: Path) -> None:
    drafts, folder = PromptDraftFiles(tmp_path / "drafts", LocalFiles()), Path("/shop")
    saver = DraftSaver(Host(), drafts, str, lambda: folder, str)  # type: ignore[arg-type]  # all it needs of an app
    assert saver.read() == "" and drafts.is_empty
    key = new_session_draft(folder)
    PromptDraftFiles(tmp_path / "drafts", LocalFiles()).write(key, "typed elsewhere")
    saver.save()
    assert saver.read() == "typed elsewhere"


class SentDrafts(LocalFiles):
    """The names of what was changed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def changed(self, file: SyncedFile) -> None:
        self.names.append(file.name)
