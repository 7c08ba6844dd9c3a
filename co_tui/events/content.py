"""A tool result as text. Apart from the rest of this room, since it loads what pydantic is made of."""

from pydantic_core import to_json


def content_text(content: object) -> str:
    """A tool result as the text it is sent as: itself, or JSON."""
    if isinstance(content, str):
        return content
    return to_json(content, fallback=str, bytes_mode="base64").decode(errors="replace")
