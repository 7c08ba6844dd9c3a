"""Images that tools return: given to a model that takes them, counted as images, and in words everywhere else."""

import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel

from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.portable_history import portable
from co_tui.context.compact.offline_summary import summarise_offline
from co_tui.context.conversation_text import in_parts
from co_tui.context.measure.count import estimate_message
from co_tui.context.request.tool_outputs import trim
from co_tui.events import ToolActivity, UsageInfo
from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.lens import lens_of
from tests.support.working import Working, working_in

SIZE = (640, 480)


def photograph(file: Path) -> bytes:
    """Of noise, so that it has many bytes."""
    noise = random.Random(7).randbytes(3 * SIZE[0] * SIZE[1])
    Image.frombytes("RGB", SIZE, noise).save(file, "PNG")
    return file.read_bytes()


class Seeing(Working):
    sees = True

    async def model(self) -> FunctionModel:
        return FunctionModel(
            stream_function=self.script, model_name=self.name, profile={"supports_image_input": self.sees}
        )


@pytest.mark.parametrize("sees", [True, False])
async def test_a_file_that_is_an_image_is_seen_or_named(tmp_path: Path, home: Path, sees: bool) -> None:
    photo = photograph(tmp_path / "photo.png")
    tmp_path.joinpath("broken.png").write_bytes(photo[:12])
    tmp_path.joinpath("paper.pdf").write_bytes(b"%PDF-1.4\n")
    model = Seeing(*(("read_file", {"path": name}) for name in ("photo.png", "broken.png", "paper.pdf")))
    model.sees = sees
    session = await Session.start(working_in(tmp_path, home, model, Unattended(yes=True)), "scripted")
    heard = session.events()
    try:
        assert await session.submit("look at it") is Outcome.DONE
        read, broken, paper = [
            part.content for message in model.requests[-1] for part in message.parts if isinstance(part, ToolReturnPart)
        ]
        if sees:
            assert isinstance(read[1], BinaryContent) and read[1].data == photo
            assert broken.endswith("A damaged image.")
        else:
            assert read == f"[photo.png | image/png | {len(photo)} bytes]\nAn image, which this model does not take."
        assert paper.endswith("Not a text file; it cannot be read here.")
        lens = lens_of(session)
        assert sum(row.tokens for row in lens.messages) == lens.reading.current_tokens
        assert all(len(row.text) < 10_000 for row in lens.messages if row.message is not None)
        await session.edits.clear()
        left = [each.tokens for each in lens_of(session).left if "photo.png" in each.readable]
        assert 400 < max(left) < 2_000 if sees else max(left) < 100
    finally:
        await session.close()
    facts = [event.fact async for event in heard]
    told = [fact.text for fact in facts if isinstance(fact, ToolActivity)]
    assert all(len(text) < 200 for text in told) and any("[image/png]" in text for text in told) is sees
    measured = [fact for fact in facts if isinstance(fact, UsageInfo)]
    assert measured[-1].conversation_tokens < 3_000, "not as the 1.2 million characters that it is stored as"


def returned(*content: Any) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("shot", list(content), tool_call_id="1")])


def test_a_long_text_is_cut_short_and_the_image_with_it_stays(tmp_path: Path) -> None:
    image = BinaryContent(photograph(tmp_path / "photo.png"), media_type="image/png")
    message = returned("x" * 5_000, image)
    talk = [message, ModelRequest(parts=[UserPromptPart("a")]), ModelResponse(parts=[TextPart("b")])]
    once = trim(talk, 2_000)
    content: Any = once[0].parts[0].content  # type: ignore[union-attr]  # a return, as it was
    assert content[0].endswith("chars total]") and content[1] is image and trim(once, 2_000) == once
    assert trim([returned("seen", image), *talk[1:]], 2_000)[0].parts[0].content == ["seen", image]  # type: ignore[union-attr]
    assert 400 < estimate_message(returned("seen", image)) < 2_000
    for text in (*in_parts([returned("seen", image)], 5_000), summarise_offline([message], 500).text):
        assert "iVBOR" not in text


def test_who_takes_no_images_gets_words_for_those_of_before(tmp_path: Path) -> None:
    image = BinaryContent(photograph(tmp_path / "photo.png"), media_type="image/png")
    said = [ModelRequest(parts=[UserPromptPart(["what is this?", image])])]
    blind, seeing = (FunctionModel(Blind().answer, profile={"supports_image_input": sees}) for sees in (False, True))
    assert portable(said, seeing) == said
    told = f"[an image (image/png, {len(image.data):,} bytes), not sent: this model does not take it]"
    assert _contents(portable(said, blind)[0]) == ["what is this?", told]
    assert estimate_message(said[0], "embedded") < 50 < 400 < estimate_message(said[0], "openai")


class Blind:
    """A server whose model takes no images, of which the library knows nothing."""

    def __init__(self) -> None:
        self.asked: list[list[Any]] = []

    async def answer(self, messages: list[Any], _: Any) -> Any:
        self.asked.append(messages)
        if any(isinstance(each, BinaryContent) for message in messages for each in _contents(message)):
            raise ModelHTTPError(500, "blind", {"error": "image input is not supported - provide the mmproj"})
        yield "as you say"


def _contents(message: Any) -> list[Any]:
    contents = [part.content for part in message.parts]
    return [item for each in contents for item in (each if isinstance(each, list) else [each])]


async def test_an_image_that_is_refused_is_named_instead_and_ends_no_conversation(tmp_path: Path) -> None:
    server, image = Blind(), BinaryContent(photograph(tmp_path / "photo.png"), media_type="image/png")
    model = GuardedModel(FunctionModel(stream_function=server.answer))

    async def ask(*messages: Any) -> str:
        async with model.request_stream(list(messages), None, ModelRequestParameters()) as stream:
            async for _ in stream:
                pass
            return stream.get().text or ""

    assert await ask(returned("seen", image)) == "as you say" and len(server.asked) == 2
    assert "not sent: this model does not take it" in _contents(server.asked[-1][0])[1]
    assert await ask(returned("seen", image)) == "as you say" and len(server.asked) == 3, "it is not tried again"
    with pytest.raises(ModelHTTPError):  # the user is told that what they attached is refused
        await ask(ModelRequest(parts=[UserPromptPart(["what is this?", image])]))
