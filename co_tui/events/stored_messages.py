"""Reading stored messages as plain JSON, without pydantic-ai.

The first paint, the session list and the search index need texts and roles before the engine is loaded.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from co_tui.events.storable import Json, dump
from co_tui.inert import one_line

T = TypeVar("T")
Role: TypeAlias = Literal[
    "user", "assistant", "thinking", "tool_call", "tool_result", "system", "attached", "command", "note"
]

TITLE_CHARS = 72
MEDIA_TYPE_CHARS = 40
MOST_TYPES = 3

REPLACES = "co_tui_stands_for"
"""Metadata of a message that replaces others: how many. Its role is user, but the user did not write it."""
SUMMARY = "co_tui_summary"
"""Metadata of a message with a summary: the summary alone."""
RULES, QUOTES, UNQUOTED = "co_tui_rules", "co_tui_said", "co_tui_unsaid"
"""Metadata of the same: the user's standing rules, quoted user messages, and how many are not quoted."""
EXCERPTS = "co_tui_excerpts"
"""Metadata of the same in older sessions: the original lines it contains, each with its position."""
JOURNAL = "co_tui_journal"
"""Metadata of the same: the entries of its work journal, and how long each appended piece is."""
NOT_A_HEADING = "› "
"""Prefix of an original line in a summary that could be mistaken for one of our headings."""
RECOLLECTED = "co_tui_recollected"
"""Metadata of a request with a recollected note added to it: the note."""
ATTACHED = "co_tui_attached"
"""Metadata of a text inside a prompt: the name of the file it was read from. Typed text comes first."""
COMMAND = "co_tui_command"
"""Metadata of a message about a command the user ran: the command. Its role is user, but it is not a prompt."""
NOTE = "co_tui_note"
"""Metadata of a note for the model, such as what a hook added: where it comes from. Its role is user, but it is not a
prompt."""
RESTORED = "co_tui_restored"
"""Metadata of a note about restored files: the folder, the events it is about, which files are as before the session
(`as_before`), and which are not (`changed`)."""
SLASH = "co_tui_slash"
"""Metadata of a prompt that a slash command wrote: what the user typed, and the file or server that it comes from."""
INSTRUCTIONS = "co_tui_instructions"
"""Metadata of a tool's result: the names of the project's instruction files that were added to it."""
PASTED = "co_tui_pasted"
"""Metadata of a prompt: where the parts of it that were pasted and folded begin and end."""
COMPACTED_AS = "co_tui_compacted_as"
"""The signal by which a provider reported with this reply that it compacted the conversation by itself."""
FOREIGN_ID = "co_tui_foreign_id"
"""Metadata of an imported message: its id in the program that wrote it, else a fingerprint of its content."""

_ROLES: dict[str, Role] = {
    "user-prompt": "user",
    "text": "assistant",
    "file": "assistant",
    "thinking": "thinking",
    "tool-call": "tool_call",
    "builtin-tool-call": "tool_call",
    "tool-return": "tool_result",
    "builtin-tool-return": "tool_result",
    "retry-prompt": "tool_result",
    "retry-feedback": "system",
    "compaction": "assistant",
    "system-prompt": "system",
}


def parts_in(message: Json) -> list[Json]:
    """The parts of a message; a log from elsewhere may hold anything in their place."""
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list | tuple) else []


def pieces(message: Json) -> Iterator[tuple[Role, str, Json]]:
    """Each readable part of a message: its role, its text, and the part itself."""
    parts, other, typed = message.get("parts"), _other_role(message), slash_command_in(message)
    for part in parts if isinstance(parts, list | tuple) else ():
        role = _ROLES.get(str(part.get("part_kind"))) if isinstance(part, Mapping) else None
        if role is None:
            continue
        if role == "user" and typed is not None:
            yield "user", typed.text, part
            yield from _written_by(typed, part)
            continue
        if role == "user" and (files := _files_in(part)):
            content = part["content"]
            yield "user", text_of(content[: content.index(files[0])]), part
            yield from (("attached", str(file.get("content") or "").strip(), file) for file in files)
            continue
        role = other if role == "user" and other else role
        content = part.get("args") if role == "tool_call" else part.get("content")
        yield role, text_of(content), part


