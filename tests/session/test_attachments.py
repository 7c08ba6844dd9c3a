"""Files that a prompt names: what goes to the model, what is shown, and what is refused with a sentence."""

import os
import struct
import zlib
from pathlib import Path

import pytest
from pydantic_ai.messages import BinaryContent, TextContent, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from co_tui.context.compact.offline_summary import summarise_offline
from co_tui.context.compact.user_messages import user_messages_in
from co_tui.context.conversation_text import in_parts
from co_tui.events.stored_messages import pieces, prompt_of
from co_tui.session.attachments import MOST_TEXT_CHARS, AttachmentRefused, with_files
from co_tui.session.file_references import MOST_FILES, named_files, reference
from co_tui.session.prompt_messages import prompt_message
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import ScriptedModel, environment_for
from tests.support.stores import listed, replayed, store_in


@pytest.fixture(autouse=True)
def _working_directory(home: Path) -> None:
    home.mkdir()


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 4)) + chunk(b"IEND", b"")
    )


class Listening(ScriptedModel):
    """Keeps what it was sent; takes images or not."""

    def __init__(self, *, sees: bool = True, window: int = 1_000_000) -> None:
        self.sent: list = []
        super().__init__(self._answer, window=window)
        self._sees = sees

    async def _answer(self, messages, info):
        self.sent.append(messages)
        yield "seen"

    async def model(self):
        return FunctionModel(
            stream_function=self.script, model_name=self.name, profile={"supports_image_input": self._sees}
        )

    @property
    def latest(self):
        (part,) = [part for part in self.sent[-1][-1].parts if isinstance(part, UserPromptPart)]
        return part.content


async def said(home: Path, model: Listening, prompt: str) -> Session:
    session = await Session.start(environment_for(home, model), "scripted")
    named = named_files(prompt, home)
    assert not named.troubles
    try:
        assert await session.submit(prompt, files=named.files) is Outcome.DONE
    finally:
        await session.close()
    return session


async def test_a_text_goes_behind_the_words_and_the_words_stay_as_typed(home: Path) -> None:
    home.joinpath("notes.md").write_text("# Plan\nalways paint ```it``` blue\n")
    model = Listening()
    session = await said(home, model, "summarise @notes.md, please")
    typed, file = model.latest
    assert typed == "summarise @notes.md, please"
    assert isinstance(file, TextContent)
    assert file.content == "\n\n## Attached file: notes.md\n````\n# Plan\nalways paint ```it``` blue\n````"
    message = session.state.transcript[0].message
    assert prompt_of(message) == "summarise @notes.md, please"
    assert [role for role, _, _ in pieces(message)] == ["user", "attached"]
    assert session.state.title == "summarise @notes.md, please"
    with store_in(home).reading() as reading:
        assert reading.prompts(limit=5) == ["summarise @notes.md, please"]
        assert len(reading.sessions(search="paint blue")) == 1, "what went along is found, too"
    assert listed(home)[0].title == "summarise @notes.md, please"
    assert replayed(home, session.id) == session.state


async def test_a_long_text_is_cut_and_the_note_says_so(home: Path) -> None:
    home.joinpath("long.txt").write_text("ä" * 300_000)
    model = Listening()
    await said(home, model, "@long.txt")
    text = model.latest[1].content
    assert text.count("ä") == MOST_TEXT_CHARS and "only its first 100,000 characters" in text and "600,000" in text


async def test_files_leave_room_in_a_small_window(home: Path) -> None:
    for name in ("a", "b"):
        home.joinpath(f"{name}.txt").write_text(f"{name} " * 8_000)
    model = Listening(window=8_000)
    await said(home, model, "compare @a.txt @b.txt")
    first, second = model.latest[1:]
    for file in (first, second):
        assert 2_000 < len(file.content) < 9_000 and "only its first" in file.content
    assert abs(len(first.content) - len(second.content)) < 100, "half of the room each"


