"""Addresses in what was said: which of them may be opened. Knows no screen."""

import re
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"\b(?:https?://|mailto:)[^\s<>\"'`|\\^{}\[\]␀-␦]+", re.IGNORECASE)
_OPENED = ("http", "https", "mailto")
MOST_CHARS = 2_000


def is_web_address(address: str) -> bool:
    """Whether a browser or a mail program opens it; nothing else is ever handed to the system."""
    if len(address) > MOST_CHARS or not address.isprintable() or any(each.isspace() for each in address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme.lower() in _OPENED and bool(parts.netloc or (parts.scheme == "mailto" and parts.path))


def addresses_in(text: str) -> list[str]:
    """Every address in a text, once, in the order in which they stand there."""
    found = (_closed(match[0]) for match in _ADDRESS.finditer(text))
    return list(dict.fromkeys(address for address in found if is_web_address(address)))


def _closed(address: str) -> str:
    """Without what belongs to the sentence around it."""
    address = address.rstrip(".,;:!?*_~")
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(".,;:!?*_~")
    return address
