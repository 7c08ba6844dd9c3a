"""The count is anchored on what the provider said; the rest is an estimate that is not far off."""

import base64
import random
import struct

import pytest
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from co_tui.context.measure.count import Reading, Scaffold, Window, estimate_content, estimate_text
from co_tui.context.measure.file_costs import image_tokens
from co_tui.context.measure.meter import Meter
from co_tui.events.images import image_size

WINDOW = Window(tokens=1000, known=True)


def read(messages: list, scaffold: Scaffold, sent: int = 0) -> Reading:
    """Measured after the first `sent` messages were sent and the reply behind them was reported on."""
    meter = Meter()
    if sent:
        meter.read(messages[:sent], scaffold, WINDOW)
        meter.sent(messages[:sent], scaffold)
        meter.reported(messages[sent])
    return meter.read(messages, scaffold, WINDOW)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("国际化是一个重要的话题", 11),
        ('{"name": "co-tui", "count": 12345, "ok": true}', 18),
        ("def add(a: int, b: int) -> int:\n    return a + b\n", 19),
    ],
)
def test_estimates_are_within_a_third(text: str, tokens: int) -> None:
    assert abs(estimate_text(text) - tokens) <= max(1, tokens / 3)


def test_without_a_report_everything_is_estimated() -> None:
    reading = read([ModelRequest(parts=[UserPromptPart("hello there")])], Scaffold(instructions="Be nice."))
    assert reading.measured == "estimate"
    assert reading.system_tokens > 0 and reading.conversation_tokens > 0
    assert reading.current_tokens == reading.system_tokens + reading.conversation_tokens


def test_the_last_report_is_the_anchor_and_only_what_follows_is_estimated() -> None:
    reply = ModelResponse(parts=[TextPart("x")], usage=RequestUsage(input_tokens=500, output_tokens=20))
    asked = ModelRequest(parts=[UserPromptPart("long " * 1000)])
    anchored = read([asked, reply], Scaffold(), sent=1)
    assert (anchored.current_tokens, anchored.measured) == (520, "provider")
    after = read([asked, reply, ModelRequest(parts=[UserPromptPart("and now?")])], Scaffold(), sent=1)
    assert 520 < after.current_tokens < 540 and after.measured == "estimate"


def test_fixed_parts_never_exceed_what_the_provider_counted() -> None:
    reply = ModelResponse(parts=[TextPart("x")], usage=RequestUsage(input_tokens=110, output_tokens=1))
    asked = ModelRequest(parts=[UserPromptPart("hi")])
    reading = read([asked, reply], Scaffold(instructions="word " * 500), sent=1)
    assert reading.current_tokens == 111 and reading.conversation_tokens >= 0


def test_tool_calls_and_results_count() -> None:
    call = ModelResponse(parts=[ToolCallPart("grep", {"pattern": "x" * 100}, "c")])
    result = ModelRequest(parts=[ToolReturnPart("grep", {"lines": ["match"] * 50}, "c")])
    assert read([call, result], Scaffold()).conversation_tokens > 100


NOISE = random.Random(7).randbytes(3000)


@pytest.mark.parametrize(
    "data", [base64.b64encode(NOISE), base64.encodebytes(NOISE), base64.urlsafe_b64encode(NOISE), NOISE.hex().encode()]
)
def test_encoded_data_has_a_token_for_every_one_or_two_characters(data: bytes) -> None:
    text = data.decode()
    assert 1.2 <= len(text) / estimate_text(text) <= 1.7
    around = estimate_text(f"the file is {text} and that is all") - estimate_text("the file is   and that is all")
    assert around == pytest.approx(estimate_text(text), abs=2)


@pytest.mark.parametrize("text", ["=" * 300, "x" * 300, "/usr/local/lib/of/some/very/long/path/to/nowhere" * 5])
def test_ruled_lines_and_long_paths_are_no_data(text: str) -> None:
    assert len(text) / estimate_text(text) > 1.3 and estimate_text(text) < 230
    assert estimate_text(f"{text} a") <= estimate_text(text) + 2


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06" + bytes(500_000)


def jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xfe" + struct.pack(">H", 202) + bytes(200)
    return b"\xff\xd8" + comment + b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + bytes(20)


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBP" + kind + bytes(4) + body


