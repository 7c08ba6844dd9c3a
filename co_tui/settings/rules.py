"""The kinds of values settings accept, and how to describe them."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from co_tui.inert import one_line

SEPARATOR: Final = " at "

TOOLS: Final = ("files", "commands", "plan", "skills", "questions", "instructions", "agents", "mcp", "web")
"""Groups of tools an agent may have in a folder; `instructions` are the folder's AGENTS.md and CLAUDE.md, `mcp` the
tools of MCP servers, `web` fetching and searching."""
SEARCH_PROVIDER: Final = "provider"
SEARCH_OFF: Final = "off"
ASK: Final = "ask"
EDITS: Final = "edits"
PLAN: Final = "plan"
AUTO: Final = "auto"
PRESENT_PLAN: Final = "present_plan"
"""The tool the model calls to end mode `plan`."""
FRESH: Final = "fresh"
"""A delegate sees its task and the files named with it."""
CONVERSATION: Final = "conversation"
"""It sees the top-level conversation, too."""
DELEGATE_CONTEXTS: Final = (FRESH, CONVERSATION)
MODES: Final = (ASK, EDITS, PLAN, AUTO)
"""What runs without asking: reading only; file changes too; reading, and nothing else even if allowed; commands in the
sandbox too."""
NOT_AT_HOME: Final = (
    "Mode {} is not offered in the home folder or above it: files written there can start programs at the next "
    "login. Work in a folder below it."
)
SANDBOX_OFF: Final = "off"
SANDBOX_WITH_NETWORK: Final = "bwrap+network"
SANDBOX: Final = "bwrap"
SANDBOXES: Final = (SANDBOX_OFF, SANDBOX_WITH_NETWORK, SANDBOX)
"""Where the model's commands run, least strict first; `bwrap` has no network."""
SHOWN_CHARS: Final = 60
HIDDEN: Final = "[hidden]"
"""Replaces a bad value that may hold a key."""
WITH_PASSWORD: Final = "a URL with a password"
"""Replaces one."""
ENVIRONMENT_PREFIX: Final = "CO_TUI_"
"""Begins the names of variables that are about co-tui itself."""
LONGEST_VARIABLE_CHARS: Final = 10_000
MOST_VARIABLES: Final = 200
_VARIABLE_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLES: Final = "a table of names and texts"
NO_LIMIT: Final = "no limit"
EMBEDDED: Final = "embedded"
SERVED: Final = "openai-chat"
GGUF: Final = "gguf"
"""Prefix of the path of a weights file on this machine."""
MODEL_PREFIXES: Final = (
    "anthropic", "openai", "google", "openai-chat", "ollama", "openrouter", "deepseek", "groq", "mistral", "xai",
    "moonshotai", "alibaba", "azure", "azure-responses", "bedrock", "bedrock-mantle", "cerebras", "cohere", "crusoe",
    "fireworks", "github", "github-copilot", "google-cloud", "heroku", "huggingface", "litellm", "meta", "nebius",
    "openai-chatgpt", "openai-codex", "openai-decisions", "openai-responses", "ovhcloud", "sambanova", "snowflake",
    "system-one", "together", "typesafe", "vercel", "vllm", "zai",
)  # fmt: skip
"""Providers the model library supports, the most used first."""
THEMES: Final = (
    "auto", "dark", "light", "high-contrast", "high-contrast-light", "nord", "gruvbox", "tokyo-night", "dracula",
    "monokai", "flexoki", "catppuccin-mocha", "catppuccin-macchiato", "catppuccin-frappe", "catppuccin-latte",
    "rose-pine", "rose-pine-moon", "rose-pine-dawn", "solarized-dark", "solarized-light", "atom-one-dark",
    "atom-one-light", "co-tui-dark", "co-tui-light", "textual-dark", "textual-light", "ansi-dark", "ansi-light",
)  # fmt: skip


class SettingsError(Exception):
    """A setting that cannot be used; the text names the key, the value and what is allowed."""


class Rule(NamedTuple):
    """The values a setting accepts, and how to describe them."""

    allowed: str
    read: Callable[[object], object]
    """Validates and converts a value. Raises ValueError, TypeError, OverflowError or RecursionError."""
    choices: tuple[str, ...] = ()
    """The possible values, if there are only a few."""
    zero: str = ""
    """What 0 means, where it is not a number like the others."""

    def shown(self, value: object) -> str:
        """A value for people: 0 by what it means."""
        return self.zero if self.zero and value == 0 else value_text(value)


SettingGroup: TypeAlias = Literal["answering", "context", "tools", "looks", "files"]
GROUPS: Final[tuple[SettingGroup, ...]] = ("answering", "context", "tools", "looks", "files")


class NamesOnly(dict[str, str]):
    """A table of texts of which only the names are shown: a text may be a key."""

    def __repr__(self) -> str:
        return ", ".join(self)


