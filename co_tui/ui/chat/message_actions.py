"""Actions on a message: edit and resend, fork, pin, view in full, open its links."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from co_tui.events.tool_calls import tool_label
from co_tui.inert import one_line
from co_tui.ui.terminal.clipboard import copy
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.transcript import MessageAction
from co_tui.web_addresses import addresses_in

if TYPE_CHECKING:
    from co_tui.ui.chat.chat_host import ChatHost

_NAMES = {
    "user": "Your prompt",
    "reply": "The reply",
    "thinking": "A thought",
    "plan": "The plan",
    "note": "A note",
    "compaction": "A compaction",
}


class MessageActions:
    """Runs the actions requested in a transcript; those that change the session are commands."""

    def __init__(self, screen: Screen[Any], host: "ChatHost") -> None:
        self._screen = screen
        self._host = host

    def do(self, action: MessageAction, block: Block) -> None:
        match action:
            case "edit":
                from co_tui.session.slash.file_rewinds import EDIT

                self._host.run_command("rewind", f"{block.turn} {EDIT}")
            case "fork" | "pin":
                self._host.run_command(action, str(block.seq))
            case "view":
                self._read(block)
            case "see":
                self._see(block)
            case "links":
                self.show_links(addresses_in(block.plain))

    def copied(self, text: str, what: str) -> None:
        copy(self._screen.app, text, what)

    def show_links(self, addresses: Sequence[str]) -> None:
        """Show where links lead; the dialog opens the one chosen."""
        from co_tui.ui.chat.link_dialog import LinksScreen

        if addresses:
            self._screen.app.push_screen(LinksScreen(addresses, self._host.open_address))

    def _see(self, block: Block) -> None:
        """Show its images full-screen, or its text when none of them can be drawn."""
        if drawable := [image for image in block.images if not image.error]:
            from co_tui.ui.chat.image_screen import ImageScreen

            self._screen.app.push_screen(ImageScreen(_title(block), drawable))
        else:
            self._read(block)

    def _read(self, block: Block) -> None:
        from co_tui.ui.dialogs.text_screen import PagerScreen

        self._screen.app.push_screen(PagerScreen(_title(block), block.whole))


def _title(block: Block) -> str:
    """The block's kind and time."""
    call = f"{tool_label(block.tool_name)} · {one_line(block.gist, 60)}"
    name = call if block.kind == "tool" else _NAMES.get(block.kind, "")
    return " · ".join(filter(None, (name or "Message", block.time)))
