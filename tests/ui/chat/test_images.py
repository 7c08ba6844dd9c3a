"""Images in the chat: drawn in small where the terminal has colours, in large when opened, and never a danger."""

import base64
import contextlib
import io
import random
import re
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from textual.pilot import Pilot
from textual.selection import SELECT_ALL

from co_tui.events import Event, Message
from co_tui.events.images import StoredImage
from co_tui.ui.app import CoTui
from co_tui.ui.chat.image_screen import ImageScreen
from co_tui.ui.images.block_image import BlockImage
from co_tui.ui.images.image_cells import NotDrawable, unpacked
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.blocks import BlockBuilder
from co_tui.ui.transcript.image_loader import MAX_KEPT, ImageLoader
from co_tui.ui.transcript.selected_text import selected_text
from tests.support import long_run
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, until

RED, BLUE = (200, 30, 30), (30, 30, 200)


def red_above_blue(width: int = 400, height: int = 200, mode: str = "RGB", **more: Any) -> bytes:
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (0, height // 2, width, height))
    return saved(image.convert(mode), **more)


def saved(image: Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def exif_with(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x010F], exif[0x0112], exif[0x011A], exif[0x0128] = "a maker", orientation, 72.0, 2
    return exif.tobytes()


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def drawn(app: CoTui) -> list[str]:
    return [line for line in screen_text(app).splitlines() if "▀▀▀" in line]


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.usefixtures("colours")
async def test_an_attached_image_is_drawn_above_its_line_and_in_large_when_opened(
    home: Path, provider: Provider
) -> None:
    home.parent.joinpath("shot.png").write_bytes(red_above_blue())
    home.parent.joinpath("broken.png").write_bytes(red_above_blue()[:120])
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "what is @shot.png")
        await until(pilot, lambda: drawn(app))
        lines = screen_text(app).splitlines()
        (told,) = [place for place, line in enumerate(lines) if "▣ attached  shot.png" in line]
        assert "image/png" in lines[told]
        assert len(drawn(app)) == 15 and "▀" * 60 in lines[told - 1], "in its proportions, 60 columns wide"
        selected = selected_text(app.chat.transcript.layout_of_blocks, SELECT_ALL)
        assert "what is @shot.png\n▣ attached  shot.png" in selected, "a copy holds words only"
        await pilot.press("tab", "up", "enter")
        await until(pilot, lambda: isinstance(app.screen, ImageScreen) and drawn(app))
        assert "▀" * 70 in drawn(app)[0] and "400 × 200" in screen_text(app)
        await pilot.press("escape", "escape")
        app.run_command("config", "images off")
        await until(pilot, lambda: not drawn(app))
        app.run_command("config", "images on")
        await until(pilot, lambda: drawn(app))
        await ask(app, pilot, "and @broken.png")
        await until(pilot, lambda: "Image not shown: not a readable PNG" in screen_text(app))
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id), size=(60, 18)) as (app, pilot):
        await pilot.press("alt+up", "alt+up")
        await until(pilot, lambda: drawn(app))
        assert len(drawn(app)) < 12, "never higher than the chat"


async def test_without_colours_an_image_stays_a_line(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    home.parent.joinpath("shot.png").write_bytes(red_above_blue())
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "what is @shot.png")
        assert "▸ attached  shot.png" in screen_text(app) and not drawn(app)
        assert all(image.is_unseen for block in app.chat.transcript.blocks for image in block.images)
        many = [image_item(red_above_blue(2, 2))] * 40
        app.chat.transcript.append(*shown(prompt("look", *many), *call_that_returned("done", *many)))
        await until(pilot, lambda: "[40 images: image/png]" in screen_text(app))
        assert screen_text(app).count("image/png") == 2 and "40 images" in told_of("screenshot", app)


def animated() -> bytes:
    first = Image.open(io.BytesIO(red_above_blue()))
    return saved(first, "GIF", save_all=True, append_images=[Image.new("L", (400, 200))])


@pytest.mark.parametrize(
    "data",
    [
        red_above_blue,
        partial(red_above_blue, mode="P"),
        partial(red_above_blue, mode="RGBA"),
        partial(red_above_blue, kind="JPEG"),
        partial(red_above_blue, kind="WEBP", lossless=True),
        animated,
    ],
    ids=["png", "palette", "alpha", "jpeg", "webp", "animated"],
)
def test_every_kind_of_image_is_drawn_as_it_is(data: Callable[[], bytes]) -> None:
    lines = unpacked(encoded(data())).lines(60, 16, "#000000")
    assert len(lines) == 15 and {line.cell_length for line in lines} == {60}
    for line, colour in ((lines[2], RED), (lines[-3], BLUE)):
        style = next(iter(line)).style
        assert style is not None and style.color is not None and style.color.triplet is not None
        assert max(abs(a - b) for a, b in zip(style.color.triplet, colour, strict=True)) < 20


