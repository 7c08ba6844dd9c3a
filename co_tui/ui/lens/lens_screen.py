"""The context lens: the next request, message by message; the same under other policies; and what left the context."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final, Protocol

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from co_tui.context.compact.thresholds import thresholds_of
from co_tui.events import Ref
from co_tui.events.stored_messages import REPLACES
from co_tui.inert import inert
from co_tui.lab.outlook import PolicyOutlook, outlook
from co_tui.session.history.whole_transcript import WholeTranscript
from co_tui.session.lens.last_viewed import LastView
from co_tui.session.lens.model_thresholds import thresholds_by_model
from co_tui.session.lens.request_rows import Kind, Lens, LensMessage
from co_tui.session.lens.snapshot import LensSource, read_lens
from co_tui.settings import policy_label
from co_tui.ui.background import guarded_callback, in_thread, run_in_background
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.formatting import tokens
from co_tui.ui.gauge.gauge_reading import GaugeReading
from co_tui.ui.gauge.gauge_widget import SEPARATOR
from co_tui.ui.lens.lens_lines import fate_label, left_line, message_line, models_table, policy_head, policy_line
from co_tui.ui.lens.lens_parts import POLICIES_HELP, LensGauge, LensList, keys_for, left_summary
from co_tui.ui.timeline.detail_screen import SummaryTextScreen, TextScreen
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.line_list import LineList

CHECK_EVERY_S: Final = 0.25
LOOKING: Final = "Reading the next request"
FIRST_PAINT_S: Final = 0.02
"""Paint the screen before computing anything for it."""
TABS: Final = ("request", "policies", "left")
AS_A_SUMMARY: Final = (Kind.SUMMARY, Kind.UNDER_WAY, Kind.RECOLLECTED)
"""Messages that consist of earlier ones."""


class LensSubject(Protocol):
    """The session behind the lens, and what the lens can change in it."""

    @property
    def version(self) -> object:
        """The same object for as long as the session has not changed."""

    @property
    def gauge(self) -> GaugeReading:
        """How full the context is, as far as known without computing the request."""

    @property
    def policy(self) -> str:
        """The policy in force."""

    @property
    def policies(self) -> Sequence[str]:
        """All policies to choose from."""

    @property
    def set_window(self) -> int:
        """The window that the settings give to all models; 0 for each model's own."""

    def describe(self, policy: str) -> str:
        """What a policy does, in a sentence; empty if its file does not say."""

    @property
    def read_only(self) -> str:
        """Why nothing can be changed from here, in a sentence; empty if it can."""

    async def source(self, policy: str) -> LensSource:
        """What the next request is made from; under a named policy, as if nothing had been summarised before."""

    @property
    def last_view(self) -> LastView:
        """When it was last shown what has left this session."""

    def remember_view(self, lens: Lens) -> None:
        """Remember what has left by now: the next time it is not shown as new."""

    async def pin(self, ref: Ref, *, pinned: bool) -> None: ...


