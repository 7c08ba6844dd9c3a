"""ASCII replacements of the same width, for terminals that cannot show our symbols."""

import codecs
from typing import Final, TextIO

from rich.cells import cell_len

HANDLER: Final = "co-tui-plain"
_SYMBOLS: Final = {
    "-": "─━╸╺╴╶═–—−┄",
    "|": "│┃║▌▐▎▍▏▊▉▋┆",
    "+": "╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝",
    "#": "█■▇▆",
    "%": "▓",
    "=": "▒▅▄",
    ".": "░·•◌▁▂▃▔▀…",
    "*": "◆●★◉◇✓⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",
    "o": "○◔☐",
    "x": "✗×☑",
    ">": "→▸▶›»⟩↳↗❯",
    "<": "←‹«⟨↶↩↲⌫",
    "^": "↑▲",
    "v": "↓▼▾",
    "~": "≈⇄↻",
    "!": "⚠",
    '"': "“”„",
    "'": "’‘",
}
_PLAIN: Final = {symbol: plain for plain, symbols in _SYMBOLS.items() for symbol in symbols}


def use_ascii_symbols(stream: TextIO) -> None:
    """Make a stream with a limited encoding write ASCII symbols of the same width."""
    if not (stream.encoding or "utf-8").lower().startswith("utf"):
        codecs.register_error(HANDLER, _plain)
        stream.reconfigure(errors=HANDLER)  # type: ignore[attr-defined]  # streams to a terminal have it


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unwritable = error.object[error.start : error.end]
    return "".join(_PLAIN.get(symbol, "?" * cell_len(symbol)) for symbol in unwritable), error.end
