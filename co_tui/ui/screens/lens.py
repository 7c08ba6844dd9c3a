"""The context lens: the next request, message by message; the same under other policies; and what left the context."""

from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar, Final, Protocol

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from co_tui.context.marks import marks
from co_tui.events import Ref
from co_tui.inert import inert, one_line
from co_tui.lab.outlook import PolicyOutlook, outlook
from co_tui.session.lens.look import LensSource, look
from co_tui.session.lens.messages import Kind, Lens, LensMessage
from co_tui.ui.beside import beside
from co_tui.ui.formatting import tokens
from co_tui.ui.screens.detail import TextScreen
from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.screens.lens_parts import LensGauge, LensList
from co_tui.ui.widgets.gauge import SEPARATOR
from co_tui.ui.widgets.gauge_reading import GaugeReading
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.lens_lines import left_line, message_line, policy_head, policy_line, told_fate
from co_tui.ui.widgets.line_list import LineList

LOOK_EVERY_S: Final = 0.25
SEEN_FIRST_S: Final = 0.02
"""The screen is there before anything is worked out for it."""
TABS: Final = ("request", "policies", "left")
KEYS: Final = {
    "request": (
        ("space", "open"),
        ("p", "pin"),
        ("s", "compact up to here"),
        ("tab", "other policies"),
        ("esc", "back"),
    ),
    "policies": (("enter", "look through it"), ("tab", "what left"), ("esc", "back")),
    "left": (("space", "open"), ("tab", "the request"), ("esc", "back")),
}


class LensDesk(Protocol):
    """What the lens looks at, and what can be done from there."""

    @property
    def version(self) -> object:
        """The same object as long as nothing has happened."""

    @property
    def gauge(self) -> GaugeReading:
        """How full the context is, as far as that is known without looking."""

    @property
    def policy(self) -> str:
        """The one that governs."""

    @property
    def policies(self) -> Sequence[str]:
        """All that could."""

    def source(self, policy: str) -> LensSource:
        """What the next request is made from, as if a policy governed."""

    async def pin(self, ref: Ref, *, pinned: bool) -> None: ...


