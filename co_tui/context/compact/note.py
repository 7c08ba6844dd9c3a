"""The note that replaces messages: what its writer is asked, and which of its names nobody said (C20, C21). Pure."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from co_tui.context.memory.names import kind_of, names_in

INTRO: Final = (
    "Earlier messages were replaced by this note, which you wrote before the messages below. Files may have changed "
    "since: read before you edit."
)
NOT_FOUND: Final = "(not found in the conversation)"
_ASKED: Final = """\
This message is from co-tui, not from the user. It is no part of the task: pause the work, call no tool, and answer
with a note alone.

Older messages are about to leave your context. The note takes their place, and you will continue from it without
them. Write it for someone who takes over, at most about {words} words, in plain Markdown, without a preamble:

1. Where it stands: the task as you understand it now, and what the user insists on; what is decided, and by whom;
what is done and in effect; what was tried and given up, and why; what is in progress, and what is next.
2. What was learnt: exact names, paths, commands, values, signatures and error texts, with where they are. Quote
short code word for word where its exact form will be needed.

{earlier}These stay in your context anyway, so do not repeat them, and do not call them missing: {stays}.
State only what this conversation shows. Mark what you are not sure of. Do not add advice or steps that were not
decided.{focus}"""
_EARLIER: Final = {
    "note": (
        "The message that begins with `[Earlier conversation, summarised]` has your last note. Bring it up to date: "
        "keep what still holds, correct what changed, drop what is settled and no longer needed.\n\n"
    ),
    "summary": (
        "The message that begins with `[Earlier conversation, summarised]` has what code extracted from the time "
        "before. Take over what still matters.\n\n"
    ),
}
_TEXT_ALONE: Final = "Calls are not run now. Answer with the note alone, as text."
_JOINTS: Final = re.compile(r"[/.:#()\\-]+|::")
LEAST_PIECE_CHARS: Final = 3


def note_request(words: int, stays: Sequence[str], earlier: str = "", focus: str = "") -> str:
    """What the model is asked, as the next message of its conversation. `stays` names what it need not repeat;
    `earlier` is what the conversation begins with: a note, a summary or neither."""
    return _ASKED.format(
        words=words,
        earlier=_EARLIER.get(earlier, ""),
        stays="; ".join(stays),
        focus=f"\nAbove all, keep what is about: {focus}" if focus else "",
    )


def text_alone_request() -> str:
    """What is asked after a reply that has calls and no text."""
    return _TEXT_ALONE


def unknown_names(note: str, said: str) -> tuple[str, ...]:
    """The paths, identifiers and numbers of a note of which some part is nowhere in the conversation, in order.

    `said` is the conversation in lower case. A name may be put together from what was said: a method and its class, a
    file and its folder.
    """
    names = [name for name in names_in(note) if kind_of(name) is not None and not _is_said(name.lower(), said)]
    return tuple(name for name in names if not any(name != other and name in other for other in names))


def _is_said(name: str, said: str) -> bool:
    return name.removesuffix("s") in said or all(
        piece in said for piece in _JOINTS.split(name) if len(piece) >= LEAST_PIECE_CHARS
    )


def marked(note: str, names: Collection[str]) -> str:
    """The note with a mark behind the first occurrence of each of these names."""
    for name in names:
        pattern = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])`?")
        note = pattern.sub(lambda found: f"{found[0]} {NOT_FOUND}", note, count=1)
    return note
