"""Untrusted text made harmless: what a model, a tool or a file says is shown, never obeyed."""

_VISIBLE = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    **dict.fromkeys(range(128, 160), 65533),
    # Marks that reorder or hide what is read.
    **dict.fromkeys((*range(8234, 8239), *range(8294, 8298), 8206, 8207), 65533),
    # Lone surrogates cannot be written to a terminal.
    **dict.fromkeys(range(55296, 57344), 65533),
}


def inert(text: str) -> str:
    """The text with every control character turned into a visible sign; newlines and tabs stay."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def one_line(text: str, limit: int) -> str:
    """The text on one line, at most `limit` characters, with a sign when there is more."""
    flat = " ".join(inert(text[: limit * 4]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
