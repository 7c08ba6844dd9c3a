"""Finds addresses in text, and decides which may be opened."""

import re
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"\b(?:https?://|mailto:)[^\s<>\"'`|\\^{}\[\]␀-␦]+", re.IGNORECASE)
_OPENED = ("http", "https", "mailto")
MAX_CHARS = 2_000


def is_web_address(address: str) -> bool:
    """Whether it is an http(s) or mailto address; nothing else is passed to the system."""
    if len(address) > MAX_CHARS or not address.isprintable() or any(each.isspace() for each in address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme.lower() in _OPENED and bool(parts.netloc or (parts.scheme == "mailto" and parts.path))


def addresses_in(text: str) -> list[str]:
    """The distinct addresses of a text, in order."""
    found = (_closed(match[0]) for match in _ADDRESS.finditer(text))
    return list(dict.fromkeys(address for address in found if is_web_address(address)))


def _closed(address: str) -> str:
    """The address without trailing punctuation of the sentence around it."""
    address = address.rstrip(".,;:!?*_~")
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(".,;:!?*_~")
    return address
