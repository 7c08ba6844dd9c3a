"""Layered settings: every value knows where it came from.

Strongest first: command line, environment, the project's `.co-tui.toml`, the user's `config.toml`,
the policy, the defaults. Nothing here reads the process environment by itself: `cli` hands it in.
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from co_tui.paths import HOME_VARIABLE, PROJECT_FILE, Paths, find_upwards, write_atomically
from co_tui.record import Record

ENVIRONMENT_PREFIX: Final = "CO_TUI_"
HOOKS: Final = ("preCompact",)
"""Moments at which commands of the user's own can run."""
BUILT_IN_POLICIES: Final = Path(__file__).parent / "context" / "policies"


NO_HOOKS: Final[Mapping[str, tuple[str, ...]]] = {}


class SettingsError(Exception):
    """A setting that cannot be used; the text names the key, the value and what is allowed."""


class _Rule(NamedTuple):
    """What a setting accepts, and how to say it."""

    allowed: str
    read: Callable[[object], object]
    """Raises ValueError for what is not allowed."""
    personal: bool = False
    """Only the user may set it: a project's file comes with whatever was cloned."""


def _whole(minimum: int, meaning_of_zero: str = "") -> _Rule:
    def read(value: object) -> object:
        if isinstance(value, str):
            value = int(value.replace("_", ""))
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise ValueError
        return value

    return _Rule(f"a whole number from {minimum} up" + (f" (0 {meaning_of_zero})" if meaning_of_zero else ""), read)


