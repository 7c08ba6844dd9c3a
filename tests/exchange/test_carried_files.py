"""PDFs and citations of other programs: carried along, and sent only to models that read them."""

import base64
from pathlib import Path
from typing import Any

from pydantic_ai.messages import BinaryContent, ModelRequest, TextPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.test import TestModel

from co_tui.agent.wire.portable_history import portable
from co_tui.context.measure.file_costs import NOT_SENT_TOKENS, file_tokens
from co_tui.exchange.importers import load
from co_tui.exchange.importers.chat_messages import chat_parts
from co_tui.exchange.importers.foreign_values import prompt_content, result_content
from tests.support.cases import each_case
from tests.support.foreign import claude_row, codex_row, write_lines

PDF = b"%PDF-1.4 /Type /Page"
ENCODED = base64.b64encode(PDF).decode()
URL = f"data:application/pdf;base64,{ENCODED}"
BLOCKS: dict[str, dict[str, Any]] = {
    "Anthropic": {
        "type": "document",
        "title": "a.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": ENCODED},
    },
    "OpenAI's chat": {"type": "file", "file": {"filename": "a.pdf", "file_data": URL}},
    "OpenAI's responses": {"type": "input_file", "filename": "a.pdf", "file_data": URL},
    "opencode": {"type": "file", "mime": "application/pdf", "filename": "a.pdf", "url": URL},
}


@each_case("form", BLOCKS)
def test_a_pdf_is_carried_under_its_name(form: str) -> None:
    said = prompt_content([{"type": "text", "text": "read"}, BLOCKS[form]])
    assert (said.text, said.left_out) == ("read\n[file: a.pdf]", ())
    assert [(file.data, file.media_type) for file in said.images] == [(PDF, "application/pdf")]
    assert result_content([BLOCKS[form]]).images == said.images


def test_documents_that_say_what_they_hold_are_text() -> None:
    page = {
        "type": "search_result",
        "source": "https://a.org",
        "title": "A",
        "content": [{"type": "text", "text": "a"}],
    }
    inside = {"type": "document", "title": "B", "source": {"type": "content", "content": "b"}}
    linked = {"type": "document", "source": {"type": "url", "url": "https://c.org/c.pdf"}}
    said = prompt_content([page, inside, linked])
    assert said.text == "[search_result: A, https://a.org]\na\n[document: B]\nb\n[document: https://c.org/c.pdf]"
    assert said.left_out == ()


class Elsewhere(TestModel):
    """A model of some server."""

    @property
    def system(self) -> str:
        return "openai"

    @property
    def base_url(self) -> str:
        return "http://127.0.0.1:1/v1"


class Claude(TestModel):
    @property
    def system(self) -> str:
        return "anthropic"


def test_a_pdf_goes_only_to_models_that_read_them() -> None:
    file = BinaryContent(PDF, media_type="application/pdf")
    said = [ModelRequest(parts=[UserPromptPart(["read", file]), ToolReturnPart("read", ["it", file], "1")])]
    assert portable(said, Claude()) == said
    (sent,) = portable(said, Elsewhere())
    note = f"[a document (application/pdf, {len(PDF)} bytes), not sent: this model does not take it]"
    assert [getattr(part, "content", None) for part in sent.parts] == [["read", note], ["it", note]]
    assert file_tokens(file, "gguf") == NOT_SENT_TOKENS < file_tokens(file, "anthropic")


WEB = {"type": "url_citation", "url_citation": {"title": "Herons", "url": "https://a.org"}}
SOURCES = "Sources:\n- Herons, https://a.org"


def test_citations_are_sources_behind_the_words(tmp_path: Path) -> None:
    pages = {"type": "page_location", "document_title": "Birds", "start_page_number": 3, "cited_text": "They\nwade."}
    found = {"type": "web_search_result_location", "title": "Herons", "url": "https://a.org"}
    text = {"type": "text", "text": "They wade.", "citations": [found, found, pages]}
    rows = [claude_row("user", "how?", 1), claude_row("assistant", [text], 2)]
    (session,) = load(write_lines(tmp_path / "a.jsonl", rows))
    *_, reply = session.messages
    assert [part.content for part in reply.parts if isinstance(part, TextPart)] == [
        "They wade.",
        f"{SOURCES}\n- Birds, page 3, “They wade.”",
    ]
    assert session.left_out == {}
    assert chat_parts({"content": "So.", "annotations": [WEB]})[1:] == [TextPart(SOURCES)]
    said = [{"type": "output_text", "text": "So.", "annotations": [WEB["url_citation"]]}]
    rows = [codex_row("response_item", 1, type="message", role="assistant", content=said)]
    assert load(write_lines(tmp_path / "b.jsonl", rows))[0].messages[0].parts[1] == TextPart(SOURCES)
