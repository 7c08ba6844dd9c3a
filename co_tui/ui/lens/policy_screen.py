"""The policy picker: each policy with what it would do to this conversation now."""

from collections.abc import Mapping
from typing import Final, Protocol

from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from co_tui.events.wording import percent
from co_tui.inert import one_line
from co_tui.lab.outlook import PolicyOutlook, outlook
from co_tui.session.history.whole_transcript import WholeTranscript
from co_tui.session.lens.snapshot import LensSource
from co_tui.settings import PolicyGroup, policy_label
from co_tui.ui.background import in_thread, run_in_background
from co_tui.ui.dialogs.dialog import LEAST_ROWS
from co_tui.ui.dialogs.filter_dialog import ChoosingDialog
from co_tui.ui.formatting import tokens
from co_tui.ui.lens.lens_lines import policy_head, policy_line
from co_tui.ui.lens.lens_parts import LensList
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.line_list import LineList

NAME_CELLS: Final = 12
HEADING: Final = ""
"""Takes the place of a name in the line above the policies of other programs."""
NO_PEERS: Final = PolicyGroup("", ())
NO_MATCH: Final = "No policy matches."
NOTHING_SENT: Final = "Nothing sent yet: the policies are compared once there is a conversation."


class Conversation(Protocol):
    """What the policies are compared on."""

    async def source(self, policy: str) -> LensSource:
        """What the next request is made from; under a named policy, as if nothing had been summarised before."""


class PolicyScreen(ChoosingDialog[str]):
    """Type to filter; Enter chooses. The comparison fills in line by line."""

    DEFAULT_CSS = """
    PolicyScreen #head { height: 1; }
    PolicyScreen #about { height: 3; margin-top: 1; color: $muted; }
    PolicyScreen.-low #about { margin-top: 0; }
    """

    def __init__(
        self,
        policies: Mapping[str, str],
        present: str,
        conversation: Conversation | None,
        peers: PolicyGroup = NO_PEERS,
    ) -> None:
        """`policies` are names with descriptions, of which `peers` are shown last; `conversation` is None if there is
        none yet."""
        super().__init__()
        self._peers = peers
        self._policies, self._present, self._conversation = policies, present, conversation
        self._outlooks: dict[str, PolicyOutlook] = {}

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Choose a policy"
            box.border_subtitle = f"now {one_line(policy_label(self._present), 40)}"
            yield Field(placeholder="Filter")
            yield Static(id="head", markup=False)
            yield LensList(classes="-filling", opens_at_first_click=True)
            yield Static(id="about", markup=False)
            yield KeyHints(("enter", "choose"), ("escape", "back"), ("●", "in use"))

    def on_mount(self) -> None:
        self._fill()
        self.query_one(LensList).chosen = self._choices.index(self._present) if self._present in self._choices else 0
        if self._conversation is not None:
            run_in_background(self, "Comparing policies", self._compare, group="policies")

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fill)

    @property
    def rows_for_content(self) -> int:
        """Also leaves the rows of the headings and the text below."""
        taken = 3 + (not self.has_class("-low")) + (self._conversation is not None)
        return max(LEAST_ROWS, super().rows_for_content - taken)

    async def _compare(self) -> None:
        assert self._conversation is not None
        whole: WholeTranscript | None = None
        for name in self._policies:
            source = await self._conversation.source(name)
            whole = whole or WholeTranscript(source.parsed)
            self._outlooks[name] = await in_thread(outlook, source, whole)
            if not self.is_mounted or not self.query(LensList):  # closed by now
                return
            self.query_one(LensList).refresh()
            self._show_about()

    @on(Input.Changed)
    def _fill(self) -> None:
        if not self.query(LensList):
            return
        words, lines = self.query_one(Input).value.lower().split(), self.query_one(LensList)
        found = [
            name for name, text in self._policies.items() if all(word in f"{name} {text}".lower() for word in words)
        ]
        ours, peers = ([name for name in found if (name in self._peers.names) is theirs] for theirs in (False, True))
        self._choices = [*ours, *([HEADING, *peers] if peers else [])]
        head = policy_head(lines.size.width, lines.style_of) if self._conversation is not None else Text()
        self.query_one("#head", Static).update(head)
        self.query_one("#head", Static).display = self._conversation is not None
        shown = list(self._choices)
        lines.show(len(shown), lambda n, width: self._line(shown[n], width), shown.__getitem__, NO_MATCH)

    def action_move(self, step: int) -> None:
        super().action_move(step)
        if self._on_heading:
            super().action_move(step if self.query_one(LensList).chosen > 0 else 1)

    def action_page(self, direction: int) -> None:
        super().action_page(direction)
        if self._on_heading:
            super().action_move(1)

    @property
    def _on_heading(self) -> bool:
        place = self.query_one(LensList).chosen
        return place < len(self._choices) and self._choices[place] == HEADING

    def _choose(self, index: int | None) -> None:
        if index is not None and index < len(self._choices) and self._choices[index] != HEADING:
            super()._choose(index)

    def _line(self, name: str, width: int) -> Text:
        style_of = self.query_one(LensList).style_of
        if name == HEADING:
            return Text(f"  {self._peers.title}", style_of("muted"), no_wrap=True)
        if self._conversation is not None:
            return policy_line(name, self._outlooks.get(name), self._present, width, style_of)
        mark = "●" if name == self._present else " "
        text = Text.assemble(
            (f"{mark} ", style_of("pinned")), f"{one_line(policy_label(name), NAME_CELLS):<{NAME_CELLS}}", no_wrap=True
        )
        return text.append(self._policies[name], style_of("muted"))

    @on(LineList.Chosen)
    def _show_about(self) -> None:
        place = self.query_one(LensList).chosen
        if place < len(self._choices) and not self._on_heading:
            name = self._choices[place]
            self.query_one("#about", Static).update(self._about(name))

    def _about(self, name: str) -> Text:
        if self._conversation is None:
            return Text(NOTHING_SENT)
        text = Text(self._policies[name] or name, Style(bold=True))
        seen = self._outlooks.get(name)
        return text.append(f"\n{would_do(seen) if seen else 'Comparing…'}", Style(bold=False))


def would_do(seen: PolicyOutlook) -> str:
    """What a policy would do to the next request, if nothing had been summarised before, in a sentence."""
    reading = seen.lens.reading
    acts = [
        f"shortens {seen.smaller:,} tool result{'s' if seen.smaller > 1 else ''}" if seen.smaller else "",
        f"summarises {seen.summarised:,} messages first" if seen.summarised else "",
        f"leaves out {seen.left_out:,}" if seen.left_out else "",
    ]
    does = ", ".join(filter(None, acts)) or "keeps everything"
    size = f"{tokens(reading.current_tokens)} tokens, {percent(reading.share)} of the window"
    after = f"; {tokens(seen.compacted_tokens)} after that" if seen.compacted_tokens else ""
    return f"The whole conversation: {does} ({size}{after})."