def _number(low: float, high: float) -> _Rule:
    def read(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        number = float(value)
        if not low <= number <= high:
            raise ValueError
        return number

    return _Rule(f"a number from {low:g} to {high:g}", read)


def _text(allowed: str = "a text", *, personal: bool = False) -> _Rule:
    def read(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError
        return value.strip()

    return _Rule(allowed, read, personal)


def _one_of(*words: str) -> _Rule:
    def read(value: object) -> object:
        if value not in words:
            raise ValueError
        return value

    return _Rule("one of " + ", ".join(words), read)


def _hooks() -> _Rule:
    def read(value: object) -> object:
        if isinstance(value, str):
            value = json.loads(value)
        if not isinstance(value, Mapping) or not set(value) <= set(HOOKS):
            raise ValueError
        read_hooks = {}
        for name, commands in value.items():
            commands = [commands] if isinstance(commands, str) else commands
            if not isinstance(commands, list | tuple) or not all(isinstance(each, str) and each for each in commands):
                raise ValueError
            read_hooks[name] = tuple(commands)
        return read_hooks

    return _Rule(f"a table of commands for {', '.join(HOOKS)}", read, personal=True)


class Settings(Record):
    """The values in force."""

    model: Annotated[str, _text("a model string such as anthropic:claude-sonnet-5, or embedded")] = ""
    """Who answers; empty means the first provider with a key, else the embedded model."""
    policy: Annotated[str, _text("the name of a policy")] = "balanced"
    """Which policy governs the context."""
    base_url: Annotated[str, _text("the address of an OpenAI-compatible server", personal=True)] = ""
    """Where `openai-chat:` models are served; empty means OPENAI_BASE_URL, else OpenAI."""
    theme: Annotated[str, _text("auto, or the name of a theme")] = "auto"
    """Colours of the app; auto follows the terminal."""
    summarization_model: Annotated[str, _text("a model string, or empty for the primary model")] = ""
    """Who writes the summaries of automatic compaction."""
    context_window: Annotated[int, _whole(0, "asks the model")] = 0
    """The model's window in tokens, when its provider is wrong about it."""
    tool_output_trim_chars: Annotated[int, _whole(0, "switches trimming off")] = 2000
    """Tool results longer than this are clipped once they are no longer recent."""
    max_history_messages: Annotated[int, _whole(0, "switches the window off")] = 0
    """More messages than this, and the middle is summarised."""
    background_compaction_threshold: Annotated[float, _number(0, 1)] = 0.8
    """Share of the window at which compaction starts beside the turn."""
    buffer_exhaustion_threshold: Annotated[float, _number(0, 1)] = 0.95
    """Share of the window at which a request waits for compaction."""
    min_compaction_messages: Annotated[int, _whole(2)] = 4
    """Fewer messages than this are not compacted."""
    agent_max_context_tokens: Annotated[int, _whole(0, "leaves it to the window")] = 0
    """A budget for the context below the model's window."""
    agent_max_context_turns: Annotated[int, _whole(0, "switches turn trimming off")] = 0
    """More turns than this, and the oldest half is summarised."""
    compaction: Annotated[str, _one_of("none", "window", "compress", "turns", "background")] = "background"
    """Which rule decides when and what is summarised."""
    summary_form: Annotated[str, _one_of("marker", "pair", "prompt", "full")] = "full"
    """What stands where the summarised messages stood."""
    summary_share: Annotated[float, _number(0.01, 0.5)] = 0.1
    """How much of the window a summary may take."""
    keep_recent_share: Annotated[float, _number(0, 0.9)] = 0.25
    """How much of the window the newest messages keep, word for word, through a compaction."""
    head_tail_chars: Annotated[int, _whole(0, "switches it off")] = 0
    """Results of earlier turns longer than this keep their beginning and end."""
    archive_over_chars: Annotated[int, _whole(0, "switches it off")] = 0
    """Results of earlier turns longer than this are stored whole and stand as a reference."""
    compression_threshold: Annotated[float, _number(0, 1)] = 0.5
    """Share of the window at which the conversation is compressed, under `compress`."""
    run_compression_low: Annotated[float, _number(0, 1)] = 0.75
    """Share of a small window at which the results of the running turn are compressed, under `compress`."""
    run_compression_high: Annotated[float, _number(0, 1)] = 0.91
    """The same for the largest windows; in between it grows with the window."""
    fallback_messages: Annotated[int, _whole(1)] = 50
    """Messages kept when nothing can summarise, under `compress`."""
    fallback_tokens: Annotated[int, _whole(1)] = 8000
    """Tokens of them kept."""
    few_turns: Annotated[int, _whole(1)] = 5
    """With fewer turns than this, a token budget keeps texts instead of summarising, under `turns`."""
    compaction_asks: Annotated[str, _one_of("on", "off")] = "off"
    """Whether automatic compaction asks first."""
    compaction_waits: Annotated[str, _one_of("no", "turn")] = "no"
    """`turn` holds automatic compaction to the end of the turn, as long as the request still fits."""
    compaction_review: Annotated[str, _one_of("on", "off")] = "off"
    """Whether a summary can be read and edited before it is applied."""
    compaction_timeout_s: Annotated[float, _number(1, 86_400)] = 120.0
    """How long one summary may take before the offline summariser steps in."""
    memory_limit_mb: Annotated[int, _whole(0, "switches it off")] = 2048
    """Above so much memory of this process, garbage is collected and then the conversation compacted."""
    truncation: Annotated[str, _one_of("on", "off")] = "on"
    """Whether the last guard leaves out what does not fit."""
    truncation_headroom: Annotated[float, _number(0, 0.5)] = 0.05
    """How far below the limit it aims."""
    agent_max_steps: Annotated[int, _whole(1)] = 15
    """Model decisions in one turn before it stops with a notice."""
    retention_days: Annotated[int, _whole(0, "keeps sessions for ever")] = 0
    """Sessions older than this move to the trash."""
    request_timeout_s: Annotated[float, _number(1, 86_400)] = 300.0
    """How long a provider may stay silent."""
    max_retries: Annotated[int, _whole(0, "gives up at once")] = 4
    """How often a request that failed for a passing reason is sent again."""
    hooks: Annotated[Mapping[str, tuple[str, ...]], _hooks()] = NO_HOOKS
    """Commands that run at certain moments; `preCompact` may veto a compaction or add to its focus."""
    hook_timeout_s: Annotated[float, _number(0.1, 600)] = 10.0
    """How long a hook may take."""
    telemetry: Annotated[str, _text("off, or the address of an OpenTelemetry collector", personal=True)] = "off"
    """Where compactions are reported to as OpenTelemetry spans."""


class Origin(NamedTuple):
    """A value and the layer that set it."""

    value: object
    source: str


class Loaded(Record):
    """Settings with the origin of each, and what was wrong on the way."""

    settings: Settings
    origins: Mapping[str, Origin]
    problems: tuple[str, ...]
    """Values that cannot be used; the next layer's value stands in for them."""
    warnings: tuple[str, ...]
    """Keys nobody knows."""


@cache
def rules() -> Mapping[str, _Rule]:
    return {name: hint.__metadata__[0] for name, hint in Settings.FIELDS.items()}


def load(
    *, paths: Paths, cwd: Path, environ: Mapping[str, str], command_line: Mapping[str, object] | None = None
) -> Loaded:
    """Read every layer and merge them."""
    merge = _Merge()
    given = {key: value for key, value in (command_line or {}).items() if value is not None}
    merge.layer("the command line", given)
    merge.layer("the environment", _from_environment(environ), name=lambda key: ENVIRONMENT_PREFIX + key.upper())
    project = find_upwards(PROJECT_FILE, cwd)
    if project is not None:
        merge.file(project, personal=False)
    merge.file(paths.config_file)
    name = merge.found.get("policy", Origin(Settings().policy, "default"))
    policy = _policy_file(str(name.value), paths)
    if policy is None:
        names = ", ".join(policy_names(paths))
        merge.problems.append(f"policy = {name.value!r} ({name.source}) is not allowed: one of {names}.")
        merge.found.pop("policy", None)
        policy = _policy_file(Settings().policy, paths)
    if policy is not None:
        merge.layer(f"policy {policy.stem}", merge.table(policy).get("settings", {}))
    defaults = Settings()
    origins = {name: merge.found.get(name, Origin(getattr(defaults, name), "default")) for name in rules()}
    values: dict[str, Any] = {key: origin.value for key, origin in origins.items()}
    return Loaded(
        settings=Settings(**values), origins=origins, problems=tuple(merge.problems), warnings=tuple(merge.warnings)
    )


def policy_names(paths: Paths) -> list[str]:
    """The policies that can be chosen: ours, and the user's own."""
    folders = (BUILT_IN_POLICIES, paths.policies)
    return sorted({file.stem for folder in folders if folder.is_dir() for file in folder.glob("*.toml")})


def check(key: str, value: object) -> object:
    """The value as the setting keeps it. Raises `SettingsError` when it is not allowed."""
    rule = rules().get(key)
    if rule is None:
        raise SettingsError(unknown_key(key))
    try:
        return rule.read(value)
    except (ValueError, TypeError):
        raise SettingsError(f"{key} = {value!r} is not allowed: it must be {rule.allowed}.") from None


def unknown_key(key: str) -> str:
    close = get_close_matches(key, rules(), n=1)
    hint = f"; did you mean {close[0]}?" if close else ". `co-tui config` lists them."
    return f"There is no setting {key!r}{hint}"


def write(key: str, value: str, paths: Paths) -> object:
    """Set a key in the user's file, leaving the rest of it as it is. Returns the value as kept."""
    kept = check(key, value)
    if key == "policy" and _policy_file(str(kept), paths) is None:
        raise SettingsError(f"policy = {value!r} is not allowed: one of {', '.join(policy_names(paths))}.")
    file = paths.config_file
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file} cannot be read ({error}); mend it first, nothing was written.") from None
    changed = _with_key(text, key, kept)
    try:
        if rules()[key].read(tomllib.loads(changed).get(key)) != kept:
            raise ValueError
    except ValueError:
        raise SettingsError(f"{file} sets {key} in a way only you can change; edit it by hand.") from None
    try:
        write_atomically(file, changed)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror or error}.") from None
    return kept