class LensScreen(Dialog[Ref | None]):
    """Follows the session while it is open. Answers with the message to compact up to, or None."""

    CSS_PATH = ["../dialogs/dialogs.tcss", "lens.tcss"]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (20, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f3", "close", "Back"),
        Binding("tab", "turn(1)", "Compare policies", priority=True),
        Binding("shift+tab", "turn(-1)", show=False, priority=True),
        Binding("right", "turn(1)", show=False),
        Binding("left", "turn(-1)", show=False),
        Binding("p", "pin", "Pin"),
        Binding("s", "compact", "Compact up to here"),
        Binding("m", "models", "By model"),
    ]

    def __init__(self, subject: LensSubject) -> None:
        super().__init__(tall=True)
        self._subject = subject
        self._version: object = None
        self._is_computing = self._is_comparing = False
        self._lens: Lens | None = None
        self._policy = ""
        """The policy shown instead of the one in force; empty for the one in force."""
        self._tab = TABS[0]
        self._chosen: dict[str, int] = {}
        self._outlooks: dict[str, PolicyOutlook] = {}
        self._since = subject.last_view
        self._viewed: Lens | None = None
        """The last one, under the policy in force, of which it was shown what left."""
        self._largest = 0

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Context lens · the next request" + (" · read only" if self._subject.read_only else "")
            yield LensGauge()
            yield Static(id="tabs", markup=False)
            yield Static(id="head", markup=False)
            yield LensList()
            yield Static(id="why", markup=False)
            yield KeyHints()

    def on_mount(self) -> None:
        self.query_one(LensGauge).reading = self._subject.gauge
        self._list.focus()
        self._show_tabs()
        follow = guarded_callback(self, LOOKING, self._follow, once=True)
        self.call_after_refresh(self.set_timer, FIRST_PAINT_S, follow)
        self.set_interval(CHECK_EVERY_S, follow)

    async def on_unmount(self) -> None:
        if self._viewed is not None:
            await in_thread(self._subject.remember_view, self._viewed)

    def on_resize(self) -> None:
        self._show()

    @property
    def _list(self) -> LensList:
        return self.query_one(LensList)

    # Computing

    def _follow(self) -> None:
        """Compute again after a change: one run at a time, because threads cannot be cancelled."""
        if self._subject.version is not self._version and not self._is_computing:
            self._version, self._is_computing = self._subject.version, True
            run_in_background(self, LOOKING, self._compute, group="lens")
            self._outlooks.clear()
            if self._tab == "policies":
                self._compare()

    async def _compute(self) -> None:
        policy = self._policy
        try:
            source = await self._subject.source(policy)
            lens, largest, kinds = await in_thread(_computed, source, self._since)
        finally:
            self._is_computing = False
        if policy != self._policy:  # another one was chosen since
            self._follow()
            return
        self._lens, self._largest, gauge = lens, largest, self.query_one(LensGauge)
        gauge.kinds = kinds
        usage = lens.reading.as_fact(is_initial=False, model=lens.model)
        gauge.reading = GaugeReading(
            usage=usage, marks=thresholds_of(source.policy, usage.token_limit, usage.fixed_tokens)
        )
        gauge.refresh()
        self._show()

    def _compare(self) -> None:
        if not self._is_comparing:
            self._is_comparing = True
            run_in_background(self, "Comparing policies", self._compare_all, group="policies")

    async def _compare_all(self) -> None:
        try:
            whole_transcript: WholeTranscript | None = None
            while missing := [name for name in self._subject.policies if name not in self._outlooks]:
                version, source = self._version, await self._subject.source(missing[0])
                whole_transcript = whole_transcript or WholeTranscript(source.parsed)
                found = await in_thread(outlook, source, whole_transcript)
                if version is self._version:  # else the result is outdated
                    self._outlooks[missing[0]] = found
                if self._tab != "policies":
                    break
                self._show()
        finally:
            self._is_comparing = False

    # Showing

    def _show(self) -> None:
        self._show_tabs()
        lens, lines = self._lens, self._list
        style_of = lines.style_of
        self.query_one("#head", Static).display = self._tab == "policies"
        if self._tab == "policies":
            names, own = self._subject.policies, self._subject.policy
            self.query_one("#head", Static).update(policy_head(lines.size.width, style_of))
            lines.show(
                len(names),
                lambda n, width: policy_line(names[n], self._outlooks.get(names[n]), own, width, style_of),
                names.__getitem__,
            )
        elif lens is not None and self._tab == "left":
            left = lens.left
            self._viewed = self._viewed if self._policy else lens
            lines.show(len(left), lambda n, width: left_line(left[n], width, style_of), lambda n: left[n].ref)
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
            "request": f"Request ({len(lens.messages):,})" if lens else "Request",
            "policies": "Compare policies",
            "left": f"Removed ({lens.gone_count:,})" if lens else "Removed",
        }
        line = Text(no_wrap=True)
        for name, label in names.items():
            line.append(f" {label} ", "reverse bold" if name == self._tab else "")
            line.append("  ")
        own = policy_label(self._subject.policy)
        under = f"under policy {policy_label(self._policy)}" if self._policy else f"policy {own}"
        if self._tab == "policies":
            under = "on the whole conversation"
        if line.cell_len + len(under) <= self.size.width - 4:
            line.append(under, "dim")
        self.query_one("#tabs", Static).update(line)
        self._show_keys()

    def _show_keys(self) -> None:
        """Show the keys that apply to the chosen line."""
        can_change = not self._policy and not self._subject.read_only
        has_lines = len(self._list) > 0
        self.query_one(KeyHints).show(*keys_for(self._tab, self._chosen_message, can_change, has_lines, self._policy))

    @on(LineList.Chosen)
    def _chose(self) -> None:
        self.query_one("#why", Static).update(Text(self._why()))
        self._show_keys()

    def _why(self) -> str:
        lens = self._lens
        if self._tab == "policies":
            place, names = self._list.chosen, self._subject.policies
            described = self._subject.describe(names[place]) if place < len(names) else ""
            return "\n".join(filter(None, (described, POLICIES_HELP)))
        if lens is None:
            return ""
        if self._tab == "left":
            return left_summary(lens)
        each = self._chosen_message
        if each is None:
            return "The context is empty. Send a prompt first."
        fate, _ = fate_label(each.judgement)
        due = f"  {lens.due}" if lens.due else ""
        return f"{fate}: {each.judgement.why}{due}"

    @property
    def _chosen_message(self) -> LensMessage | None:
        lens, place = self._lens, self._list.chosen
        is_there = self._tab == "request" and lens is not None and place < len(lens.messages)
        return lens.messages[place] if is_there and lens is not None else None

    # Actions

    @on(LineList.Opened)
    def _open(self, event: LineList.Opened) -> None:
        if self._tab == "policies":
            self._show_under(self._subject.policies[event.place])
        elif self._tab == "left" and self._lens is not None:
            if event.place >= len(self._lens.left):
                return  # the list became shorter after the key was pressed
            left = self._lens.left[event.place]
            turn = f"turn {left.turn} · " if left.turn else ""
            shown = SummaryTextScreen if REPLACES in (left.message.get("metadata") or {}) else TextScreen
            self.app.push_screen(shown(f"{turn}{left.why} · {left.where}", left.readable))
        elif (each := self._chosen_message) is not None:
            fate, _ = fate_label(each.judgement)
            title, why = f"{each.kind} · {each.tokens:,} tokens", f"{fate}: {each.judgement.why}"
            if each.kind in AS_A_SUMMARY:
                self.app.push_screen(SummaryTextScreen(title, each.readable, why))
                return
            known = each.readable or "Its text is known after the first request."
            self.app.push_screen(TextScreen(title, Text.assemble((f"{why}\n\n", "dim"), inert(known))))

    def action_models(self) -> None:
        """Show where the chosen policy compacts, for each known model."""
        names, place = self._subject.policies, self._list.chosen
        if self._tab == "policies" and place < len(names):
            run_in_background(self, "Listing models", lambda: self._show_models(names[place]), group="models")

    async def _show_models(self, policy: str) -> None:
        source = await self._subject.source(policy)
        rows = await in_thread(thresholds_by_model, source.policy, self._subject.set_window)
        if self.is_current:
            self.app.push_screen(TextScreen(f"Where {policy_label(policy)} compacts, by model", models_table(rows)))

    def _show_under(self, policy: str) -> None:
        self._policy = "" if policy == self._subject.policy else policy
        self._version = None
        self._turn_to("request")
        self._follow()

    def action_turn(self, step: int) -> None:
        self._chosen[self._tab] = self._list.chosen
        self._turn_to(TABS[(TABS.index(self._tab) + step) % len(TABS)])
        if self._tab == "policies":
            self._compare()

    def _turn_to(self, tab: str) -> None:
        """Each tab keeps its chosen line; the policies start at the one in force."""
        self._tab = tab
        self._show()
        own = (
            self._subject.policies.index(self._subject.policy) if self._subject.policy in self._subject.policies else 0
        )
        self._list.chosen = self._chosen.get(tab, own if tab == "policies" else 0)

    def action_pin(self) -> None:
        each = self._chosen_message
        if each is None or self._is_refused():
            return
        if each.ref is None:
            kept = "It stays until the context is rewritten." if each.kind is Kind.RECOLLECTED else ""
            self.notify(kept or "It is sent with every request anyway.", timeout=3)
            return
        # Runs on the app: it finishes even if the lens is closed at once.
        pin = partial(self._subject.pin, each.ref, pinned=not each.is_pinned)
        run_in_background(self.app, "Unpinning" if each.is_pinned else "Pinning", pin, group="pin")

    def _is_refused(self) -> bool:
        """Whether nothing can be changed from here; then says why."""
        preview_only = f"This shows policy {self._policy}, which is not in use. Esc goes back." if self._policy else ""
        why = self._subject.read_only or preview_only
        if why:
            self.notify(why, severity="warning", markup=False)
        return bool(why)

    def action_compact(self) -> None:
        each = self._chosen_message
        if self._is_refused():
            return
        if each is None or each.ref is None:
            self.notify("Choose a message; everything before it is summarised.", timeout=3)
            return
        self.answer(each.ref)

    def action_close(self) -> None:
        """Go back to the policy in force first, then close."""
        if self._policy:
            self._show_under(self._subject.policy)
        else:
            self.answer(None)


def _computed(source: LensSource, since: LastView) -> tuple[Lens, int, str]:
    """The lens, the tokens of its largest message, and its tokens by kind as text."""
    lens = read_lens(source, since)
    return lens, max((each.tokens for each in lens.messages), default=0), _kinds_text(lens)


def _kinds_text(lens: Lens) -> str:
    fixed = (Kind.SYSTEM, Kind.BOARD, Kind.TOOLS)
    found = [f"{kind} {tokens(count)}" for kind, count in lens.tokens_by_kind.items() if kind not in fixed]
    return SEPARATOR.join(found)