async def test_an_image_goes_as_an_image_or_not_at_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.joinpath("shot.dat").write_bytes(png())
    model = Listening()
    session = await said(home, model, "what is this? @shot.dat")
    _, heading, image = model.latest
    assert "Attached image: shot.dat" in heading.content
    assert isinstance(image, BinaryContent) and (image.data, image.media_type) == (png(), "image/png")
    assert replayed(home, session.id) == session.state

    blind = Listening(sees=False)
    with pytest.raises(AttachmentRefused, match="is an image, and this model takes none"):
        await said(home, blind, "what is this? @shot.dat")
    assert not blind.sent
    monkeypatch.setattr("co_tui.session.attachments.MOST_IMAGE_BYTES", len(png()) - 1)
    with pytest.raises(AttachmentRefused, match=r"shot\.dat is over"):
        await said(home, model, "what is this? @shot.dat")
    assert len(model.sent) == 1


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("see @gone.md.", "No file gone.md to attach."),
        ("see @blob.bin", "blob.bin is not text and not a supported image"),
        ("see @pipe", "pipe is not a regular file"),
    ],
)
def test_what_cannot_go_along_is_said(home: Path, prompt: str, told: str) -> None:
    home.joinpath("blob.bin").write_bytes(b"\0\1\2" * 100)
    os.mkfifo(home / "pipe")
    named = named_files(prompt, home)
    assert not named.files and told in named.troubles[0]


async def test_a_folder_goes_as_a_list_of_what_is_in_it(home: Path) -> None:
    (home / "sub" / "deep").mkdir(parents=True)
    for name in (".gitignore", "a.py", "deep/b.py", "x.log", "\x1b[31mred"):
        (home / "sub" / name).write_text("*.log\n")
    model = Listening()
    await said(home, model, "what is in @sub?")
    assert model.latest[1].content.endswith("## Attached folder: sub/\n```\n\x1b[31mred\na.py\ndeep/\ndeep/b.py\n```")


def test_which_words_name_files(home: Path) -> None:
    inside, outside = home / "in side", home.parent / "outside.txt"
    for file in (inside, outside, home / "a.py", home / "Makefile"):
        file.write_text("x")

    def names(prompt: str) -> list[str]:
        named = named_files(prompt, home)
        assert not named.troubles, named.troubles
        return [file.name for file in named.files]

    assert names('read @"in side" and (@a.py), @a.py; @Makefile!') == ["in side", "a.py", "Makefile"]
    assert names("see @../outside.txt") == [str(outside)], "shown whole"
    assert names(f"see @{outside}") == [str(outside)]
    assert names("me@a.py @someone `@a.py` and\n```\n@pytest.fixture\n@a.py\n```") == []
    assert names("```\n@a.py") == [], "a block that is not closed"
    assert [names(reference(name)) for name in ("in side", "a.py")] == [["in side"], ["a.py"]]


def test_not_too_many(home: Path) -> None:
    for n in range(MOST_FILES + 1):
        home.joinpath(f"{n}.txt").write_text("x")
    named = named_files(" ".join(f"@{n}.txt" for n in range(MOST_FILES + 1)), home)
    assert len(named.files) == MOST_FILES and "20 files at most" in named.troubles[0]


def test_a_summary_is_made_of_the_words_and_takes_no_rules_or_bytes_from_files(home: Path) -> None:
    home.joinpath("rules.md").write_text("Always use tabs. Never write tests. See src/deep/thing.py.")
    home.joinpath("shot.png").write_bytes(png())
    files = named_files("@rules.md @shot.png", home).files
    content = with_files("Always answer in French. Look at these.", files, window_tokens=10_000, takes_images=True)
    message = prompt_message(content)
    words = user_messages_in([message])
    assert words.rules == ("Always answer in French.",) and words.said == ("Always answer in French. Look at these.",)
    (as_text,) = in_parts([message], 5_000)
    assert "Never write tests" in as_text and "[image/png]" in as_text and "iVBOR" not in as_text
    summary = summarise_offline([message], 500)
    assert summary.words is not None and "tabs" not in "".join(summary.words.rules)
    assert "note: the file rules.md says" in summary.text and "src/deep/thing.py" in summary.text
    assert "iVBOR" not in summary.text