class _Merge:
    """Collects values from the strongest layer to the weakest."""

    def __init__(self) -> None:
        self.found: dict[str, Origin] = {}
        self.problems: list[str] = []
        self.warnings: list[str] = []

    def layer(
        self,
        source: str,
        values: Mapping[str, object],
        *,
        personal: bool = True,
        name: Callable[[str], str] = lambda key: key,
    ) -> None:
        for key, value in values.items():
            rule = rules().get(key)
            if rule is None:
                self.warnings.append(f"{source}: {unknown_key(key)}")
            elif rule.personal and not personal:
                self.warnings.append(f"{source}: {key} is ignored there; set it in your own config.toml.")
            else:
                try:
                    checked = check(key, value)
                except SettingsError:
                    self.problems.append(
                        f"{name(key)} = {value!r} ({source}) is not allowed: it must be {rule.allowed}."
                    )
                else:
                    self.found.setdefault(key, Origin(checked, source))

    def file(self, file: Path, *, personal: bool = True) -> None:
        if file.is_file():
            self.layer(str(file), self.table(file), personal=personal)

    def table(self, file: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            self.problems.append(f"{file} cannot be read: {error}.")
            return {}


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    return {
        variable.removeprefix(ENVIRONMENT_PREFIX).lower(): value
        for variable, value in environ.items()
        if variable.startswith(ENVIRONMENT_PREFIX) and variable != HOME_VARIABLE
    }


def _policy_file(name: str, paths: Paths) -> Path | None:
    if not name or "/" in name or "\\" in name or name.startswith("."):
        return None
    for folder in (paths.policies, BUILT_IN_POLICIES):
        file = folder / f"{name}.toml"
        if file.is_file():
            return file
    return None


def _with_key(text: str, key: str, value: object) -> str:
    """The TOML text with a top-level key set; comments and other keys stay where they are."""
    line = f"{key} = {_toml(value)}"
    lines = text.splitlines()
    for index, present in enumerate(lines):
        if present.lstrip().startswith("["):
            break
        if present.split("=", 1)[0].strip() == key and "=" in present:
            lines[index] = line
            return "\n".join(lines) + "\n"
    else:
        index = len(lines)
    lines.insert(index, line)
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    text = "".join(f"\\u{ord(c):04x}" if c < " " or c == "\x7f" else "\\" + c if c in '"\\' else c for c in str(value))
    return f'"{text}"'