class About(NamedTuple):
    """The group, name and purpose of a setting."""

    group: SettingGroup
    label: str
    """Its name for people."""
    sentence: str


class PartRefused(ValueError):
    """A bad part of a structured value."""

    def __init__(self, path: str, value: str, allowed: str) -> None:
        """`value` is the part as text that may be shown."""
        super().__init__(path)
        self.path, self.value, self.allowed = path, value, allowed


def offered_modes(*, at_home: bool) -> tuple[str, ...]:
    """The modes that a folder allows, whether or not a sandbox works; `at_home`: it is the home folder or above it."""
    return (ASK, PLAN) if at_home else MODES


def quoted(value: object) -> str:
    """A value quoted for a sentence: on one line, and shortened."""
    try:
        return one_line(repr(value), SHOWN_CHARS)
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        return f"a value too large to show ({type(value).__name__})"


def value_text(value: object) -> str:
    """A value as people write it."""
    if isinstance(value, tuple | list) and not isinstance(value, ByWindow):
        return ", ".join(str(getattr(each, "rule", each)) for each in value) or "none"
    if isinstance(value, NamesOnly):
        return ", ".join(value) or "none"
    if isinstance(value, Mapping):
        return json.dumps({key: _table_value(each) for key, each in value.items()}, default=str) if value else "none"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if value != "" else "(empty)"


def _table_value(value: object) -> object:
    """A value in a table; hooks as people write them."""
    return [getattr(each, "written", each) for each in value] if isinstance(value, tuple) else value


def whole_number(minimum: int, maximum: int, zero: str = "") -> Rule:
    def read(value: object) -> object:
        if isinstance(value, str):
            value = int(value.replace("_", ""))
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise ValueError
        return value

    meaning = f" (0: {zero})" if zero else ""
    return Rule(f"a whole number from {minimum} to {maximum:,}{meaning}", read, zero=zero)


