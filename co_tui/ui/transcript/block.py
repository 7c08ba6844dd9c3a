"""One block of the transcript: a thing that was said or done. Texts are already inert."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from co_tui.events.images import images_label
from co_tui.inert import one_line
from co_tui.session.tool_wording import GIST_CHARS, argument_lines, call_summary
from co_tui.ui.images.block_image import MOST_DRAWN, BlockImage

ATTACHED, MADE = "attached", "made"
"""The names of a file that went with a prompt and of one that a model made, where tools have theirs."""

PROMPT_LINES = 60
"""A prompt of so many lines shows as a whole."""

Kind: TypeAlias = Literal["user", "reply", "thinking", "tool", "plan", "note", "error", "compaction", "welcome"]


@dataclass(slots=True, eq=False)
class Block:
    """One entry of the transcript. Texts are already inert."""

    kind: Kind
    text: str
    time: str = ""
    folded: bool = False
    first_of_reply: bool = False
    """Carries the speaker's name above it."""
    tight: bool = False
    """Stands right below the block before it, without an empty line between."""
    interrupted: bool = False
    unsaved: bool = False
    """Said, but not in the log: it is lost when the app ends before it could be saved."""
    tool_name: str = ""
    tool_call_id: str = ""
    result: str = ""
    status: str = ""
    inner: str = ""
    """What a delegate did for this call, line by line."""
    outcome: str = ""
    """How a delegate ended; stands where the length of the result would."""
    images: tuple[BlockImage, ...] = ()
    pinned: bool = False
    """Whether its message stays in the context, whatever is compacted."""
    seq: int = 0
    result_seq: int = 0
    """Of the message that brought a tool's result."""
    turn: int = 0

    @property
    def is_message(self) -> bool:
        """Whether it was said in the session, and is no word of ours about it."""
        return self.seq > 0 and self.kind not in ("note", "error", "plan", "compaction", "welcome")

    def __post_init__(self) -> None:
        self.folded = self.folded or self.is_long_prompt

    @property
    def is_step(self) -> bool:
        """Whether it is a part of the work, told in one line until it is opened."""
        return self.kind in ("thinking", "tool", "plan")

    @property
    def is_long_prompt(self) -> bool:
        """Whether only its beginning shows until it is opened: most of it was pasted."""
        return self.kind == "user" and self.text.count("\n") >= PROMPT_LINES

    @property
    def foldable(self) -> bool:
        return self.is_step or self.is_long_prompt

    @property
    def is_drawn_image(self) -> bool:
        """Whether opening it means to see it in large."""
        return self.is_only_image and self.images[0].picture is not None

    @property
    def drawn_images(self) -> tuple[BlockImage, ...]:
        """Those that have a place in the chat; of the others it is only said how many there are."""
        return () if self.hides_images else self.images[:MOST_DRAWN]

    @property
    def hides_images(self) -> bool:
        """Whether its images, like its text, are seen once it is opened."""
        return self.kind == "tool" and self.folded and not self.is_only_image

    @property
    def is_only_image(self) -> bool:
        """Whether it has nothing to tell but what can be seen."""
        return bool(self.images) and self.tool_name in (ATTACHED, MADE)

    @property
    def images_label(self) -> str:
        """What is said of its images in words, unless its line says that already."""
        return "" if self.is_only_image else images_label([image.stored for image in self.images])

    @property
    def gist(self) -> str:
        """The block in one line, for when it is folded."""
        if self.kind == "tool":
            return call_summary(self.tool_name, self.text)
        return one_line(self.text, GIST_CHARS)

    @property
    def whole(self) -> str:
        """All that was said, as it was written: for copying, and for reading at length."""
        if self.kind != "tool":
            return "\n".join(filter(None, (self.text, self.result, self.images_label)))
        asked = argument_lines(self.text)
        return "\n\n".join(filter(None, (asked, self.result, self.images_label)))

    @property
    def plain(self) -> str:
        """Everything readable in it, for searching."""
        return f"{self.tool_name} {self.text}\n{self.result}" if self.kind == "tool" else self.text


def clock(timestamp: str) -> str:
    """The local time of day of an event's timestamp."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%H:%M}"
    except ValueError:
        return ""
