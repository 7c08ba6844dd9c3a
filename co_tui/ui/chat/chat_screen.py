"""The main screen: the conversation, its gauge and timeline, and the prompt."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key, Paste
from textual.geometry import Size

from co_tui import settings
from co_tui.agent.models.catalogue import EMBEDDED, PROVIDERS
from co_tui.events.model_names import answering_name
from co_tui.events.wording import MODE_SENTENCES
from co_tui.inert import inert, one_line
from co_tui.key_names import key_name
from co_tui.session.launch import Launch
from co_tui.settings.rules import SANDBOX_OFF
from co_tui.ui.chat.chat_requests import (
    FEWEST_COLUMNS,
    MIN_ROWS,
    SMALLEST,
    WIDE_COLUMNS,
    ChatRequests,
    EscTwice,
    is_too_small,
    set_columns,
)
from co_tui.ui.chat.open_questions import Questions
from co_tui.ui.chat.title_line import TitleFacts, TitleLine, folder_name
from co_tui.ui.chat.welcome import welcome
from co_tui.ui.keys import command_table
from co_tui.ui.keys.command_table import active_keys, rebind
from co_tui.ui.prompt.completion import ArgumentValue, ArgumentValues, argument_values
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.prompt.prompt_status import PromptStatus
from co_tui.ui.terminal.attention import LIMIT_ALERTS, LONG_TURN_S
from co_tui.ui.textual_internals import use_lean_compositor
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from co_tui.events import Event
    from co_tui.session.state.session_state import SessionState
    from co_tui.ui.approvals.question_bar import QuestionPanel
    from co_tui.ui.chat.chat_host import ChatHost
    from co_tui.ui.chat.deferred_widgets import DeferredWidgets
    from co_tui.ui.chat.transcript_feed import WaitingShown
    from co_tui.ui.keys.command_table import ActiveKey
    from co_tui.ui.transcript.blocks import BlockBuilder


_FORMATS: Final = {"markdown": "to read", "html": "one page to share", "jsonl": "to import again"}
_OPEN: Final = ("model",)
"""Commands that take other values, too."""

PROVIDER_CHARS = 40
TALL_ROWS, ROOMY_ROWS = 22, 28
"""Below the first, the gauge leaves room for the timeline; from the second on it also shows the last turns."""


class ChatScreen(ChatRequests):
    """Shows one session; everything else is the host's job."""

    AUTO_FOCUS = "#prompt"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (FEWEST_COLUMNS, "-narrow"), (WIDE_COLUMNS, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (MIN_ROWS, "-low"), (TALL_ROWS, "-tall"), (ROOMY_ROWS, "-roomy")]
    BINDINGS: ClassVar[list[BindingType]] = [
        *command_table.command_bindings(),
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("escape", "back", "Back", id="chat.back"),
        Binding("escape", "rewind", show=False, id="chat.rewind"),
        *command_table.bindings("anywhere"),
    ]

    def __init__(self, host: "ChatHost", launch: Launch, branch: str) -> None:
        super().__init__(host)
        use_lean_compositor(self)
        self._launch = launch
        self.branch = branch
        """The branch checked out in the working folder."""
        self._welcome: Block | None = None
        self._limit_reached = ""
        """The limit that ended the turn, for an alert."""
        self._embedded_is_missing = False
        self._unpushed = ""
        self._can_withdraw = False
        """Whether a prompt waits for a session."""
        self._esc = EscTwice()
        self._key_at = 0.0
        """When the last key was pressed, which may be long before it is handled."""

    def compose(self) -> ComposeResult:
        """Only what the first paint needs; `complete` mounts the rest into space reserved here."""
        self._fold_for(self.app.size, update=False)
        yield TitleLine(id="title")
        with Horizontal(id="middle"):
            transcript, side = Transcript(id="transcript"), Vertical(id="side")
            set_columns(transcript, side, self.app.size.width, with_side=self.app.size.width >= WIDE_COLUMNS)
            yield transcript
            yield side
        yield Prompt(id="prompt")

    def _fold_for(self, size: Size, *, update: bool = True) -> None:
        """Set the breakpoint classes now: Textual sets them after it has drawn, and everything is drawn twice."""
        wide = max(each for each in self.HORIZONTAL_BREAKPOINTS if each[0] <= size.width)
        tall = max(each for each in self.VERTICAL_BREAKPOINTS if each[0] <= size.height)
        classes = {name: False for _, name in (*self.HORIZONTAL_BREAKPOINTS, *self.VERTICAL_BREAKPOINTS)}
        self.update_classes(classes | {wide[1]: True, tall[1]: True}, update=update, animate=False)

    def drawing(self) -> AbstractContextManager[None]:
        return self.transcript.pace.measured() if self.is_mounted else nullcontext()

    def fit(self, size: Size) -> None:
        if self.is_mounted:
            self._fold_for(size)
            self.set_columns(size.width)
            self._show_title()

    async def on_mount(self) -> None:
        self.transcript.border_title = "Chat"
        self.prompt.workplace, self.prompt.environ = self._launch.workplace, self._launch.environ
        self.prompt.servers = tuple(self._launch.settings.mcp_servers)
        self.prompt.offer.values_of = lambda name: command_values(name, self._launch)
        self.status = PromptStatus(self.prompt, self.shortcut_for, lambda: self._esc_stops, lambda: self._can_move)
        self.status.show_mode(self._host.mode)
        self.questions = Questions(self, self.prompt, lambda: self.is_active and not self.is_covered)
        if self._launch.settings.keys:
            self._use_keys(self._launch.settings.keys)
        await self._host.chat_mounted()

    async def complete(self) -> None:
        """Mount the widgets that the first paint does not need."""
        from co_tui.ui.chat.deferred_widgets import DeferredWidgets
        from co_tui.ui.prompt.file_finder import FileFinder

        control = self._host.controller
        finder = FileFinder(self, self._launch.workplace, control.list_resources)
        late = DeferredWidgets(finder, control.running_commands)
        await late.mount(self)
        self._late = late
        if self._launch.settings.keys:
            self._use_keys(self._launch.settings.keys)  # the timeline has keys, too
        late.timeline.show(self._state.timeline, self._state.transcript)
        self.show_state(self._state)
        self._edited()

    @property
    def is_covered(self) -> bool:
        """Whether the terminal is too small to show the chat."""
        return is_too_small(self.size)

    def intercept(self, event: Key | Paste) -> bool:
        """Whether a key is done with. What cannot be seen takes none: no question, no draft."""
        self._key_at = event.time
        if self.is_covered:
            return not (isinstance(event, Key) and event.key == self._quit_key)
        return self.questions.intercept(event)

    @property
    def _quit_key(self) -> str:
        return command_table.key_of("quit", self._launch.settings.keys)

    def on_resize(self) -> None:
        if self.is_covered != bool(self.query("TooSmall")):
            if self.is_covered:
                from co_tui.ui.chat.deferred_widgets import TooSmall

                self.mount(TooSmall(SMALLEST, key_name(self._quit_key)))
            else:
                self.query("TooSmall").remove()
                self.questions.uncover()
        self._fit_work()

    def _fit_work(self) -> None:
        if self._late is not None:
            self._late.work.fit(is_asked=self.questions.is_any)

    # Showing the session

    def show_empty(self) -> None:
        """Show an empty chat, for which no state of a session is needed."""
        self._welcome = Block("welcome", self._welcome_text(), tight=True)
        self.transcript.show([self._welcome])
        self._show_status()

    def show_session(self, builder: "BlockBuilder", state: "SessionState") -> None:
        """Show a stored session, or an empty chat."""
        if self._finding is not None:
            self._finding.close()
            self._finding = None
            self.prompt.focus()
        self.feed.show(builder)
        self._welcome = None if builder.blocks else self.feed.note(self._welcome_text(), "welcome")
        if self._late is not None:
            self._late.show_session(state)
            self.status.show_compacting(False)
        self.show_state(state)

    def _welcome_text(self) -> str:
        return inert(welcome(self._launch.cwd, is_embedded=self._model == EMBEDDED))

    def show_replayed(self, state: "SessionState") -> None:
        """The same session after its full replay."""
        if self._late is not None:
            self._late.timeline.show(state.timeline, state.transcript)
        self.show_state(state)

    def show_older(self, blocks: list[Block]) -> None:
        self.transcript.prepend(blocks)

    def unload_older(self, can_begin_at: Callable[[int], bool]) -> int:
        """As `Transcript.unload`."""
        return self.feed.unload(can_begin_at)

    def apply_event(self, event: "Event", state: "SessionState") -> None:
        """Show one event of the running session."""
        from co_tui.events import SessionError, UsageInfo

        self._shown = state
        if self._welcome is not None and event.type == "message":
            self.feed.drop(self._welcome)
            self._welcome = None
        self.feed.apply_event(event)
        self.status.apply(event.fact)
        if isinstance(event.fact, SessionError) and not event.fact.agent:
            self._limit_reached = LIMIT_ALERTS.get(event.fact.kind, "")
        if self._late is not None:
            self._apply_to_late(self._late, event, state)
        if event.seq is not None and (not isinstance(event.fact, UsageInfo) or event.fact is state.usage):
            self.show_state(state)

    def _apply_to_late(self, late: "DeferredWidgets", event: "Event", state: "SessionState") -> None:
        was_compacting = late.compacting.display
        late.apply_event(event, state)
        if late.compacting.display != was_compacting:
            self.status.show_compacting(late.compacting.display)
            self.refresh_bindings()

    def show_launch(self, launch: Launch) -> None:
        """Use new settings, where the session has none of its own."""
        if launch.settings.keys != self._launch.settings.keys:
            self._use_keys(launch.settings.keys)
        self._launch = launch
        if self._welcome is not None:  # the examples depend on the model
            self._welcome.text = self._welcome_text()
            self.transcript.changed(self._welcome)
        self.prompt.servers = tuple(launch.settings.mcp_servers)
        self.show_state(self._state)

    def show_folder(self, launch: Launch) -> None:
        """The working folder changed."""
        self.prompt.workplace = launch.workplace
        self.branch = launch.branch
        if self._late is not None:
            self._late.finder.set_workplace(launch.workplace)
        self.show_launch(launch)
        self._host.folder_changed()

    def _use_keys(self, chosen: Mapping[str, str]) -> None:
        rebind(self, chosen)
        self.prompt.shows_keys = chosen.get("keys_here", "?") == "?"
        self.transcript.end_key = command_table.shortcut_for("to_the_end", chosen)

    def shortcut_for(self, name: str) -> str:
        return command_table.shortcut_for(name, self._launch.settings.keys)

    def show_state(self, state: "SessionState") -> None:
        self._shown = state
        self.transcript.show_state(state)
        if self._late is not None:
            self._late.show_state(state, self._launch.settings, self.transcript.context_marks.compactions)
        self._show_status()

    def _show_status(self) -> None:
        """Show the mode, the provider and the title line."""
        self.status.show_mode(self._host.mode)
        self.status.provider = one_line(answering_name(self._model), PROVIDER_CHARS)
        self._show_title()

    @property
    def _model(self) -> str:
        chosen = self._shown.model if self._shown is not None else ""
        return chosen or self._launch.choice.model

    def _show_title(self) -> None:
        wanted = self._launch.settings.reasoning_effort
        effort = wanted if wanted and self._host.controller.supports_effort(self._model) else ""
        sandboxed = self._launch.settings.command_sandbox != SANDBOX_OFF
        where = self._launch.workplace.host_text
        facts = TitleFacts(
            model=self._model,
            policy=self._launch.settings.policy,
            branch=self.branch,
            effort=effort,
            sandboxed=sandboxed,
            private=self._launch.private,
            missing=self._embedded_is_missing,
            other_model=self.shortcut_for("model"),
            where=where,
            unpushed=self._unpushed,
            folder="" if where else folder_name(self._launch.cwd),
            added=tuple(map(folder_name, self._launch.workplace.folders.named)),
        )
        if (state := self._shown) is not None:
            facts = facts._replace(
                session=state.title,
                policy=state.policy or facts.policy,
                branch=state.branch or facts.branch,
                questions=len(state.pending),
                speaker=state.speaker,
            )
        self.query_one(TitleLine).show(facts)

    def show_embedded_missing(self, missing: bool) -> None:
        """Whether the embedded model is not installed."""
        self._embedded_is_missing = missing
        self._show_title()

    def show_unpushed(self, what: str) -> None:
        """What is only on this machine as yet; empty if all is pushed."""
        self._unpushed = what
        self._show_title()

    # Status

    def set_busy(self, busy: bool, waited_for: str = "") -> None:
        """Whether a turn runs; `waited_for` is shown while none does."""
        ran_s = self.status.busy_s
        self.status.set_busy(busy, waited_for)
        self.refresh_bindings()
        if not busy and (self._limit_reached or ran_s >= LONG_TURN_S):
            self._host.alert(self._limit_reached or f"the turn ended after {ran_s:.0f} s")
        self._limit_reached = ""

    def show_stopping(self) -> None:
        self.status.show_stopping()

    def show_waiting(self, prompts: "Sequence[WaitingShown]") -> None:
        """Show the prompts that are not part of the conversation yet."""
        from co_tui.ui.chat.transcript_feed import HELD, STARTING

        self.feed.show_waiting(prompts)
        self._can_withdraw = any(prompt.status == STARTING for prompt in prompts)
        waiting = [prompt for prompt in prompts if prompt.status]
        self.status.show_waiting(len(waiting), sum(prompt.status == HELD for prompt in waiting))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys of actions that are not possible now."""
        if action == "stop":
            withdraws = self._can_withdraw and not self.questions.is_dismissable  # a question gets Esc first
            something_to_stop = self.status.busy or self.is_compacting or withdraws
            return something_to_stop and not self.has_something_to_close
        if action == "back":
            return self.has_something_to_close or not self.prompt.has_focus or self.questions.is_dismissable
        if action == "rewind":
            return self._is_idle
        if action == "next_mode":
            return not self.is_offering
        return True

    @property
    def _esc_stops(self) -> bool:
        """Whether Esc stops the turn: where the focus is now, nothing else gets it first."""
        return not self.has_something_to_close and not self.questions.takes_escape

    @property
    def _can_move(self) -> bool:
        return self._host.controller.can_move

    @property
    def _is_idle(self) -> bool:
        """Whether Esc has nothing to stop, close or answer, and there is a turn to go back to."""
        is_free = self.prompt.has_focus and not self.prompt.text and not self.query("QuestionPanel")
        return is_free and self._state.turn > 0 and not self.status.busy

    # User actions

    def action_next_mode(self) -> None:
        self._host.controller.next_mode()

    def action_rewind(self) -> None:
        """Esc twice, while nothing is written, asked or under way."""
        if self._esc.pressed(self._key_at, for_nothing_else=True):
            self._host.run_command("rewind", "")

    def action_stop(self) -> None:
        self._esc.pressed(self._key_at)
        if self.is_compacting:
            self._host.controller.cancel_compaction()
        elif self.status.busy:
            self._host.controller.interrupt()
        else:
            self._host.controller.sender.withdraw_latest()

    async def action_back(self) -> None:
        self._esc.pressed(self._key_at)
        if self._late is not None and self._late.completions.display:
            self.prompt.offer.dismiss()
            self._late.completions.show(self.prompt.offer)
        elif self._finding is not None:
            await self._finding.close()
            self._finding = None
            self.prompt.focus()
        elif self.prompt.has_focus and not self.has_class("-drawer"):
            self.questions.dismiss()
        else:
            self.remove_class("-drawer")
            self.prompt.focus()
            self.refresh_bindings()

    def on_screen_resume(self) -> None:
        self._esc.pressed(time.monotonic())  # it may have closed the screen before
        if self.is_mounted:
            self.questions.uncover()

    def show_question(self, panel: "QuestionPanel", *, turn_waits: bool = True) -> None:
        self.questions.show(panel)
        self._fit_work()
        if turn_waits:
            self.status.show_asking(True)
            self._host.alert("waiting for your answer")

    def end_question(self, panel: "QuestionPanel") -> None:
        self.questions.end(panel)
        self._fit_work()
        self.status.show_asking(False)

    # For commands

    def keys_here(self) -> "Sequence[ActiveKey]":
        return active_keys(self)

    def set_draft(self, text: str) -> None:
        """Replace the unsent prompt; the old one is kept among the earlier prompts."""
        self.prompt.replace_draft(text)
        self.prompt.focus()


def command_values(name: str, launch: Launch) -> ArgumentValues:
    """The values that a command takes now."""
    found = tuple(_found(name, launch))
    return ArgumentValues(found, is_closed=name not in _OPEN) if found else argument_values(name)


def _found(name: str, launch: Launch) -> Iterator[ArgumentValue]:
    match name:
        case "policy":
            for policy in launch.policies:
                yield ArgumentValue(policy, settings.policy_description(policy, launch.paths))
        case "mode":
            yield from (ArgumentValue(mode, sentence) for mode, sentence in MODE_SENTENCES.items())
        case "export":
            yield from (ArgumentValue(form, use) for form, use in _FORMATS.items())
        case "theme":
            yield from map(ArgumentValue, settings.rules()["theme"].choices)
        case "config":
            yield from (ArgumentValue(key, settings.about(key)[1]) for key in settings.rules())
        case "model":
            yield from _models(launch)
        case "agent":
            from co_tui.events.facts.agents import MAIN_AGENT

            yield ArgumentValue(MAIN_AGENT, "the session's own agent")
            found = settings.agents_in_force(launch.paths, launch.cwd, launch.settings).agents
            yield from (ArgumentValue(each.name, each.description) for each in found if each.name != MAIN_AGENT)
        case "help":
            from co_tui.help import TOPICS  # not needed for the first paint

            yield from (ArgumentValue(topic.name, topic.line) for topic in TOPICS)


def _models(launch: Launch) -> Iterator[ArgumentValue]:
    """The recent models, then what a name may begin with."""
    from co_tui.ui.models.model_list import RecentModels  # not needed for the first paint

    recent: Iterable[str] = dict.fromkeys([launch.choice.model, *RecentModels(launch.paths).read(), EMBEDDED])
    yield from map(ArgumentValue, recent)
    for provider in PROVIDERS:
        ready = "" if provider.has_key(launch.environ) else " (no key is set)"
        yield ArgumentValue(f"{provider.prefix}:", f"then a model's name{ready}")