def number(low: float, high: float) -> Rule:
    def read(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        amount = float(value)
        if not low <= amount <= high:
            raise ValueError
        return amount

    return Rule(f"a number from {low:,g} to {high:,g}", read)


def dollars() -> Rule:
    """A limit in US dollars."""
    amount = number(0, 100_000)
    return Rule(f"{amount.allowed} (0: {NO_LIMIT})", amount.read, zero=NO_LIMIT)


def number_by_window(low: float, high: float) -> Rule:
    """A number, or several by window size."""
    plain = number(low, high)

    def read(value: object) -> object:
        if not isinstance(value, ByWindow) and not (isinstance(value, str) and " at " in value):
            return plain.read(value)
        numbers = ByWindow.parse(str(value))
        for _, each in numbers:
            plain.read(each)
        return numbers

    return Rule(f"{plain.allowed}, or by window size (0.2 at 8000, 0.1 at 128000)", read)


def text(allowed: str = "a text") -> Rule:
    def read(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError
        return value.strip()

    return Rule(allowed, read)


def address(default: str, what: str, *words: str) -> Rule:
    """An HTTP address, the default, or one of some words."""
    allowed = f"{', '.join((default or 'empty', *words))}, or the http:// or https:// address of {what}"

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError
        value = value.strip()
        if "@" in value:
            # Not shown: settings are printed, logged and exported.
            raise PartRefused("", WITH_PASSWORD, allowed)
        return value if value in (default, *words) else http_address(value)

    return Rule(allowed, read)


def http_address(value: str) -> str:
    """An HTTP address, stripped. Raises ValueError for anything else, odd brackets and ports included."""
    from urllib.parse import urlsplit  # as slow to import as everything else here, and rarely needed

    parts = urlsplit(value := value.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError
    return value


def has_password(text: str) -> bool:
    """Whether the address in a text, such as a model string, may have a user name or password, which may contain
    slashes."""
    return "@" in text.partition("://")[2]


def model_string(default: str) -> Rule:
    """A known provider and any model name."""
    allowed = (
        "PROVIDER:NAME such as anthropic:claude-sonnet-5 (providers: "
        f"{', '.join(MODEL_PREFIXES[:8])}, …), {GGUF}:PATH, {EMBEDDED}, or empty for {default}"
    )

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError
        value = value.strip()
        if has_password(value):
            raise PartRefused("", f"a model at {WITH_PASSWORD}", allowed)
        prefix, colon, name = value.removeprefix("gateway/").partition(":")
        named = bool(name.strip()) or prefix == SERVED  # without a name, its first model
        if value not in ("", EMBEDDED) and (prefix not in (*MODEL_PREFIXES, GGUF) or not colon or not named):
            raise ValueError
        return value

    return Rule(allowed, read)


def one_of(*words: str) -> Rule:
    def read(value: object) -> object:
        if value not in words:
            raise ValueError
        return value

    return Rule("one of " + ", ".join(words), read, words)


def some_of(*words: str) -> Rule:
    """A subset of the words, in their order; `none` means empty."""

    def read(value: object) -> object:
        if isinstance(value, str):
            value = [] if value.strip() == "none" else [each.strip() for each in value.split(",")]
        if not isinstance(value, list | tuple) or not all(each in words for each in value):
            raise ValueError
        return tuple(word for word in words if word in value)

    return Rule(f"a list of some of {', '.join(words)}; or none", read)


def host_names() -> Rule:
    """A list of host names; `none` means empty."""

    def read(value: object) -> object:
        if isinstance(value, str):
            value = [] if value.strip() in ("", "none") else value.split(",")
        if not isinstance(value, list | tuple):
            raise ValueError
        names = tuple(str(each).strip().lower().rstrip(".") for each in value)
        if not all(re.fullmatch(r"[\w-]+(\.[\w-]+)*", name) for name in names):
            raise ValueError
        return names

    return Rule("a list of host names, such as wiki.example.com; or none", read)


def folder_names() -> Rule:
    """A list of folders; `none` means empty."""

    def read(value: object) -> object:
        if isinstance(value, str):
            value = [] if value.strip() in ("", "none") else value.split(",")
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
            raise ValueError
        return tuple(dict.fromkeys(each.strip() for each in value))

    return Rule("a list of folders, such as ../lib; or none", read)


def nothing_or(default: str, *words: str) -> Rule:
    """Empty, or one of the words."""

    def read(value: object) -> object:
        if value not in ("", *words):
            raise ValueError
        return value

    return Rule(f"empty for {default}, or one of {', '.join(words)}", read, ("", *words))


def table_in(value: object) -> object:
    """A table; one given as JSON text, as in the environment, is parsed, and `none` means empty."""
    if not isinstance(value, str):
        return value
    return {} if value.strip() in ("", "none") else json.loads(value)


def variable_table() -> Rule:
    """Variables that reach commands, hooks and servers, and nothing of co-tui itself."""
    return Rule(f"{_VARIABLES}; or none", _read_variables)


def _read_variables(value: object) -> object:
    try:
        value = table_in(value)
    except (ValueError, RecursionError):
        raise PartRefused("", HIDDEN, _VARIABLES) from None
    if not isinstance(value, Mapping) or len(value) > MOST_VARIABLES:
        raise PartRefused("", HIDDEN, f"{_VARIABLES}, at most {MOST_VARIABLES}")
    return NamesOnly({name: _variable(name, each) for name, each in value.items()})


def _variable(name: str, value: object) -> str:
    if not re.fullmatch(_VARIABLE_NAME, name) or name.upper().startswith(ENVIRONMENT_PREFIX):
        allowed = f"a name of letters, digits and _ that does not begin with {ENVIRONMENT_PREFIX}"
        raise PartRefused(one_line(name, 40), HIDDEN, allowed)
    if isinstance(value, bool):
        value = "true" if value else "false"
    text = str(value) if isinstance(value, int | float) else value
    if not isinstance(text, str) or "\0" in text or len(text) > LONGEST_VARIABLE_CHARS:
        raise PartRefused(name, HIDDEN, f"a text of at most {LONGEST_VARIABLE_CHARS:,} characters")
    return text


class ByWindow(tuple[tuple[int, float], ...]):
    """Numbers at some window sizes, smallest first; interpolated on a logarithmic scale in between."""

    __slots__ = ()

    def __str__(self) -> str:
        return ", ".join(f"{number:g}{SEPARATOR}{window}" for window, number in self)

    __repr__ = __str__

    @lru_cache(maxsize=64)  # noqa: B019 - a value, bounded; several are read for each request
    def at(self, window_tokens: int) -> float:
        before = [point for point in self if point[0] <= window_tokens]
        after = [point for point in self if point[0] > window_tokens]
        if not before or not after:
            return (before[-1] if before else after[0])[1]
        (low, first), (high, last) = before[-1], after[0]
        return first + (last - first) * math.log(window_tokens / low) / math.log(high / low)

    @classmethod
    def parse(cls, text: str) -> "ByWindow":
        """Reads `0.25 at 8000, 0.2 at 32000`. Raises ValueError."""
        points = []
        for point in text.split(","):
            number, at, window = point.partition(SEPARATOR.strip())
            if not at or int(window) <= 0:
                raise ValueError
            points.append((int(window), float(number)))
        if len({window for window, _ in points}) < len(points):
            raise ValueError
        return cls(sorted(points))


def in_window(number: float | ByWindow, window_tokens: int) -> float:
    """The number for a window of `window_tokens`."""
    return number.at(window_tokens) if isinstance(number, ByWindow) else number


def windows_of(numbers: Iterable[object]) -> list[int]:
    """The window sizes that any of the numbers names."""
    return sorted({window for number in numbers if isinstance(number, ByWindow) for window, _ in number})