def test_what_is_transparent_shows_what_is_behind_it() -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    image.paste((*RED, 255), (0, 3, 4, 4))
    assert [line.text for line in unpacked(encoded(saved(image))).lines(60, 16, "#000000")] == ["    ", "▄▄▄▄"]


@pytest.mark.parametrize("size", [(30_000, 1), (1, 30_000), (1, 1)])
def test_an_image_of_any_shape_stays_within_its_room(size: tuple[int, int]) -> None:
    lines = unpacked(encoded(red_above_blue(*size))).lines(60, 16, "#000000")
    assert 1 <= len(lines) <= 16 and all(1 <= line.cell_length <= 60 for line in lines)


def test_a_photograph_that_was_taken_on_its_side_is_shown_upright() -> None:
    picture = unpacked(encoded(red_above_blue(kind="JPEG", exif=exif_with(6))))
    assert (picture.width, picture.height) == (200, 400)


@pytest.mark.parametrize("data", [b"", b"rubbish", b"GIF89a", b"\0" * 500])
def test_what_cannot_be_drawn_is_said_in_a_sentence(data: bytes) -> None:
    with pytest.raises(NotDrawable, match=r"^Image not shown: .*\.$"):
        unpacked(encoded(data))


def test_half_an_image_and_one_that_is_too_large_are_not_drawn() -> None:
    for data in (red_above_blue()[:99], saved(Image.new("1", (6_001, 6_000)))):
        test_what_cannot_be_drawn_is_said_in_a_sentence(data)


def test_bytes_that_were_changed_on_the_way_are_drawn_or_refused() -> None:
    chance = random.Random(7)
    for whole in (
        red_above_blue(),
        red_above_blue(kind="JPEG"),
        red_above_blue(kind="WEBP"),
        red_above_blue(kind="GIF"),
    ):
        for _ in range(20):
            data = bytearray(whole)
            for _ in range(6):
                data[chance.randrange(len(data))] = chance.randrange(256)
            with contextlib.suppress(NotDrawable):
                assert unpacked(encoded(data)).lines(60, 16, "#000000")


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_photograph_with_damaged_notes_is_drawn(kind: str) -> None:
    chance, whole = random.Random(7), red_above_blue(40, 20, kind=kind, exif=exif_with(6))
    notes = max(whole.find(b"MM\0*"), whole.find(b"II*\0"))
    for _ in range(long_run.drawn(100)):
        data = bytearray(whole)
        for _ in range(4):
            data[notes + chance.randrange(70)] = chance.randrange(256)
        assert unpacked(encoded(data)).lines(60, 16, "#000000")


def said_to_be_large(jpeg: bytes) -> bytearray:
    """With another size in its header: 14,140 pixels wide and high."""
    data = bytearray(jpeg)
    frame = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    data[frame + 5 : frame + 9] = (14_140).to_bytes(2) * 2
    return data


def test_a_large_photograph_in_passes_is_refused_since_all_of_it_would_be_held_in_memory() -> None:
    progressive = said_to_be_large(red_above_blue(kind="JPEG", progressive=True))
    colour_by_colour = said_to_be_large(red_above_blue(kind="JPEG"))
    colour_by_colour[colour_by_colour.find(b"\xff\xda") + 4] = 1
    for data in (progressive, colour_by_colour):
        with pytest.raises(NotDrawable, match=r"14,140 × 14,140 pixels are too many"):
            unpacked(encoded(data))


async def test_what_the_decoder_stumbles_over_keeps_no_other_image_from_being_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise struct.error("unpack requires a buffer of 2 bytes")

    broken, sound = block_with_images(1), block_with_images(1)
    loader = ImageLoader(lambda block: None)
    assert loader.request([sound, broken])
    with monkeypatch.context() as patch:
        patch.setattr(Image, "open", stumble)
        await broken.images[0].unpack()
    await loader.load()
    assert broken.images[0].error and sound.images[0].picture is not None
    with monkeypatch.context() as patch:
        patch.setattr(BlockImage, "unpack", stumble)
        assert loader.request([lost := block_with_images(1), other := block_with_images(1)])
        with pytest.raises(struct.error):
            await loader.load()
    assert loader.request([lost, other]), "whatever ended it, it is begun again"
    await loader.load()
    assert lost.images[0].picture is not None and other.images[0].picture is not None


async def test_images_in_view_are_unpacked_once_however_many_there_are() -> None:
    drawn_again: list[Block] = []
    loader = ImageLoader(drawn_again.append)
    blocks = [block_with_images(1) for _ in range(2 * MAX_KEPT)]
    assert loader.request(blocks)
    await loader.load()
    assert len(drawn_again) == len(blocks) and not loader.request(blocks)
    loader.request([last := block_with_images(1)])
    await loader.load()
    kept = [block for block in [*blocks, last] if block.images[0].picture is not None]
    assert len(kept) == MAX_KEPT and last in kept, "what is no longer in view makes room"


