"""One block of the transcript: a message, a tool call, a note."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from co_tui.events.file_diff import CHECKED, is_diff, read_diff
from co_tui.events.images import images_label
from co_tui.events.tool_calls import GIST_CHARS, tool_label
from co_tui.events.tool_wording import argument_lines, call_summary
from co_tui.inert import inert, one_line
from co_tui.session.state.removals import Removal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from co_tui.terminal_text import Coloured
    from co_tui.ui.images.block_image import BlockImage

ATTACHED, MADE = "attached", "made"
"""Stand-ins for a tool name: a file attached to a prompt, an image made by the model."""
RAN, NOTED = "you ran", "note"
"""More of them: a command the user ran, a note for the model."""

UNKNOWN_SPEAKER = "co-tui"
MAX_DRAWN = 8
"""Images of a block drawn in the chat; all of them can be opened."""
PROMPT_LINES = 20
PROMPT_CHARS = 4_000
"""Longer prompts are folded: most of such a text was pasted."""

DIFF_LINES_OPEN = 12
"""A longer diff is folded to as many of its lines."""

Kind: TypeAlias = Literal[
    "user", "reply", "thinking", "tool", "plan", "note", "error", "compaction", "boundary", "welcome"
]


@dataclass(slots=True, eq=False)
class Block:
    """One entry of the transcript. Texts are already inert."""

    kind: Kind
    text: str
    time: str = ""
    folded: bool = False
    first_of_reply: bool = False
    """Whether the speaker's name is shown above it."""
    speaker: str = ""
    """The model or program that wrote it; empty if it is not known."""
    tight: bool = False
    """Whether no empty line separates it from the block above."""
    interrupted: bool = False
    unsaved: bool = False
    """Not in the log yet; lost if the app ends before it is saved."""
    queued: bool = False
    """A prompt that waits for its turn: one line, whatever its length."""
    unseen: bool = False
    """Not in the transcript: a call whose effect is shown elsewhere."""
    tool_name: str = ""
    tool_call_id: str = ""
    result: str = ""
    short: str = ""
    """A prompt with its pasted parts as tokens; shown while it is folded."""
    colours: "tuple[Coloured, ...]" = ()
    """Of the result, as the command printed it."""
    status: str = ""
    diff: str = ""
    """The change of a file that the call made; empty for other calls, and in sessions of older versions."""
    previews_diff: bool = False
    """Whether folding leaves the first lines of the diff: it is too long to be open by default."""
    unfold_key: str = ""
    """Shows all of the diff, wherever the focus is."""
    inner: str = ""
    """What a delegate did for this call, line by line."""
    outcome: str = ""
    """How a delegate ended; shown instead of the result's length."""
    images: "tuple[BlockImage, ...]" = ()
    pinned: bool = False
    """Whether compaction keeps its message."""
    removal: Removal | None = None
    """Why its message is no longer sent; None while it is."""
    quoted: bool = False
    """Whether the model still sees the words of a removed prompt, because the summary quotes them."""
    undone: bool = False
    """Whether this compaction was undone."""
    opens: int = 0
    """The event that Enter opens."""
    seq: int = 0
    result_seq: int = 0
    """Event of the message with the tool's result."""
    turn: int = 0

    @property
    def speaker_name(self) -> str:
        return "You" if self.kind == "user" else self.speaker or UNKNOWN_SPEAKER

    @property
    def is_message(self) -> bool:
        """Whether it is part of the conversation, not a note about it."""
        return self.seq > 0 and self.kind not in ("note", "error", "plan", "compaction", "boundary", "welcome")

    @property
    def is_faded(self) -> bool:
        """Whether the model no longer sees it."""
        return self.removal is not None and not self.quoted

    @property
    def is_aside(self) -> bool:
        """Whether it comments on the conversation, and fades with the messages around it."""
        return self.kind in ("note", "error", "plan")

    def __post_init__(self) -> None:
        self.folded = self.folded or self.is_long_prompt

    @property
    def is_step(self) -> bool:
        """Whether it is a working step, folded to one line by default."""
        return self.kind in ("thinking", "tool", "plan")

    @property
    def is_of_reply(self) -> bool:
        """Whether the model wrote it."""
        if self.kind == "tool":
            return self.tool_name not in (ATTACHED, RAN, NOTED)
        return self.kind in ("reply", "thinking", "plan")

    def put_below(self, blocks: "Sequence[Block]") -> int:
        """Draw it, which was the first of all, as it looks below these; returns by how many rows its head grew."""
        before = next((block for block in reversed(blocks) if block.kind != "boundary"), None)
        if before is None or self.kind == "boundary":
            return 0
        rows = self.first_of_reply - self.tight
        self.first_of_reply = self.first_of_reply and not before.is_of_reply
        self.tight = self.is_step and before.is_step and not self.first_of_reply
        return self.first_of_reply - self.tight - rows

    @property
    def is_long_prompt(self) -> bool:
        """Whether it is folded to its first lines."""
        is_long = self.text.count("\n") >= PROMPT_LINES or len(self.text) > PROMPT_CHARS
        return self.kind == "user" and not self.queued and is_long

    @property
    def foldable(self) -> bool:
        return self.is_step or self.is_long_prompt or bool(self.short)

    @property
    def is_drawn_image(self) -> bool:
        """Whether opening it shows the image full-screen."""
        return self.is_only_image and self.images[0].picture is not None

    @property
    def drawn_images(self) -> "tuple[BlockImage, ...]":
        """The images drawn in the chat; the rest are only counted."""
        return () if self.hides_images else self.images[:MAX_DRAWN]

    @property
    def hides_images(self) -> bool:
        """Whether its images are folded away along with its text."""
        return self.kind == "tool" and self.folded and not self.is_only_image

    @property
    def is_only_image(self) -> bool:
        """Whether the block is just an image."""
        return bool(self.images) and self.tool_name in (ATTACHED, MADE)

    @property
    def images_label(self) -> str:
        """Its images in words; empty when its title says so already."""
        return "" if self.is_only_image else images_label([image.stored for image in self.images])

    @property
    def gist(self) -> str:
        """The block in one line, shown when folded."""
        if self.kind == "tool":
            return call_summary(self.tool_name, self.text)
        return one_line(self.text, GIST_CHARS)

    @property
    def whole(self) -> str:
        """The full text as written, for copying and for the pager."""
        if self.kind != "tool":
            return "\n".join(filter(None, (self.text, self.result, self.images_label)))
        asked = inert(self.diff) if is_diff(self.diff) and "\n… " not in self.diff else argument_lines(self.text)
        return "\n\n".join(filter(None, (asked, self.result, self.images_label)))

    @property
    def plain(self) -> str:
        """The text that is searched."""
        if self.kind != "tool":
            return self.text
        asked = f"{self.gist}\n{self.diff}" if self.diff else self.text
        said = self.result.partition(CHECKED)[2] if self.diff else self.result
        return f"{tool_label(self.tool_name)} {asked}\n{said}"

    def show_printed(self, text: str, before: str = "") -> None:
        """Show what a command printed, in its colours, behind other text."""
        from co_tui.terminal_text import printed  # not needed for the first paint

        said = printed(text)
        self.result = before + inert(said.text)
        moved = (each._replace(start=each.start + len(before), end=each.end + len(before)) for each in said.colours)
        self.colours = tuple(moved) if len(self.result) == len(before) + len(said.text) else ()

    def show_change(self, diff: str, unfold_key: str) -> None:
        """Show the change that the call made; a short one is open."""
        self.diff, self.unfold_key = diff, unfold_key
        change = read_diff(diff)
        if change is not None:
            self.previews_diff = len(change.rows) > DIFF_LINES_OPEN or bool(change.left_out)
            self.folded = self.previews_diff