def quoted_in(message: Json, kind: str) -> list[str]:
    """The user's words, `RULES` or `QUOTES`, that a message which replaces others says in its own text."""
    quotes = (message.get("metadata") or {}).get(kind)
    if not quotes or not isinstance(quotes, list | tuple):
        return []
    text = "\n".join(str(part.get("content")) for part in message.get("parts") or () if isinstance(part, Mapping))
    return [quote for quote in quotes if isinstance(quote, str) and quote and quote in text]


def command_in(message: Json) -> str:
    """The command of a message about a command the user ran; empty for other messages."""
    return _text_in(message, COMMAND)


class TypedSlashCommand(NamedTuple):
    """What the user typed for a prompt that a slash command wrote."""

    text: str
    source: str


def slash_command_in(message: Json) -> TypedSlashCommand | None:
    """The slash command that wrote a prompt; None for other messages."""
    return typed_command(message.get("metadata"))


def typed_command(metadata: object) -> TypedSlashCommand | None:
    """The same from a message's metadata."""
    stored = metadata.get(SLASH) if isinstance(metadata, Mapping) else None
    if not isinstance(stored, Mapping):
        return None
    return TypedSlashCommand(str(stored.get("typed") or ""), str(stored.get("source") or ""))


def as_sent(message: Json) -> Json:
    """The message as the model gets it: without what the user typed for a slash command."""
    if slash_command_in(message) is None:
        return message
    return {**message, "metadata": {key: value for key, value in message["metadata"].items() if key != SLASH}}


def _written_by(typed: TypedSlashCommand, part: Json) -> Iterator[tuple[Role, str, Json]]:
    """What the command wrote, as a file that is attached to what the user typed; then the attached files."""
    content, files = part.get("content"), _files_in(part)
    own = content[: content.index(files[0])] if files and isinstance(content, list) else content
    text = f"## {typed.source}\n{text_of(own)}"
    yield "attached", text, {"content": text, "metadata": {ATTACHED: typed.source}}
    yield from (("attached", str(file.get("content") or "").strip(), file) for file in files)


def note_source(message: Json) -> str:
    """Where a note for the model comes from; empty for other messages."""
    return _text_in(message, NOTE)


def note_heading(source: str) -> str:
    """The first line of a note for the model."""
    return f"[Note from {source}, not from the user]\n"


def _text_in(message: Json, key: str) -> str:
    metadata = message.get("metadata")
    text = metadata.get(key) if isinstance(metadata, Mapping) else None
    return text if isinstance(text, str) else ""


def _other_role(message: Json) -> Role | None:
    """The role of a message that has the user's, but that the user did not write as a prompt."""
    return "command" if command_in(message) else "note" if note_source(message) else None


def _files_in(part: Json) -> list[Json]:
    content = part.get("content")
    return [item for item in content if attached_name(item)] if isinstance(content, list) else []


def attached_name(item: Any) -> str:
    """The name of the file a prompt item was read from; empty for other items."""
    metadata = item.get("metadata") if isinstance(item, Mapping) else None
    name = metadata.get(ATTACHED) if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def text_of(content: Any) -> str:
    """The readable text of a part's content: a string, a list, data as JSON, or a file by its media type."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return joined_texts(content, media_type_of, _item_text)
    if media_type := media_type_of(content):
        return file_label([media_type])
    return dump(content)


def media_type_of(item: Any) -> str:
    """The media type of a file stored inside a message; empty for anything else."""
    if not isinstance(item, Mapping) or item.get("kind") != "binary" or not isinstance(item.get("data"), str):
        return ""
    media_type = item.get("media_type")
    return media_type if isinstance(media_type, str) and media_type else "a file"


def _item_text(item: Any) -> str:
    if isinstance(item, dict) and "kind" in item:
        # A text, file or link inside a prompt.
        label = item.get("url") or item.get("media_type") or item.get("content") or ""
        return str(label) if item["kind"] == "text-content" else f"[{item['kind']} {label}]".replace(" ]", "]")
    return text_of(item)


def prompt_of(message: Json) -> str | None:
    """The user's text in a message; None if it has none (a reply, tool results)."""
    texts = [text for role, text, _ in pieces(message) if role == "user"]
    return "\n".join(texts) if texts else None


