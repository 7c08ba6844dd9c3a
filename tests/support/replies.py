"""Replies as providers stream them, well-formed and not; and a grammar of them with what should become of each."""

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from co_tui.events.storable import storable_text
from tests.support.provider import Reply


def chunk(delta: Any, finish: Any = None, **more: Any) -> dict[str, Any]:
    """One piece of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [choice],
        **more,
    }


def usage(**told: Any) -> dict[str, Any]:
    return chunk({}, choices=[], usage={"total_tokens": 12, **told})


def call(name: Any = "poke", arguments: Any = "{}", call_id: Any = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]})


def sse(*pieces: Any) -> bytes:
    """The pieces as lines of a stream; bytes go in as they are, after `data: `."""
    lines = (piece if isinstance(piece, bytes) else json.dumps(piece).encode() for piece in pieces)
    return b"".join(b"data: " + line + b"\n\n" for line in lines)


HELLO = chunk({"role": "assistant", "content": "Hello there."})
STOP = chunk({}, "stop")
DONE = b"[DONE]"


@dataclass
class Case:
    """A drawn reply; `sound` says whether there is a whole reply in it, and `text` what it says up to what is wrong."""

    reply: Reply
    sound: bool
    text: str

    def __repr__(self) -> str:
        raw = self.reply.raw or ()
        shown = [piece if isinstance(piece, float) else piece[:300] for piece in raw]
        return f"Case(sound={self.sound}, status={self.reply.status}, headers={self.reply.headers}, raw={shown})"


numbers: st.SearchStrategy[Any] = st.sampled_from(
    [0, 1, 12, -5, 1.5, 1e300, 10**30, 10**400, True, None, "12", "x", [], [1], {}, {"a": 1}]
)
HARMLESS = {"a": [None]}
"""An object without anything that is looked for; as one of many it is passed by."""
odd: st.SearchStrategy[Any] = st.sampled_from([5, 1.5, "abc", True, [5], [[]], {"a": 1}, [HARMLESS]])
words = st.text(max_size=20) | st.text(st.sampled_from("aé漢🙂\ud800\udc00\ude00\x00\x1b\u202e\n"), max_size=8)

GOOD_ASIDES = st.one_of(
    st.just(b": a comment\n\n"),
    st.just(b"\n\n\n"),
    st.just(sse(chunk({"role": "assistant", "content": ""}))),
    st.just(sse(chunk({}))),
    st.just(sse(chunk(None))),
    st.just(sse(chunk({}, choices=[]))),
    st.builds(lambda value: sse(chunk({}, created=value)), numbers),
    st.builds(lambda value: sse(chunk({}, model=value)), numbers),
    st.builds(lambda value: sse(chunk({}, id=value)), numbers),
    st.builds(lambda text: sse(chunk({"reasoning_content": text, "content": None})), words),
    st.builds(lambda value: sse(chunk({}, x_new_key=value)), numbers),
    st.builds(lambda a, b: sse(usage(prompt_tokens=a, completion_tokens=b)), numbers, numbers),
    st.builds(lambda a: sse(chunk({}, choices=[], usage=a)), odd),
    st.builds(
        lambda a, b: sse(usage(prompt_tokens=9, completion_tokens=3, prompt_tokens_details={"cached_tokens": a}, x=b)),
        numbers,
        numbers,
    ),
)
"""What may stand beside the words of a reply, and does it no harm."""

BAD_PIECES = st.one_of(
    st.builds(lambda value: sse({"choices": value}), odd.filter(lambda value: value != [HARMLESS])),
    st.builds(lambda value: sse(chunk(value)), odd.filter(lambda value: not isinstance(value, dict))),
    st.builds(lambda value: sse(chunk({"content": value})), odd.filter(lambda value: not isinstance(value, str))),
    st.builds(lambda value: sse(chunk({"tool_calls": value})), odd.filter(lambda value: value != [HARMLESS])),
    st.builds(lambda value: sse(call(arguments=value)), odd.filter(lambda value: not isinstance(value, str))),
    st.sampled_from(
        [
            sse(b"{not json"),
            sse(b"5"),
            sse(b"null"),
            sse(b'"text"'),
            sse(b"[1, 2]"),
            sse(b"[" * 30_000),
            sse(b'{"choices":' + b"[" * 30_000 + b"]" * 30_000 + b"}"),
            sse(b'{"choices": [{"delta": {"content": "\xff\xfe"}}]}'),
            sse({"error": {"message": "the model crashed", "code": 500}}),
            sse({"error": {"message": 5, "code": [1]}}),
            sse({"error": "boom"}),
            sse({"type": "error", "message": "boom"}),
            sse({"object": "error", "message": {"a": 1}}),
            b"event: error\n" + sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ]
    ),
)
ENDINGS = st.sampled_from(
    [
        (sse(STOP, DONE), True),
        (sse(STOP), True),
        (sse(DONE), True),
        (sse(chunk({}, "length"), DONE), True),
        (sse(chunk({}, "because")), True),
        (sse(chunk({}, 5), DONE), True),
        (b"", False),
        (b'data: {"choices": [{"del', False),
        (sse(call(arguments='{"a": ')), False),
        (sse(call()), False),
    ]
)
HEADERS = st.sampled_from(
    [
        {},
        {},
        {},
        {"Content-Type": "application/json"},
        {"Content-Type": "\u00ff"},
        {"X-Request-Id": "x" * 5_000},
        {"Retry-After": "-1"},
    ]
)
PAUSES = st.sampled_from([(), (), (0.001,), (0.01,)])
STALL_S = 5.0


@st.composite
def streams(draw: st.DrawFn) -> Case:
    """A stream: words and asides, perhaps something bad among them, and an end or none."""
    said, raw = "It says: ", [sse(chunk({"content": "It says: "}))]
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            text = draw(words)
            raw.append(sse(chunk({"content": text})))
            said += text
        else:
            raw.append(draw(GOOD_ASIDES))
    sound = True
    kind = draw(st.sampled_from(["whole", "whole", "whole", "bad", "bad", "stall"]))
    pieces: list[bytes | float] = [*raw]
    if kind == "bad":
        sound = False
        first = draw(st.booleans())
        pieces = [draw(BAD_PIECES), *pieces] if first else [*pieces, draw(BAD_PIECES)]
        said = "" if first else said
    if kind == "stall" and draw(st.integers(0, 3)) == 0:
        return Case(Reply(raw=(*pieces, STALL_S, sse(STOP, DONE))), sound=False, text=said)
    ending, ended = draw(ENDINGS)
    pause = draw(PAUSES)
    spaced = tuple(each for piece in (*pieces, ending) for each in (piece, *pause))
    return Case(Reply(raw=spaced, headers=draw(HEADERS)), sound and ended, said)


BODIES = st.sampled_from(
    [
        b"",
        b"{}",
        b"null",
        b"5",
        b"<html>upstream unavailable</html>",
        b"\xff\xfe\x00",
        b"[" * 30_000,
        b'{"error":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"error": {"message": ' + b'{"message":' * 50 + b'"deep"' + b"}" * 50 + b"}}",
        b'{"error": {"message": [1, 2], "code": {"a": 1}, "type": 7}}',
        b'{"error": [1]}',
        b'{"error": "a\\ud800b"}',
        b'{"detail": "' + b"x" * 385 + b' sk-test-0123456789abcdef"}',
        b'{"message": "' + b"y" * 3_000_000 + b'"}',
        b"data: {}\n\n",
    ]
)
FAILING_HEADERS = st.sampled_from(
    [
        {},
        {"Retry-After": "0"},
        {"Retry-After": "-5"},
        {"Retry-After": "nan"},
        {"Retry-After": "1e400"},
        {"Retry-After": "9" * 30},
        {"Retry-After": "Wed, 99 Foo 2026"},
        {"Content-Encoding": "gzip"},
        {"Content-Encoding": "identity, x"},
        {"Location": "http://127.0.0.1:9/elsewhere"},
        {"Content-Type": "application/json"},
    ]
)


@st.composite
def failures(draw: st.DrawFn) -> Case:
    """An answer that is no reply at all."""
    status = draw(
        st.sampled_from([200, 204, 301, 302, 307, 400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503, 529])
    )
    body = draw(BODIES)
    return Case(Reply(status=status, raw=(body,), headers=draw(FAILING_HEADERS)), sound=False, text="")


cases: st.SearchStrategy[Case] = st.one_of(streams(), streams(), failures())


def shown(text: str) -> str:
    """What a text is once it is stored."""
    return storable_text(text)
