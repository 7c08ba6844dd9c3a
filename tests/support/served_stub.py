"""A program that speaks with `co-tui serve` as the app does: it shows what is typed, and draws anew when asked.

`session ID` switches the session, `open URL` opens an address, `flood` writes far more than a page may have waiting,
`quit` ends. Its first argument is a file that gets what was typed, after a flood and once it has ended in order.
"""

import json
import sys
from typing import Any

FLOOD = 30
"""Megabytes."""


def write(kind: bytes, payload: bytes) -> None:
    sys.stdout.buffer.write(kind + len(payload).to_bytes(4, "big") + payload)
    sys.stdout.buffer.flush()


def tell(**meta: object) -> None:
    write(b"M", json.dumps(meta).encode())


def draw(text: str) -> None:
    write(b"D", f"<{text}>".encode())


def packets() -> Any:
    read = sys.stdin.buffer.read
    while header := read(5):
        yield header[:1], read(int.from_bytes(header[1:], "big"))


def note(typed: str) -> None:
    with open(sys.argv[1], "a", encoding="utf-8") as file:
        file.write(f"{typed}\n")


def type_in(text: str) -> None:
    word, _, rest = text.partition(" ")
    if word == "session":
        tell(type="session", id=rest)
    elif word == "open":
        tell(type="open_url", url=rest, new_tab=False)
    elif word == "flood":
        for _ in range(FLOOD):
            write(b"D", b"x" * 1_000_000)
        note("flooded")
    elif word == "quit":
        print("Come back with --resume.", file=sys.stderr)
        sys.exit(0)
    draw(f"typed {text}")


def main() -> None:
    sys.stdout.buffer.write(b"__GANGLION__\n")
    typed = ""
    arguments = sys.argv[2:]
    draw(f"started {' '.join(arguments)}")
    if arguments:
        tell(type="session", id=arguments[1])
    for kind, payload in packets():
        if kind == b"D":
            typed += payload.decode()
            type_in(payload.decode())
            continue
        meta = json.loads(payload)
        if meta["type"] == "attach":
            tell(type="attached", number=meta["number"])
            draw(f"whole {meta['width']}x{meta['height']} {typed}")
    note(typed)


main()