@pytest.mark.parametrize(
    "data",
    [
        png(640, 480),
        jpeg(640, 480),
        b"GIF89a" + struct.pack("<HH", 640, 480),
        webp(b"VP8X", bytes(4) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
        webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)),
        webp(b"VP8 ", bytes(6) + struct.pack("<HH", 640, 480)),
    ],
)
def test_the_size_of_an_image_is_read_from_its_header(data: bytes) -> None:
    assert image_size(data) == (640, 480)


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", webp(b"VP8L", b""), b"BM6"])
def test_an_image_that_does_not_show_its_size_costs_a_large_one(data: bytes) -> None:
    assert image_size(data) in (None, (0, 0))
    assert estimate_content(BinaryContent(data, media_type="image/png")) >= 250


@pytest.mark.parametrize(
    ("width", "height", "provider", "tokens"),
    [
        (1000, 1000, "anthropic", 1334),
        (4000, 3000, "anthropic", 1600),
        (1024, 1024, "openai-chat", 85 + 170 * 4),
        (2048, 4096, "openai", 85 + 170 * 6),
        (300, 300, "google", 258),
        (1000, 700, "google", 2 * 258),
        (1000, 1000, "", 1334),
        (4000, 3000, "", 24 * 258),
        (20, 20, "", 258),
    ],
)
def test_each_provider_has_its_rule_for_images(width: int, height: int, provider: str, tokens: int) -> None:
    assert image_tokens(width, height, provider) == tokens
    assert estimate_content([BinaryContent(png(width, height), media_type="image/png")], provider) == tokens


def test_documents_go_by_their_pages_or_their_text() -> None:
    named = BinaryContent(
        b"%PDF-1.4 /Type /Pages /Type /Page /Type/Page " + bytes(400_000), media_type="application/pdf"
    )
    silent = BinaryContent(b"%PDF-1.7" + bytes(120_000), media_type="application/pdf")
    words = BinaryContent(b"hello there, " * 100, media_type="text/plain")
    assert estimate_content(named) == 2 * 2_250 and estimate_content(silent) == 3 * 2_250
    assert estimate_content(silent, "google-gla") == 3 * 258
    assert estimate_content(words) == estimate_text("hello there, " * 100)


def test_recordings_go_by_their_length_and_addresses_by_their_kind() -> None:
    header = b"RIFF" + bytes(4) + b"WAVEfmt " + struct.pack("<IHHII", 16, 1, 1, 16_000, 32_000)
    assert estimate_content(BinaryContent(header + bytes(319_968), media_type="audio/wav")) == 320
    assert estimate_content(BinaryContent(bytes(160_000), media_type="audio/mpeg")) == 320
    urls = [ImageUrl("https://x/a.png"), AudioUrl("https://x/a.mp3"), DocumentUrl("https://x/a.pdf")]
    assert [estimate_content(url) for url in urls] == [1_600, 1_920, 11_250]


def test_a_counted_message_has_that_count_whatever_the_ratio() -> None:
    counted = ModelRequest(parts=[UserPromptPart("word " * 500)])
    other = ModelRequest(parts=[UserPromptPart("word " * 500)])
    meter = Meter(ratio=1.5)
    before = meter.read([counted, other], Scaffold(), WINDOW).current_tokens
    meter.set_exact(counted, 123)
    assert meter.tokens(counted) == 123 and meter.tokens(other) == before / 2
    for same in (0, 1, 2):
        reading = meter.read([counted, other], Scaffold(), WINDOW, same=same)
        assert reading.current_tokens == 123 + before / 2
    meter.set_exact(counted, 100)
    assert meter.tokens(counted) == 100


def test_a_count_known_before_the_message_is_sent_teaches_nothing_wrong() -> None:
    meter = Meter()
    first = ModelRequest(parts=[UserPromptPart("hi")])
    meter.read([first], Scaffold(), WINDOW)
    meter.sent([first], Scaffold())
    reply = ModelResponse(parts=[TextPart("yes")], usage=RequestUsage(input_tokens=10, output_tokens=5))
    meter.reported(reply)
    result = ModelRequest(parts=[UserPromptPart("word " * 1000)])
    meter.set_exact(result, 3_000)
    request = [first, reply, result]
    assert meter.read(request, Scaffold(), WINDOW).current_tokens == 3_015
    meter.sent(request, Scaffold())
    meter.reported(ModelResponse(parts=[], usage=RequestUsage(input_tokens=3_015, output_tokens=1)))
    assert meter.ratio == 1.0
