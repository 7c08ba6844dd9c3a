"""Keys that are read at once act in the order they were typed: a dialog does in a burst what it does slowly."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import pytest
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.screen import Screen

import co_tui.ui
from co_tui.agent.keys.login import LoginResult
from co_tui.events import CompactionComplete, Event
from co_tui.events.images import StoredImage
from co_tui.session.approvals.questions import ApprovalQuestion
from co_tui.session.queue import WaitingPrompt
from co_tui.session.snapshots.file_diffs import FileChange, SessionChanges
from co_tui.session.state.session_state import SessionState
from co_tui.store.notes.board_text import Board
from co_tui.store.notes.memory_text import MemoryEntry
from co_tui.trust import TrustRequest
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.approval_wording import approval_panel
from co_tui.ui.approvals.approvals_screen import AddRuleScreen, ApprovalsScreen
from co_tui.ui.approvals.choices import Choice
from co_tui.ui.approvals.whole_question import WholeQuestionScreen
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.chat.image_screen import ImageScreen
from co_tui.ui.chat.link_dialog import LinksScreen
from co_tui.ui.commands.settings_commands import SettingsEditor
from co_tui.ui.compaction.compaction_screen import CompactionScreen
from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, Row
from co_tui.ui.dialogs.safe_screen import SafeScreen
from co_tui.ui.dialogs.simple_dialogs import AskScreen, ConfirmScreen, EditScreen
from co_tui.ui.dialogs.text_screen import PagerScreen
from co_tui.ui.files.changes_screen import ChangesScreen
from co_tui.ui.files.choice_screen import ChoiceScreen
from co_tui.ui.gauge.gauge_reading import GaugeReading
from co_tui.ui.help.help_screen import HelpScreen
from co_tui.ui.help.keys_screen import KeysHereScreen, LeaderScreen
from co_tui.ui.help.palette import PaletteScreen
from co_tui.ui.images.block_image import BlockImage
from co_tui.ui.lens.lens_screen import LensScreen
from co_tui.ui.lens.policy_screen import PolicyScreen
from co_tui.ui.memory.board_screen import BoardScreen
from co_tui.ui.memory.memory_screen import MemoryScreen
from co_tui.ui.models.login_screen import KeyScreen, LoginScreen
from co_tui.ui.models.models_screen import ModelScreen, ModelsKnown
from co_tui.ui.prompt.earlier_prompts import EarlierPromptsScreen
from co_tui.ui.prompt.queue_screen import QueueScreen
from co_tui.ui.sessions.session_actions import ExportScreen
from co_tui.ui.sessions.sessions_screen import SessionsScreen
from co_tui.ui.settings.mcp_screen import AddServerScreen, McpScreen
from co_tui.ui.settings.settings_screen import SettingsScreen
from co_tui.ui.settings.trust_screen import FileScreen
from co_tui.ui.timeline.detail_screen import EventScreen, SummaryTextScreen, TextScreen
from co_tui.ui.work.tasks_screen import TasksScreen
from tests.support import waiting
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text
from tests.ui.pictures.test_pictures_dialogs import COMMANDS, KEYS, NOTES, RULES, WAITING, command_task
from tests.ui.pictures.test_pictures_screens import keep_sessions

Done: TypeAlias = list[Any]
"""What a dialog answered, and what it did until then."""


class Typed(NamedTuple):
    """A dialog, and what is typed in it."""

    make: Callable[[CoTui, Done], Screen[Any]]
    keys: Sequence[str]
    does: bool = True
    """Whether it answers or changes something; else what is compared is what it shows."""


def doing(done: Done, answers: object = "") -> Any:
    """Stands for what a dialog does elsewhere: only notes it."""

    async def do(*given: object) -> Any:
        done.append(given)
        return answers

    return do


class Queue:
    def __init__(self, done: Done) -> None:
        self._done = done
        self.prompts: tuple[WaitingPrompt, ...] = WAITING

    def withdraw(self, number: int) -> None:
        self._done.append(number)
        self.prompts = tuple(each for each in self.prompts if each.number != number)


def settings(app: CoTui, done: Done) -> Screen[Any]:
    real = SettingsEditor(app._commands)
    editor = SimpleNamespace(rows=real.rows, change=doing(done, "changed"), file="config.toml")
    return SettingsScreen(editor)  # type: ignore[arg-type] # nothing is reset


def sessions(app: CoTui, done: Done) -> Screen[Any]:
    editor = SimpleNamespace(refresh=doing([]))
    return SessionsScreen(app.launch.store, str(app.launch.cwd), "", editor)  # type: ignore[arg-type] # nothing else


def lens(_: CoTui, done: Done) -> Screen[Any]:
    subject = SimpleNamespace(
        read_only="", policies=(), policy="balanced", version=None, last_view=None, gauge=GaugeReading()
    )
    return LensScreen(subject)  # type: ignore[arg-type] # nothing is computed


def approvals(_: CoTui, done: Done) -> Screen[Any]:
    editor = SimpleNamespace(rules=lambda: RULES, revoke=doing(done, "Revoked."))
    return ApprovalsScreen(editor)  # type: ignore[arg-type] # no rule is added


def servers(done: Done) -> Any:
    checks = SimpleNamespace(check=lambda name, started: f"{name} runs {started}")
    return SimpleNamespace(
        file="config.toml", states=lambda: [("docs", "running")], add=doing(done, "Added."), **vars(checks)
    )


ENTRIES = [MemoryEntry("2026-03-04", f"10:0{n}", f"about {word}", f"text {n}") for n, word in enumerate(("one", "two"))]
ROWS = [Row((n, 0), n, "you", f"the {word} prompt") for n, word in enumerate(("first", "second", "third"), 1)]
QUESTION = approval_panel(
    ApprovalQuestion(tool="run_command", arguments={"command": "make"}, what="make"), has_sandbox=False
)
COMPACTION = Event(session_id="s", seq=1, timestamp="2026-01-01T12:00:00Z", fact=CompactionComplete(success=True))
IMAGES = [BlockImage(StoredImage("image/png", b"no image"), error="not an image") for _ in range(2)]
CHANGES = SessionChanges([FileChange("a.py", "new", "+one"), FileChange("b.py", "changed", "-one\n+two")])
TYPED: dict[str, Typed] = {
    "yes": Typed(lambda _, __: ConfirmScreen("Sure?"), "y"),
    "a line": Typed(lambda _, __: AskScreen("Name"), [*"new name", "left", "left", "X", "enter"]),
    "a text": Typed(lambda _, __: EditScreen("Edit", "old"), [*"new", "enter", *"text", "ctrl+s"]),
    "a text, discarded": Typed(lambda _, __: EditScreen("Edit", "old"), [*"new", "escape", "n", "x", "escape", "y"]),
    "a choice": Typed(
        lambda _, __: ChoiceScreen("Which?", Content("?"), [Choice("a", "A"), Choice("b", "B")]), ["down", "enter"]
    ),
    "a question": Typed(lambda _, __: WholeQuestionScreen(QUESTION, lambda _: None), ["down", "n", "enter"]),
    "a turn": Typed(lambda _, __: ChooseMessageScreen("Rewind", ROWS, "go"), [*"t", "up", "enter"]),
    "memory": Typed(
        lambda _, done: MemoryScreen(ENTRIES, "", delete=doing(done), restore=doing(done)), [*"two", "ctrl+d"]
    ),
    "notes": Typed(
        lambda _, done: BoardScreen(
            SimpleNamespace(origin="here", delete=doing(done), read=doing([], Board(NOTES[:1]))), Board(NOTES)
        ),
        ["down", "d"],
    ),
    "keys of providers": Typed(lambda _, __: LoginScreen([KEYS[1], KEYS[0]]), ["down", "ctrl+d"]),
    "a key": Typed(
        lambda _, done: KeyScreen("openai", "host", doing(done, LoginResult(True, "Saved."))), [*"sk-1", "enter"]
    ),
    "export": Typed(lambda _, __: ExportScreen(), "h"),
    "help": Typed(lambda _, __: HelpScreen(), [*"compaction", "tab", "enter"], does=False),
    "keys here": Typed(lambda _, __: KeysHereScreen([], [], in_prompt=True), ["down", "x"]),
    "leader": Typed(lambda _, __: LeaderScreen(), "y"),
    "palette": Typed(lambda _, __: PaletteScreen({}), [*"theme", "down", "up", "enter"]),
    "pager": Typed(lambda _, __: PagerScreen("Text", "one\ntwo\none"), ["slash", *"one", "enter"], does=False),
    "a shown text": Typed(lambda _, __: TextScreen("Text", "line\n" * 99), ["pagedown", "enter"]),
    "a shown summary": Typed(lambda _, __: SummaryTextScreen("Text", "line\n" * 99), ["pagedown", "q"]),
    "an event": Typed(lambda _, __: EventScreen(COMPACTION), ["down", "escape"]),
    "links": Typed(lambda _, done: LinksScreen(["http://a", "http://b"], doing(done, True)), ["down", "enter"]),
    "images": Typed(lambda _, __: ImageScreen("Images", IMAGES), ["right"], does=False),
    "changes": Typed(lambda _, __: ChangesScreen(CHANGES), ["down", "pagedown"], does=False),
    "a folder's files": Typed(
        lambda _, __: FileScreen(TrustRequest(file=Path("/shop/.co-tui.toml"), requested={})), ["down", "enter"]
    ),
    "approvals": Typed(approvals, ["down", "down", "d"]),
    "a rule": Typed(lambda _, done: AddRuleScreen(doing(done, "Added.")), [*"Bash(ls)", "enter", "2"]),
    "servers": Typed(lambda _, done: McpScreen(servers(done)), ["a", *"docs"], does=False),
    "a server": Typed(
        lambda _, done: AddServerScreen(servers(done)), [*"docs", "enter", *"npx docs", "enter", "enter"]
    ),
    "the queue": Typed(lambda _, done: QueueScreen(Queue(done)), ["down", "d", "enter"]),
    "tasks": Typed(
        lambda _, done: TasksScreen(SimpleNamespace(stop=doing(done)), lambda: [*map(command_task, COMMANDS)]),
        ["down", "up", "x"],
    ),
    "policies": Typed(
        lambda _, __: PolicyScreen({"balanced": "one", "window": "two"}, "balanced", None), [*"win", "enter"]
    ),
    "models": Typed(lambda app, _: ModelScreen(ModelsKnown(environ={}, present="openai:one")), [*"openai:x", "enter"]),
    "lens": Typed(lens, ["tab", "right", "left", "shift+tab", "escape"]),
    "a compaction": Typed(
        lambda _, __: CompactionScreen(COMPACTION, SessionState()),
        ["2", "slash", *"one", "escape", "1", "right"],
        does=False,
    ),
    "settings": Typed(settings, ["slash", *"max_session_cost", "enter", *"5", "enter"]),
    "sessions": Typed(sessions, [*"webx", "backspace", "down", "up", "enter"]),
    "earlier prompts": Typed(
        lambda app, _: EarlierPromptsScreen(app.launch.store, str(app.launch.cwd)), [*"how", "enter"]
    ),
}


def is_done(app: CoTui) -> bool:
    """Whether all keys were handled, with the work that they began."""
    is_working = any(worker.node is app.screen for worker in app.workers)
    return app._is_settled() and not app._on_hold._is_releasing and not is_working and not app.message_queue_size


async def typed(app: CoTui, pilot: Pilot[None], case: Typed, *, slowly: bool) -> tuple[Done, str, str]:
    """What the keys do in a new dialog, the screen that they lead to, and what that shows."""
    done: Done = []
    screen = case.make(app, done)
    app.push_screen(screen, done.append)
    await waiting.until(lambda: screen.is_mounted and is_done(app))
    for key in case.keys:
        character = " " if key == "space" else key if len(key) == 1 else None
        app.post_message(events.Key("space" if key == " " else key, character))
        if slowly:
            await waiting.until(lambda: is_done(app))
    await waiting.until(lambda: (done or not case.does) and is_done(app))
    app.clear_notifications()
    await pilot.pause()
    seen = type(app.screen).__name__, screen_text(app) if app.screen is not app.chat else ""
    while app.screen is not app.chat:
        app.pop_screen()
        await pilot.pause()
    return done, *seen


@pytest.mark.parametrize("part", range(2))
async def test_a_burst_of_keys_does_in_each_dialog_what_the_same_keys_do_slowly(
    home: Path, provider: Provider, part: int
) -> None:
    launch = launch_for(home, provider)
    keep_sessions(launch, home)
    async with running(launch, size=(80, 24), ready=False) as (app, pilot):
        for name in [*TYPED][part::2]:
            slow = await typed(app, pilot, TYPED[name], slowly=True)
            assert await typed(app, pilot, TYPED[name], slowly=False) == slow, name


def classes() -> Iterator[type[DOMNode]]:
    """All of ours that may bind keys."""
    for module in pkgutil.walk_packages(co_tui.ui.__path__, "co_tui.ui."):
        for _, each in inspect.getmembers(import_module(module.name), inspect.isclass):
            if each.__module__ == module.name and issubclass(each, DOMNode):
                yield each


def test_only_screens_that_handle_one_key_after_the_other_take_keys_before_their_fields_do() -> None:
    for each in classes():
        bound = [binding for binding in each.__dict__.get("BINDINGS", ()) if isinstance(binding, Binding)]
        is_safe = issubclass(each, SafeScreen | CoTui)
        assert is_safe or not any(binding.priority for binding in bound), each
        assert is_safe or not issubclass(each, Screen), each


def test_every_dialog_is_typed_in() -> None:
    source = Path(__file__).read_text()
    bases = {base for each in classes() for base in each.__mro__[1:]}
    dialogs = [each for each in classes() if issubclass(each, SafeScreen) and not issubclass(each, ChatScreen)]
    for each in dialogs:
        assert f" {each.__name__}(" in source or (each in bases and each is not TextScreen), each
