"""The transcript's actions: marking, folding, copying, searching, and requests to other widgets."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from co_tui.ui.background import run_in_background
from co_tui.ui.keys import command_table
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.context_marks import ContextMarks
from co_tui.ui.transcript.layout import LinePosition
from co_tui.ui.transcript.marked_blocks import (
    CodeBlocks,
    Mark,
    Pins,
    copied_text,
    event_at,
    index_of_event,
    opens_turn,
    toggle_all,
)
from co_tui.ui.transcript.transcript_view import TranscriptView

if TYPE_CHECKING:
    from co_tui.session.state.session_state import SessionState
    from co_tui.ui.transcript.image_loader import ImageLoader
    from co_tui.ui.transcript.matches import Search

MessageAction: TypeAlias = Literal["edit", "fork", "pin", "view", "see", "links", "open"]
KEPT_BLOCKS = 300
"""Of a long session, so that the reader can scroll up several screens before any are read again."""
_HINTS = "↑↓ go · Shift selects · Esc back"


class Transcript(TranscriptView, ScrollView, can_focus=True):
    """While it has the focus one block is marked, and keys act on it."""

    FOCUS_ON_CLICK = False
    """A click in the chat leaves the focus in the prompt."""
    BINDINGS: ClassVar[list[BindingType]] = [
        *command_table.bindings("chat"),
        Binding("space", "open", show=False),  # as in questions
    ]

    class ActionRequested(Message):
        """An action on a block was requested."""

        def __init__(self, action: MessageAction, block: Block) -> None:
            super().__init__()
            self.action, self.block = action, block

    class ShowInTimeline(Message):
        """Show what happened at this event."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class LinkClicked(Message):
        def __init__(self, address: str) -> None:
            super().__init__()
            self.address = address

    class Copied(Message):
        """A text was copied; `what` describes it."""

        def __init__(self, text: str, what: str) -> None:
            super().__init__()
            self.text, self.what = text, what

    _is_searched = False
    """Whether `search` was used."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._mark = Mark()
        self._marked: set[Block] = set()
        self._pins = Pins()
        self.context_marks = ContextMarks()
        self._codes = CodeBlocks()
        self._shown_event: tuple[int, Block | None] = (0, None)
        """The event shown last, and its block."""

    @cached_property
    def _images(self) -> "ImageLoader":
        from co_tui.ui.transcript.image_loader import ImageLoader

        return ImageLoader(self.changed)

    # What is shown

    def show(self, blocks: Iterable[Block]) -> None:
        self._mark.leave()
        self._note_marked()
        if self._is_searched:
            self.search.set_needle("")
        blocks = list(blocks)
        self._pins.apply(blocks)
        self.context_marks.apply(blocks)
        super().show(self.context_marks.with_boundaries(blocks))

    def prepend(self, blocks: Sequence[Block]) -> None:
        if blocks and self.text_selection is not None:
            self.screen.clear_selection()  # it names lines, which now are others
        self._pins.apply(blocks)
        self.context_marks.apply(blocks, self.blocks)
        super().prepend(self.context_marks.with_boundaries(blocks, self.blocks))

    def show_state(self, state: "SessionState") -> None:
        """Show which messages are pinned, and set apart what the model no longer sees."""
        self.context_marks.follow(self, state)
        if self._pins.are(state.pins) and (changed := self._pins.apply(self.blocks)):
            self._layout.refresh_all(changed)
            self._settle()
            self.refresh_bindings()

    def unload(self, can_begin_at: Callable[[int], bool]) -> int:
        """Remove blocks far above the end that the reader follows, back to the first one of a turn where what is loaded
        can begin: returns its event. Returns 0 if there is none, or while the reader uses what is above."""
        is_read = self._mark.block is not None or self.text_selection is not None
        if is_read or not self._following or (self._is_searched and self.search.needle):
            return 0
        for index in range(len(self.blocks) - KEPT_BLOCKS, 0, -1):
            seq = self.blocks[index].seq
            if opens_turn(self.blocks, index) and can_begin_at(seq):
                self.remove_first(index)
                return seq
        return 0

    def drop(self, block: Block) -> None:
        self._mark.leave(block)
        self._note_marked()
        self._forget_matches(block)
        super().drop(block)

    def changed(self, block: Block) -> None:
        self._forget_matches(block)
        super().changed(block)

    def draw_streamed(self) -> None:
        for block in self._pending:
            self._forget_matches(block)
        super().draw_streamed()

    def _forget_matches(self, block: Block) -> None:
        if self._is_searched:
            self.search.forget(block)

    def _update_scroll(self) -> None:
        """Also load the images in view; none is decoded before the first paint."""
        super()._update_scroll()
        renderer = self._layout.renderer
        if renderer is not None and renderer.draws_images and self._images.request(self._blocks_in_view()):
            run_in_background(self, "Showing images", self._images.load, group="images")

    def _has_highlights(self, position: LinePosition) -> bool:
        is_marked = bool(self._marked) and self.blocks[position.block] in self._marked
        return is_marked or (self._is_searched and bool(self.search.needle)) or self.text_selection is not None

    def _decorated(self, strip: Strip, position: LinePosition, width: int) -> Strip:
        block, renderer = self.blocks[position.block], self._layout.renderer
        assert renderer is not None
        if block in self._marked and (position.line or block.tight):
            # As a base style: code keeps its own background.
            strip = Strip(Segment.apply_style(strip.extend_cell_length(width), style=renderer.marked))
        if self._is_searched and self.search.needle:
            from co_tui.ui.transcript.matches import marked

            parts = self.search.parts_in(self._layout, position)
            strip = marked(strip, parts, renderer.found, renderer.current_match)
        if (selection := self.text_selection) is not None:
            from co_tui.ui.transcript.selected_text import with_selection

            style = self.screen.get_component_rich_style("screen--selection")
            strip = with_selection(strip, selection, self._layout.row_of(position), style)
        return strip

    # Marking

    @property
    def marked_block(self) -> Block | None:
        return self._mark.block

    def on_focus(self) -> None:
        self._mark.start(self._blocks_in_view())
        self._note_marked()

    def on_blur(self) -> None:
        if self.app.app_focus and self.screen.is_current:  # else the terminal or a dialog has it for a while
            self._mark.leave()
            self._note_marked()

    def _note_marked(self) -> None:
        self._marked = set(self._mark.marked(self._layout))
        if self.is_mounted:
            self.border_title = f"Chat · {_HINTS}" if self._marked else "Chat"
            self.refresh_bindings()
            self.refresh()

    def mark(self, index: int, *, extends: bool = False) -> None:
        """Mark a block and scroll to it."""
        self._mark.put(self.blocks[index], extends=extends)
        self._note_marked()
        seen = self.in_view()
        top_line = next((position.line for position in seen if position.block == index), None)
        ends = bool(seen) and any(position.block > index for position in seen)
        if top_line != 0 or not (ends or seen[-1].line == self._layout.lay_out(index).height - 1):
            self.show_block(index)

    def action_mark(self, step: int, extends: bool = False) -> None:
        if self._mark.block is None:
            self.on_focus()
        elif (index := self._mark.step(self._layout, step)) is not None:
            self.mark(index, extends=extends)
        elif step > 0:
            self.follow_end()

    def action_mark_end(self, step: int) -> None:
        if self.blocks:
            self.mark(0 if step < 0 else len(self.blocks) - 1)

    def action_fold(self, step: int) -> None:
        if self._mark.block is None:
            self.on_focus()
        if (index := self._mark.step(self._layout, step, lambda block: block.foldable)) is not None:
            self.mark(index)

    def go_to_turn(self, step: int) -> bool:
        """Go to the previous or next prompt from the top line; where there is none, to an end, and return False."""
        start = self._layout.walk(self._top, 2)
        positions = range(start.block - 1, -1, -1) if step < 0 else range(start.block + 1, len(self.blocks))
        found = next((n for n in positions if self.blocks[n].kind == "user"), None)
        if found is None:
            if step > 0:
                self.follow_end()
            elif self.blocks:
                self.show_block(0)  # and more are loaded above
            return False
        self.show_block(found)
        if self.has_focus:
            self._mark.put(self.blocks[found])
            self._note_marked()
        return True

    def _blocks_in_view(self) -> list[Block]:
        return [self.blocks[position.block] for position in self.in_view()]

    # Events

    def show_event(self, seq: int) -> None:
        """Mark and scroll to the block of an event, else the last block before it."""
        position = index_of_event(self.blocks, seq)
        if position is not None:
            self._mark.put(self.blocks[position])
            self._note_marked()
            self.show_block(position)
            self._shown_event = (seq, self.blocks[position])

    def action_show_in_timeline(self) -> None:
        """Show the marked block's event in the timeline; the event shown last, if its block is still marked."""
        block = self._mark.block
        if block is not None and self._shown_event[1] is block:
            self.post_message(self.ShowInTimeline(self._shown_event[0]))
        elif (position := self._layout.index_of(block) if block is not None else None) is not None:
            self.post_message(self.ShowInTimeline(event_at(self.blocks, position)))

    # Selecting and copying

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        from co_tui.ui.transcript.selected_text import selected_text

        return selected_text(self._layout, selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def action_copy(self) -> bool:
        """Copy the selection, else the marked blocks, else the last reply; False if there is none of them."""
        if selected := self.screen.get_selected_text():
            self.post_message(self.Copied(selected, "selection"))
            return True
        last = next(([each] for each in reversed(self.blocks) if each.kind == "reply"), [])
        if blocks := self._mark.marked(self._layout) or last:
            what = f"{len(blocks)} messages" if len(blocks) > 1 else "message"
            self.post_message(self.Copied(copied_text(blocks), what))
        return bool(blocks)

    def action_copy_code(self) -> None:
        """Copy a code block of the marked message; repeated, the next one."""
        if (code := self._codes.next_of(self._mark.block)) is not None:
            self.post_message(self.Copied(*code))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys of actions that the marked block does not have."""
        block = self._mark.block
        if block is None:
            return True
        match action, parameters:
            case "copy_code", _:
                return "```" in block.text or "~~~" in block.text
            case "on_block", ("links",):
                return "://" in block.plain or "mailto:" in block.plain
            case "on_block", ("edit",):
                return block.kind == "user" and block.seq > 0 and block.turn > 0
            case "on_block", ("fork" | "pin",):
                return block.is_message
            case "open", _:
                return block.foldable or block.opens > 0
            case _:
                return True

    def label_of(self, action: str) -> str:
        """A key's label for the marked block, where it differs from the table of keys; else empty."""
        is_pinned = self._mark.block is not None and self._mark.block.pinned
        return "Unpin" if action == "on_block('pin')" and is_pinned else ""

    def action_on_block(self, action: MessageAction) -> None:
        if self._mark.block is not None:
            self._request(action, self._mark.block)

    def _request(self, action: MessageAction, block: Block) -> None:
        """Request an action; "view" becomes "see" for a block with images, where they can be drawn."""
        draws = self._layout.renderer is not None and self._layout.renderer.draws_images
        self.post_message(self.ActionRequested("see" if action == "view" and block.images and draws else action, block))

    # Folding

    def on_click(self, event: events.Click) -> None:
        if self.screen.get_selected_text():
            return
        if address := event.style.link:
            self.post_message(self.LinkClicked(address))
            return
        position = self._position_at(event.y - self.gutter.top)
        if position is not None:
            block, laid = self.blocks[position.block], self._layout.lay_out(position.block)
            if laid.is_drawn(position.line):
                self._request("view", block)
            elif block.opens or (block.is_step and position.line == laid.title_line):
                self._open(block)

    def action_open(self) -> None:
        block = self._mark.start(self._blocks_in_view())
        if block is not None and (block.foldable or block.opens):
            self._open(block)

    def _open(self, block: Block) -> None:
        """Open a compaction, show an image full-screen, or toggle a fold."""
        if block.opens:
            self._request("open", block)
        elif block.is_drawn_image:
            self._request("view", block)
        else:
            self._toggle(block)

    def toggle_all(self) -> None:
        """Unfold all blocks, or fold all when none is folded."""
        toggle_all(self._layout)
        self._settle()

    def _toggle(self, block: Block) -> None:
        block.folded = not block.folded
        if self._following and not block.folded:
            # The reader unfolds to read: stop following the end.
            self._follow(False)
        self.changed(block)

    # Searching

    @cached_property
    def search(self) -> "Search":
        from co_tui.ui.transcript.matches import Search

        self._is_searched = True
        return Search()

    def find(self, text: str, *, back: bool = False) -> bool:
        """Highlight a text and go to the next match above, or below with `back`."""
        self.search.set_needle(text)
        self.refresh()
        if not text or not self.blocks:
            return False
        seen = self.in_view()
        found = self.search.step(self._layout, seen[-1] if seen else self._top, 1 if back else -1)
        if found is not None and found not in seen[1:-1]:
            self.show_block(*found)
        return found is not None

    def _resized(self) -> None:
        """Lines wrap differently: keep the current match in view if it was."""
        if not self._is_searched:
            super()._resized()
            return
        before = self.search.position(self._layout)
        was_seen = before in self._layout.window(self._top, self._settled_size.height)
        super()._resized()
        found = self.search.position(self._layout)
        if was_seen and found is not None and found not in self.in_view():
            self.show_block(*found)