Span: TypeAlias = tuple[int, int]
"""Where a part of a text begins and ends."""


def pasted_in(message: Json) -> list[Span]:
    """The parts of a prompt that were pasted and folded, in order; empty if they cannot be those of its text."""
    metadata = message.get("metadata")
    stored = metadata.get(PASTED) if isinstance(metadata, Mapping) else None
    length, spans, last = len(prompt_of(message) or "") if stored else 0, list[Span](), 0
    for span in stored if isinstance(stored, list | tuple) else ():
        match span:
            case [int(start), int(end)] if last <= start < end <= length:
                spans.append((start, end))
                last = end
            case _:
                return []
    return spans


def replaced_spans(text: str, spans: Iterable[Span], replacement: Callable[[str], str]) -> str:
    """The text with something else in place of parts of it."""
    parts, last = list[str](), 0
    for start, end in spans:
        parts += text[last:start], replacement(text[start:end])
        last = end
    return "".join((*parts, text[last:]))


def pasted_size(text: str) -> str:
    """How long a pasted text is, in words."""
    lines = text.removesuffix("\n").count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"


def typed_in(message: Json) -> str:
    """A prompt without what was pasted, or all of it if nothing was typed; empty if it is no prompt."""
    prompt = prompt_of(message) or ""
    typed = replaced_spans(prompt, pasted_in(message), lambda _: "\n")
    return typed if typed.strip() else prompt


def title_in(message: Json) -> str:
    """The default title of a session that begins with this prompt; empty if it is no prompt."""
    return title_of(typed_in(message))


def replacing_texts(messages: Iterable[Json]) -> Iterator[str]:
    """What replaces other messages, as it is sent: whole messages, and the summary that was added to a prompt."""
    for message in messages:
        metadata = message.get("metadata")
        if not isinstance(metadata, Mapping) or not {REPLACES, SUMMARY} & metadata.keys():
            continue
        summary = "" if REPLACES in metadata else str(metadata[SUMMARY])
        yield from (text for _, text, _ in pieces(message) if summary in text)


def title_of(prompt: str) -> str:
    """The default title of a session: the prompt's first line, clipped."""
    first = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    # Control characters and lone surrogates must not reach a list or a window title.
    first = "".join(
        " " if character == "\t" else character for character in first if character.isprintable() or character == "\t"
    )
    return first if len(first) <= TITLE_CHARS else first[: TITLE_CHARS - 1].rstrip() + "…"


def file_label(media_types: Sequence[str]) -> str:
    """One line for all files of a message: the media type of one, the count of several."""
    kinds = list(dict.fromkeys(one_line(each, MEDIA_TYPE_CHARS) for each in media_types))
    listed = ", ".join([*kinds[:MOST_TYPES], *(["…"] if len(kinds) > MOST_TYPES else [])])
    if len(media_types) == 1:
        return f"[{listed}]"
    what = "images" if all(each.startswith("image/") for each in kinds) else "files"
    return f"[{len(media_types):,} {what}: {listed}]"


def joined_texts(items: Iterable[T], media_type_of: Callable[[T], str], text_of: Callable[[T], str]) -> str:
    """The items' texts, one per line; one line for all files, at the position of the first."""
    texts: list[str] = []
    files: list[str] = []
    position = 0
    for item in items:
        if media_type := media_type_of(item):
            position = position if files else len(texts)
            files.append(media_type)
        elif text := text_of(item):
            texts.append(text)
    return "\n".join([*texts[:position], file_label(files), *texts[position:]] if files else texts)
