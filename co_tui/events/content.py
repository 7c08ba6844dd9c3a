"""Contents of messages as text. Apart from the rest of this room, since it loads what pydantic is made of."""

from collections.abc import Iterator, Sequence

from pydantic_core import to_json

from co_tui.events.messages import ATTACHED


def content_text(content: object) -> str:
    """A tool result as the text it is sent as: itself, or JSON."""
    if isinstance(content, str):
        return content
    return to_json(content, fallback=str, bytes_mode="base64").decode(errors="replace")


def prompt_text(content: object) -> str:
    """All text of a prompt, that of its files included; what is no text, by its kind."""
    return _joined(content, typed_only=False)


def typed_text(content: object) -> str:
    """What the user typed in a prompt, without the text of its files."""
    return _joined(content, typed_only=True)


def attached_texts(content: object) -> Iterator[tuple[str, str]]:
    """The files of a prompt that are text: the name and the text of each."""
    for item in content if isinstance(content, Sequence) and not isinstance(content, str) else ():
        metadata, text = getattr(item, "metadata", None), getattr(item, "content", None)
        if isinstance(metadata, dict) and isinstance(text, str) and ATTACHED in metadata:
            yield str(metadata[ATTACHED]), text


def _joined(content: object, *, typed_only: bool) -> str:
    if isinstance(content, str) or not isinstance(content, Sequence):
        return content_text(content)
    texts = (_item_text(item) for item in content if not typed_only or _is_typed(item))
    return "\n".join(filter(None, texts))


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
    kind = getattr(item, "media_type", None) or getattr(item, "url", None) or getattr(item, "kind", "")
    return f"[{kind}]" if kind else ""
