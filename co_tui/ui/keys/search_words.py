"""Find commands, keys and settings by the words people have for them."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

LEAST_CHARS: Final = 3
"""Of a word that is still being typed, before its other words are tried."""
OTHER_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("allow", "approve", "permission", "rule", "whitelist", "yolo"),
        ("/approvals", "/mode", "permission", "without asking"),
    ),
    **dict.fromkeys(("pytest", "npm", "git"), ("/approvals", "permission rules")),
    **dict.fromkeys(("budget", "spend", "spending", "money", "price", "dollars"), ("cost", "/context", "/settings")),
    **dict.fromkeys(("cost", "usage", "tokens"), ("/context", "cost")),
    "limit": ("cost", "most ", "longest", "/settings"),
    **dict.fromkeys(("rebind", "shortcut", "hotkey", "keybinding", "binding"), ("custom keys", "change a key")),
    **dict.fromkeys(("colour", "color", "dark", "appearance"), ("theme",)),
    **dict.fromkeys(("timeout", "hang"), ("longest time", "longest silence", "time limit")),
    **dict.fromkeys(("sound", "bell", "beep", "notify"), ("notifications",)),
    **dict.fromkeys(("password", "token", "apikey", "credential"), ("/login",)),
    **dict.fromkeys(("provider", "endpoint", "llm"), ("/model", "/login", "base_url")),
    **dict.fromkeys(("revert", "checkpoint", "rollback"), ("/rewind", "/undo")),
    **dict.fromkeys(("summarize", "shrink", "compress"), ("/compact", "summarise")),
    **dict.fromkeys(("plugin", "extension", "integration"), ("mcp", "hooks")),
    **dict.fromkeys(("subagent", "delegate"), ("/agents", "delegate")),
    **dict.fromkeys(("exit", "leave", "close"), ("quit",)),
    **dict.fromkeys(("proxy", "internet", "browse"), ("web", "base_url")),
    **dict.fromkeys(("thinking", "reasoning"), ("effort",)),
    **dict.fromkeys(("retention", "privacy", "delete"), ("keep sessions", "trash")),
    **dict.fromkeys(("config", "preferences", "options", "configure"), ("/settings", "/config")),
    **dict.fromkeys(("vim", "nano", "emacs"), ("$editor",)),
}
"""Words that people try, and what our own texts have instead."""


def is_found(typed: Sequence[str], text: str) -> bool:
    """Whether a text has each of the lowercase words, or another word for it."""
    lower = text.lower()
    names = lower.split()
    return all(word in lower or any(_has(other, lower, names) for other in other_words(word)) for word in typed)


def _has(other: str, text: str, names: Sequence[str]) -> bool:
    """A command is found by its whole name only."""
    return other in names if other.startswith("/") else other in text


@cache
def other_words(word: str) -> list[str]:
    """What our texts may have instead of a word, or of the words it begins."""
    if len(word) < LEAST_CHARS:
        return []
    return [other for known, others in OTHER_WORDS.items() if known.startswith(word) for other in others]