def block_with_images(count: int) -> Block:
    image = StoredImage("image/png", encoded(red_above_blue(2, 2)))
    return Block("user", "look", images=tuple(BlockImage(image) for _ in range(count)))


@long_run.only_in_a_long_run
@pytest.mark.usefixtures("colours")
async def test_of_many_images_some_are_drawn_and_all_can_be_opened(home: Path, provider: Provider) -> None:
    wide, high = ({"kind": "binary", "data": encoded(red_above_blue(*size))} for size in ((40, 4), (4, 8)))
    broken = {"kind": "binary", "data": encoded(b"rubbish")}
    images = [each | {"media_type": f"image/png\x1b]0;OWNED\x07{'x' * 40}"} for each in (*[wide] * 38, high, broken)]
    (block,) = shown(prompt("look", *images))
    told = f"image/png␛]0;OWNED␇{'x' * 20}… · "
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.transcript.append(block)
        await until(pilot, lambda: len(drawn(app)) == 16)
        assert f"{told}40 × 4" in screen_text(app) and not STEERING.search(screen_text(app))
        assert "… 32 more images (v shows all)" in screen_text(app)
        await pilot.press("tab", "v")
        await until(pilot, lambda: isinstance(app.screen, ImageScreen) and len(drawn(app)) == 2)
        block.images[0].picture = None  # the chat has given it up
        await pilot.press("left", "right", "left")
        await until(pilot, lambda: f"40 of 40 · {told}Image not shown" in screen_text(app))
        assert not drawn(app), "nor the one before"
        await pilot.press("left")
        await until(pilot, lambda: f"39 of 40 · {told}4 × 8" in screen_text(app))
        assert len(drawn(app)) == 4 and not STEERING.search(screen_text(app))
        assert all(image.is_unseen for image in block.images[8:]), "what was only looked at is not kept"
        await pilot.press("escape", "escape")
        app.chat.transcript.drop(block)
        await what_tools_return_is_drawn_once_its_call_is_opened(app, pilot)
        await what_a_model_makes_is_drawn_where_it_says_so(app, pilot)


async def what_tools_return_is_drawn_once_its_call_is_opened(app: CoTui, pilot: Pilot[None]) -> None:
    (call,) = shown(*call_that_returned("a shot", image_item(red_above_blue(40, 8))))
    app.chat.transcript.append(call)
    await until(pilot, lambda: "▸ screenshot" in screen_text(app))
    line = told_of("screenshot", app).split("│")[1]  # what follows is not the chat
    assert line.rstrip().endswith("image/png") and not drawn(app)
    await pilot.press("tab", "v")
    await until(pilot, lambda: isinstance(app.screen, ImageScreen) and len(drawn(app)) == 4)
    await pilot.press("escape", "enter")
    await until(pilot, lambda: len(drawn(app)) == 4 and "40 × 8" in screen_text(app))
    assert "a shot" in screen_text(app) and "[image/png]" not in screen_text(app)
    await pilot.press("enter")
    await until(pilot, lambda: not drawn(app))
    app.chat.transcript.drop(call)


async def what_a_model_makes_is_drawn_where_it_says_so(app: CoTui, pilot: Pilot[None]) -> None:
    made = {"part_kind": "file", "content": image_item(red_above_blue(40, 8))}
    said, image = shown(response({"part_kind": "text", "content": "Here it is:"}, made))
    app.chat.transcript.append(said, image)
    await until(pilot, lambda: len(drawn(app)) == 4)
    assert "▣ made  an image" in screen_text(app) and "Here it is:" in screen_text(app)


STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def test_images_of_prompts_and_of_results_belong_to_their_blocks() -> None:
    image = image_item(red_above_blue())
    blocks = shown(prompt("look", image), *call_that_returned(image), response({"part_kind": "file", "content": image}))
    assert [(block.kind, len(block.images)) for block in blocks] == [("user", 1), ("tool", 1), ("tool", 1)]
    assert [block.whole for block in blocks] == ["look\n[image/png]", "[image/png]", "an image"]


def image_item(data: bytes) -> dict[str, Any]:
    return {"kind": "binary", "media_type": "image/png", "data": encoded(data)}


def prompt(*content: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": list(content)}]}


def response(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts)}


def call_that_returned(*content: Any) -> tuple[dict[str, Any], ...]:
    call = {"tool_name": "screenshot", "tool_call_id": "1"}
    returned = {"part_kind": "tool-return", **call, "content": list(content)}
    return response({"part_kind": "tool-call", **call, "args": "{}"}), {"kind": "request", "parts": [returned]}


def told_of(tool: str, app: CoTui) -> str:
    """The line of a call."""
    return next(line for line in screen_text(app).splitlines() if tool in line)


def shown(*messages: dict[str, Any]) -> list[Block]:
    builder = BlockBuilder()
    for seq, message in enumerate(messages, 1):
        builder.add(Event(session_id="s", seq=seq, timestamp="", fact=Message(turn=1, message=message)))
    return builder.blocks
