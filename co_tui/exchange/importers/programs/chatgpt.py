"""Conversations that were exported from ChatGPT: each a tree of messages, with the one that is shown at its end."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import BinaryContent, ModelResponsePart

from co_tui.exchange.file_blocks import file_from
from co_tui.exchange.importers.builder import Result, SessionBuilder
from co_tui.exchange.importers.citations import sources
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_parts import (
    ATTACHED_FILES,
    EMPTY,
    IMAGES,
    SYSTEM_PROMPTS,
    called,
    labelled,
    said,
    thought,
)
from co_tui.exchange.importers.foreign_values import NOTICES, OTHER_PARTS, objects, read_time, readable, text
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.exchange.importers.programs.claude_ai import with_rest
from co_tui.exchange.importers.trees import Node
from co_tui.store.session_ids import stable_id

NAME: Final = "chatgpt"
_LEFT_OUT: Final = {
    "user_editable_context": "custom instructions",
    "model_editable_context": "memories",
    "reasoning_recap": NOTICES,
    "app_pairing_content": NOTICES,
    "super_widget": NOTICES,
}
"""How contents are called that have no place here."""
_MEDIA: Final = {
    "audio_asset_pointer": "audio",
    "real_time_user_audio_video_asset_pointer": "audio",
    "video_container_asset_pointer": "videos",
}
_TEXTS: Final = ("text", "result", "output_str", "snippet")
"""Where a content that is not a list of parts has its text."""
_POINTER: Final = re.compile(r"[a-z-]{1,20}://(?:file_id/)?([\w-]{8,80})")
_FILE_ID: Final = re.compile(r"[\w-]{8,80}")
_TO_ALL: Final = ("", "all")


def recognises(document: Document) -> bool:
    return any(map(_is_conversation, document.records[:20]))


def _is_conversation(record: Record) -> bool:
    nodes = record.get("mapping")
    if not isinstance(nodes, dict):
        return False
    first = [node for node in list(nodes.values())[:20] if isinstance(node, dict)]
    return "current_node" in record or any({"message", "parent", "children"} <= node.keys() for node in first)


def load(document: Document) -> list[ImportedSession]:
    conversations = [record for record in document.records if _is_conversation(record)]
    read = [_session(document, record) for record in conversations]
    found = [session for session in read if session is not None]
    return with_rest(found, document, len(document.records) - len(conversations), len(read) - len(found))


def _session(document: Document, record: Record) -> ImportedSession | None:
    builder = SessionBuilder(NAME, read_time(record.get("create_time")) or document.modified)
    builder.title = text(record.get("title"))
    reader = _Reader(builder, document, text(record.get("default_model_slug")))
    nodes = {key: node for key, node in record["mapping"].items() if isinstance(node, dict)}
    builder.skipped += len(record["mapping"]) - len(nodes)
    tree = [Node(key, text(node.get("parent")), node) for key, node in nodes.items()]
    for node in builder.walk(sorted(tree, key=_written), leaf=text(record.get("current_node"))):
        reader.read(node.get("message"))
    identity = text(record.get("conversation_id")) or text(record.get("id")) or readable(record["mapping"])
    return None if builder.empty else builder.build(stable_id(NAME, identity))


def _written(node: Node[Record]) -> float:
    """When it was written; the nodes of an export are in no order."""
    message = node.record.get("message")
    time = read_time(message.get("create_time")) if isinstance(message, dict) else None
    return time.timestamp() if time else 0.0


class _Content(NamedTuple):
    text: str
    images: list[BinaryContent]


class _Reader:
    def __init__(self, builder: SessionBuilder, document: Document, model: str) -> None:
        self._builder = builder
        self._attachment = document.attachment
        self._model = model
        self._results = 0

    def read(self, message: Any) -> None:
        """A node may hold no message: the root of the tree."""
        if message is None:
            return
        content = message.get("content") if isinstance(message, dict) else None
        author = message.get("author") if isinstance(message, dict) else None
        if not isinstance(content, dict) or not isinstance(author, dict):
            self._builder.skipped += 1
            return
        kind = text(content.get("content_type"))
        if kind in _LEFT_OUT:
            self._builder.leave_out(_LEFT_OUT[kind])
            return
        time = read_time(message.get("create_time"))
        match author.get("role"):
            case "user":
                self._prompt(message, content, time)
            case "assistant":
                self._reply(message, content, time)
            case "tool":
                self._result(text(author.get("name")), content, time)
            case "system":
                self._builder.leave_out(SYSTEM_PROMPTS if self._content(content).text.strip() else EMPTY)
            case _:
                self._builder.skipped += 1

    def _prompt(self, message: Record, content: Record, time: Any) -> None:
        found = self._content(content)
        attached = list(objects(_about(message).get("attachments")))
        files = [(text(each.get("name")), self._attached(each)) for each in attached if not _is_image(each)]
        words = "\n\n".join(filter(None, (found.text, *(labelled("file", name) for name, _ in files))))
        here = [file for _, file in files if file is not None]
        self._builder.prompt(words, time, images=[*found.images, *here])
        self._builder.leave_out(ATTACHED_FILES, len(files) - len(here))
        self._builder.leave_out(EMPTY, 0 if words.strip() or found.images else 1)

    def _reply(self, message: Record, content: Record, time: Any) -> None:
        about, recipient = _about(message), text(message.get("recipient"))
        model = text(about.get("model_slug")) or self._model
        parts: list[ModelResponsePart]
        if content.get("content_type") == "thoughts":
            parts = [part for each in _thoughts(content) for part in thought(each)]
        elif recipient not in _TO_ALL:
            parts = [called(recipient, {"input": self._content(content).text}, "")]
        else:
            cited = [*_listed(about.get("content_references")), *_listed(about.get("citations"))]
            parts = [*said(self._content(content).text), *sources(cited)]
        exchange = text(about.get("turn_exchange_id")) or text(about.get("request_id"))
        cut = message.get("status") == "finished_partial_completion"
        # An exchange is several messages: with each result a new one begins.
        reply_id = f"{exchange} {self._results}" if exchange else ""
        self._builder.reply(parts, time, model=model, reply_id=reply_id, interrupted=cut)
        self._builder.leave_out(EMPTY, 0 if parts else 1)

    def _result(self, tool: str, content: Record, time: Any) -> None:
        self._results += 1
        found = self._content(content)
        failed = content.get("content_type") == "system_error"
        self._builder.results([Result("", found.text, tool, failed, found.images)], time)

    def _content(self, content: Record) -> _Content:
        texts = [text(content.get(key)) for key in _TEXTS]
        images = []
        for part in _listed(content.get("parts")):
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                image = self._image(part)
                images += [image] if image else []
                texts += [] if image else [self._in_words(part)]
        return _Content("\n".join(filter(None, texts)), images)

    def _image(self, part: Record) -> BinaryContent | None:
        pointer = _POINTER.match(text(part.get("asset_pointer")))
        return file_from(self._attachment(pointer[1])) if pointer else None

    def _attached(self, attachment: Record) -> BinaryContent | None:
        """A document that came with the export."""
        name = text(attachment.get("id"))
        return file_from(self._attachment(name)) if _FILE_ID.fullmatch(name) else None

    def _in_words(self, part: Record) -> str:
        kind = text(part.get("content_type"))
        if isinstance(part.get("text"), str):  # what was spoken
            return text(part["text"])
        if kind == "image_asset_pointer":
            self._builder.leave_out(IMAGES)
            return labelled("image", "")
        self._builder.leave_out(_MEDIA.get(kind, OTHER_PARTS))
        return labelled(_MEDIA.get(kind, "attachment"), "")


def _about(message: Record) -> Record:
    about = message.get("metadata")
    return about if isinstance(about, dict) else {}


def _is_image(attachment: Record) -> bool:
    """One of these is also among the parts of the message."""
    return text(attachment.get("mime_type") or attachment.get("mimeType")).startswith("image/")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _thoughts(content: Record) -> Iterator[str]:
    for each in objects(content.get("thoughts")):
        yield "\n".join(filter(None, (text(each.get("summary")), text(each.get("content")))))
    yield from (part for part in _listed(content.get("parts")) if isinstance(part, str))


IMPORTERS: Final = (DocumentImporter("ChatGPT", recognises, load),)
