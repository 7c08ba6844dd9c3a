"""A streaming reply, stored piece by piece so that a crash loses nothing that arrived."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class DraftPiece(NamedTuple):
    """The next piece of one part of the reply."""

    part: int
    kind: str
    text: str
    tool_name: str = ""
    tool_call_id: str = ""


def joined(pieces: Iterable[DraftPiece]) -> list[DraftPiece]:
    """The pieces, with consecutive ones of the same part merged."""
    runs: list[tuple[DraftPiece, list[str]]] = []
    for piece in pieces:
        if runs and runs[-1][0].part == piece.part:
            runs[-1][1].append(piece.text)
        else:
            runs.append((piece, [piece.text]))
    return [first._replace(text="".join(texts)) for first, texts in runs]


def read_pieces(stored: object) -> list[DraftPiece]:
    """The valid pieces of a stored row."""
    found = []
    for each in stored if isinstance(stored, list) else ():
        if isinstance(each, list) and len(each) == len(DraftPiece._fields):
            part, *texts = each
            if isinstance(part, int) and all(isinstance(text, str) for text in texts):
                found.append(DraftPiece(part, *texts))
    return found


def reply_so_far(pieces: Sequence[DraftPiece], model: str, started: str) -> dict[str, Any] | None:
    """The reply as a stored message, marked as interrupted; None if there is nothing to keep."""
    texts: dict[int, list[str]] = {}
    kinds: dict[int, str] = {}
    for piece in pieces:
        kinds.setdefault(piece.part, piece.kind)
        texts.setdefault(piece.part, []).append(piece.text)
    # A tool call with incomplete arguments was never made.
    parts = [
        {"part_kind": kind, "content": "".join(texts[part])} for part, kind in kinds.items() if kind != "tool_call"
    ]
    if not parts:
        return None
    return {"kind": "response", "parts": parts, "model_name": model, "timestamp": started, "state": "interrupted"}
