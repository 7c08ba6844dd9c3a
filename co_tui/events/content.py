"""Message contents as text. A module of its own because it imports pydantic_core, which is slow to load."""

from collections.abc import Iterator, Sequence

from pydantic_core import to_json

from co_tui.events import stored_messages
from co_tui.events.stored_messages import ATTACHED, file_label, joined_texts


def content_text(content: object, indent: int | None = None) -> str:
    """A tool result as the text that is sent: itself, or JSON. Files appear by media type only."""
    if isinstance(content, str):
        return content
    if media_type := media_type_of(content):
        return file_label([media_type])
    if isinstance(content, list) and any(map(media_type_of, content)):
        return joined_texts(content, media_type_of, content_text)
    return to_json(content, indent=indent, fallback=str, bytes_mode="base64").decode(errors="replace")


def prompt_text(content: object) -> str:
    """All text of a prompt, including attached text files; other files appear by media type."""
    return _joined(content, typed_only=False)


def typed_text(content: object) -> str:
    """What the user typed in a prompt, without the text of its files."""
    return _joined(content, typed_only=True)


def attached_texts(content: object) -> Iterator[tuple[str, str]]:
    """The name and text of each text file attached to a prompt."""
    for item in content if isinstance(content, Sequence) and not isinstance(content, str) else ():
        metadata, text = getattr(item, "metadata", None), getattr(item, "content", None)
        if isinstance(metadata, dict) and isinstance(text, str) and ATTACHED in metadata:
            yield str(metadata[ATTACHED]), text


def media_type_of(item: object) -> str:
    """The media type of a binary file, as a pydantic-ai object or as stored JSON; empty for anything else."""
    if getattr(item, "kind", "") != "binary":
        return stored_messages.media_type_of(item)
    return str(getattr(item, "media_type", "")) or "a file"


def files_in(content: object) -> list[object]:
    """The files of a tool result, which are sent separately from its text."""
    return [each for each in (content if isinstance(content, list) else [content]) if media_type_of(each)]


def without_files(content: object) -> object:
    """A tool result without its files; a single remaining item is returned as is."""
    rest = [each for each in (content if isinstance(content, list) else [content]) if not media_type_of(each)]
    return rest[0] if len(rest) == 1 else rest or ""


def _joined(content: object, *, typed_only: bool) -> str:
    if isinstance(content, str) or not isinstance(content, Sequence):
        return content_text(content)
    chosen = [item for item in content if not typed_only or _is_typed(item)]
    return joined_texts(chosen, media_type_of, _item_text)


def _is_typed(item: object) -> bool:
    metadata = getattr(item, "metadata", None)
    is_file = isinstance(metadata, dict) and ATTACHED in metadata
    return isinstance(item, str) or (not is_file and isinstance(getattr(item, "content", None), str))


def _item_text(item: object) -> str:
    if isinstance(item, str):
        return item
    text = getattr(item, "content", None)
    if isinstance(text, str):
        return text.strip()
    kind = getattr(item, "url", None) or getattr(item, "media_type", None) or getattr(item, "kind", "")
    return f"[{kind}]" if kind else ""
