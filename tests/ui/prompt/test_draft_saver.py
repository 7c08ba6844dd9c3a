"""Drafts are saved in the background, and never overwritten by older ones."""

from collections.abc import Callable
from pathlib import Path

from co_tui.store.prompt_drafts import PromptDraftFiles, new_session_draft
from co_tui.store.sqlite.in_memory import InMemoryPromptDrafts
from co_tui.store.sync.files.synced_file import LocalFiles, SyncedFile
from co_tui.ui.app import CoTui
from co_tui.ui.prompt.draft_saver import DraftSaver
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, type_text, until


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


async def test_a_window_takes_over_what_others_left_and_leaves_alone_what_they_write(
    home: Path, provider: Provider
) -> None:
    launch = launch_for(home, provider)
    key, other = new_session_draft(launch.cwd), PromptDraftFiles(launch.paths.state / "drafts", LocalFiles())
    async with running(launch) as (app, pilot):
        await type_text(pilot, "typed here")
        await until(pilot, lambda: launch.store.prompt_drafts.read(key) == "typed here")
        other.write(key, "typed in another window")
    async with running(launch_for(home, provider)) as (app, pilot):
        assert app.chat.prompt.unsent == ["typed here"] and other.read(key) == "typed in another window"
    other.leave()
    async with running(launch_for(home, provider)) as (app, pilot):
        assert sorted(app.chat.prompt.unsent) == ["typed here", "typed in another window"]
        assert app.chat.prompt.is_being_written
        await until(pilot, lambda: any("1 more prompt not sent" in each.message for each in app._notifications))


async def test_a_draft_comes_back_as_it_was_written(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "first line")
        await pilot.press("ctrl+j", "ctrl+j")
    async with running(launch_for(home, provider)) as (app, pilot):
        assert app.chat.prompt.text == "first line\n\n" and not app.chat.prompt.selected_text
        await type_text(pilot, "third")
        assert app.chat.prompt.text == "first line\n\nthird"


async def test_what_is_typed_before_the_first_paint_does_not_replace_the_draft(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "the draft")
    app = CoTui(launch_for(home, provider), typed_ahead="early")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.controller.backend.ready and "early" in app.chat.prompt.text)
        await app.action_quit()
    async with running(launch_for(home, provider)) as (app, pilot):
        kept = " ".join(app.chat.prompt.unsent)
        assert "the draft" in kept and "early" in kept


async def test_a_draft_that_a_rewind_put_aside_survives_quitting(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "first")
        await ask(app, pilot, "second")
        await type_text(pilot, "half a thought")
        app.run_command("rewind", "2")
        await until(pilot, lambda: app.chat.prompt.text == "second")
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        assert app.chat.prompt.unsent == ["second", "half a thought"]


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
    text = saver.open()
    saver.await_fetched()
    (tmp_path / "s.txt").write_text("half a prompt")  # it came with the session's files
    saver.save()
    assert saver.fetched() == "half a prompt" and sync.names == ["drafts/s"], "what is shown is no change"
    text = "half a prompt"
    saver.await_fetched()
    assert saver.fetched() is None
    (tmp_path / "s.txt").write_text("from elsewhere")
    text = "typed here since"
    assert saver.fetched() is None
    text = ""
    assert saver.fetched() is None, "what is deleted here stays so"
    drafts.write(new_session_draft(tmp_path), "of a folder here")
    assert sync.names == ["drafts/s"]


def test_a_draft_of_another_window_stays_although_there_was_none_before(tmp_path: Path) -> None:
    drafts, folder = PromptDraftFiles(tmp_path / "drafts", LocalFiles()), Path("/shop")
    saver = DraftSaver(Host(), drafts, str, lambda: folder, str)  # type: ignore[arg-type]  # all it needs of an app
    assert saver.open() == "" and drafts.is_empty
    other = PromptDraftFiles(tmp_path / "drafts", LocalFiles())
    other.write(new_session_draft(folder), "typed elsewhere")
    saver.save()
    assert saver.open() == "", "the other window has it"
    other.leave()
    assert saver.open() == "typed elsewhere"


class SentDrafts(LocalFiles):
    """The names of what was changed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def changed(self, file: SyncedFile) -> None:
        self.names.append(file.name)