class LensScreen(Dialog[Ref | None]):
    """Follows the session while it is open. Answers with the message up to which is to be compacted, or with None."""

    CSS_PATH = ["dialogs.tcss", "lens.tcss"]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (20, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f3", "close", "Back"),
        Binding("tab", "turn(1)", "Other policies", priority=True),
        Binding("shift+tab", "turn(-1)", show=False, priority=True),
        Binding("p", "pin", "Pin"),
        Binding("s", "compact", "Compact up to here"),
    ]

    def __init__(self, desk: LensDesk) -> None:
        super().__init__(tall=True)
        self._desk = desk
        self._version: object = None
        self._lens: Lens | None = None
        self._policy = ""
        """As if that one governed; empty for the one that does."""
        self._tab = TABS[0]
        self._chosen: dict[str, int] = {}
        self._outlooks: dict[str, PolicyOutlook] = {}
        self._largest = 0

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Context lens · the next request"
            yield LensGauge()
            yield Static(id="tabs", markup=False)
            yield Static(id="head", markup=False)
            yield LensList()
            yield Static(id="why", markup=False)
            yield KeyHints(*KEYS[self._tab])

    def on_mount(self) -> None:
        self.query_one(LensGauge).reading = self._desk.gauge
        self._list.focus()
        self._show_tabs()
        self.call_after_refresh(self.set_timer, SEEN_FIRST_S, self._follow)
        self.set_interval(LOOK_EVERY_S, self._follow)

    def on_resize(self) -> None:
        self._show()

    @property
    def _list(self) -> LensList:
        return self.query_one(LensList)

    # Looking

    def _follow(self) -> None:
        """Look again when something has happened."""
        if self._desk.version is not self._version:
            self._version = self._desk.version
            self.run_worker(self._attempt(self._look()), group="lens", exclusive=True)
            self._outlooks.clear()
            if self._tab == "policies":
                self._compare()

    async def _attempt(self, work: Coroutine[Any, Any, None], fails: str = "The next request cannot be shown") -> None:
        """A worker's exception would otherwise vanish, or end the app."""
        try:
            await work
        except Exception as error:
            if not self.is_attached:
                return  # it was closed meanwhile
            words = f"{fails}: {type(error).__name__}: {one_line(str(error), 200)}"
            self.notify(words, severity="error", markup=False)

    async def _look(self) -> None:
        source = self._desk.source(self._policy)
        lens, self._largest, kinds = await beside(_looked, source)
        self._lens, gauge = lens, self.query_one(LensGauge)
        gauge.kinds = kinds
        usage = lens.reading.as_fact(is_initial=False, model=lens.model)
        gauge.reading = GaugeReading(usage=usage, marks=marks(source.policy, usage.token_limit))
        gauge.refresh()
        self._show()

    def _compare(self) -> None:
        self.run_worker(self._attempt(self._look_through_all()), group="policies", exclusive=True)

    async def _look_through_all(self) -> None:
        for name in self._desk.policies:
            if name not in self._outlooks:
                source = self._desk.source(name)
                self._outlooks[name] = await beside(outlook, source)
                if self._tab == "policies":
                    self._show()

    # Showing

    def _show(self) -> None:
        self._show_tabs()
        lens, lines = self._lens, self._list
        style_of = lines.style_of
        self.query_one("#head", Static).display = self._tab == "policies"
        if self._tab == "policies":
            names, own = self._desk.policies, self._desk.policy
            self.query_one("#head", Static).update(policy_head(lines.size.width, style_of))
            lines.show(
                len(names),
                lambda n, width: policy_line(names[n], self._outlooks.get(names[n]), own, width, style_of),
                names.__getitem__,
            )
        elif lens is not None and self._tab == "left":
            left = lens.left
            lines.show(len(left), lambda n, _: left_line(left[n], style_of), lambda n: left[n].ref)
        elif lens is not None:
            rows = lens.messages
            lines.show(
                len(rows),
                lambda n, width: message_line(rows[n], self._largest, width, style_of),
                lambda n: rows[n].ref or rows[n].kind,
            )

    def _show_tabs(self) -> None:
        lens = self._lens
        names = {
            "request": f"Request {len(lens.messages):,}" if lens else "Request",
            "policies": "If the policy were …",
            "left": f"Left {len(lens.left):,}" if lens else "Left",
        }
        line = Text(no_wrap=True)
        for name, label in names.items():
            line.append(f" {label} ", "reverse bold" if name == self._tab else "")
            line.append("  ")
        under = f"as if {self._policy} governed" if self._policy else f"policy {self._desk.policy}"
        if line.cell_len + len(under) <= self.size.width - 4:
            line.append(under, "dim")
        self.query_one("#tabs", Static).update(line)
        self.query_one(KeyHints).show(*KEYS[self._tab])

    @on(LineList.Chosen)
    def _chose(self) -> None:
        self.query_one("#why", Static).update(Text(self._why()))

    def _why(self) -> str:
        lens = self._lens
        if self._tab == "policies":
            return "What each policy would send now; a summary that comes first is made by the offline summariser."
        if lens is None:
            return ""
        if self._tab == "left":
            told = "What the latest compaction, clearing or rewind took out, and what does not fit."
            return told if lens.left else "Nothing left the context."
        each = self._chosen_message
        if each is None:
            return "The context is empty: the first prompt fills it."
        fate, _ = told_fate(each.judgement)
        due = f"  {lens.due}" if lens.due else ""
        return f"{fate}: {each.judgement.why}{due}"

    @property
    def _chosen_message(self) -> LensMessage | None:
        lens, place = self._lens, self._list.chosen
        is_there = self._tab == "request" and lens is not None and place < len(lens.messages)
        return lens.messages[place] if is_there and lens is not None else None

    # Doing

    @on(LineList.Opened)
    def _open(self, event: LineList.Opened) -> None:
        if self._tab == "policies":
            self._look_through(self._desk.policies[event.place])
        elif self._tab == "left" and self._lens is not None:
            left = self._lens.left[event.place]
            self.app.push_screen(TextScreen(f"turn {left.turn} · {left.why}", left.text))
        elif (each := self._chosen_message) is not None:
            fate, _ = told_fate(each.judgement)
            known = each.text or "Its text is known once a request was sent from here."
            text = Text.assemble((f"{fate}: {each.judgement.why}\n\n", "dim"), inert(known))
            self.app.push_screen(TextScreen(f"{each.kind} · {each.tokens:,} tokens", text))

    def _look_through(self, policy: str) -> None:
        self._policy = "" if policy == self._desk.policy else policy
        self._version = None
        self._turn_to("request")
        self._follow()

    def action_turn(self, step: int) -> None:
        self._chosen[self._tab] = self._list.chosen
        self._turn_to(TABS[(TABS.index(self._tab) + step) % len(TABS)])
        if self._tab == "policies":
            self._compare()

    def _turn_to(self, tab: str) -> None:
        """Each tab has its own chosen line; of the policies, at first the one that governs."""
        self._tab = tab
        self._show()
        own = self._desk.policies.index(self._desk.policy) if self._desk.policy in self._desk.policies else 0
        self._list.chosen = self._chosen.get(tab, own if tab == "policies" else 0)

    def action_pin(self) -> None:
        each = self._chosen_message
        if each is None:
            return
        if each.ref is None:
            self.notify("It goes with every request anyway.", timeout=3)
            return
        pinning = self._desk.pin(each.ref, pinned=not each.is_pinned)
        # What is begun is done, also when the lens is closed at once.
        self.app.run_worker(self._attempt(pinning, "It cannot be pinned"), group="pin", exit_on_error=False)

    def action_compact(self) -> None:
        each = self._chosen_message
        if each is None or each.ref is None:
            self.notify("Choose a message: all that stands before it is summarised.", timeout=3)
            return
        self.answer(each.ref)

    def action_close(self) -> None:
        """Back to the policy that governs first, then out."""
        if self._policy:
            self._look_through(self._desk.policy)
        else:
            self.answer(None)


def _looked(source: LensSource) -> tuple[Lens, int, str]:
    """The lens with what takes a look at each of its messages: the tokens of the largest, and the kinds they are of."""
    lens = look(source)
    return lens, max((each.tokens for each in lens.messages), default=0), _told_kinds(lens)


def _told_kinds(lens: Lens) -> str:
    fixed = (Kind.SYSTEM, Kind.BOARD, Kind.TOOLS)
    found = [f"{kind} {tokens(count)}" for kind, count in lens.tokens_by_kind.items() if kind not in fixed]
    return SEPARATOR.join(found)
