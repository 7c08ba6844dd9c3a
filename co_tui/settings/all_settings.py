"""Every setting: its default, the values it accepts, and its purpose."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Final

from co_tui.inert import one_line
from co_tui.nearest import nearest
from co_tui.settings.context_settings import ContextSettings
from co_tui.settings.key_choices import key_table
from co_tui.settings.mcp_servers import NO_SERVERS, McpServer, mcp_server_table
from co_tui.settings.permission_rules import RuleInForce, permission_table
from co_tui.settings.rules import (
    ASK,
    MODES,
    SANDBOX_OFF,
    SANDBOXES,
    THEMES,
    About,
    PartRefused,
    Rule,
    address,
    hook_table,
    model_string,
    nothing_or,
    number,
    one_of,
    quoted,
    whole_number,
)

NO_KEYS: Final[Mapping[str, str]] = {}
NO_HOOKS: Final[Mapping[str, tuple[str, ...]]] = {}


class SettingsError(Exception):
    """A setting that cannot be used; the text names the key, the value and what is allowed."""


class Settings(ContextSettings):
    """The values in force. A project's file may set the fields declared here, unlike those of the base class, only
    once its folder is trusted: they decide which model answers, where data goes, what runs and for how long."""

    model: Annotated[
        str,
        model_string("the first provider with a key, else the embedded model"),
        About("answering", "Who answers; empty means the first provider with a key, else the embedded model."),
    ] = ""
    base_url: Annotated[
        str,
        address("", "an OpenAI-compatible server"),
        About("answering", "Where `openai-chat:` models are served; empty means OPENAI_BASE_URL, else OpenAI."),
    ] = ""
    reasoning_effort: Annotated[
        str,
        nothing_or("what the model does by itself", "low", "medium", "high"),
        About("answering", "How much a model that can thinks before it answers."),
    ] = ""
    theme: Annotated[str, one_of(*THEMES), About("looks", "Colours of the app; auto follows the terminal.")] = "auto"
    reduced_motion: Annotated[
        str, one_of("on", "off"), About("looks", "Whether spinners, moving marks and cursors stand still.")
    ] = "off"
    images: Annotated[
        str, one_of("on", "off"), About("looks", "Whether images in the chat are drawn, in small, from coloured cells.")
    ] = "on"
    notifications: Annotated[
        str,
        one_of("on", "bell", "off"),
        About(
            "looks",
            "Whether a notice, or else the bell, calls you back when a long turn ends or a question waits.",
        ),
    ] = "on"
    keys: Annotated[
        Mapping[str, str],
        key_table(),
        About("looks", "Other keys for actions, by the names that help gives them; `none` takes a key away."),
    ] = NO_KEYS
    summarization_model: Annotated[
        str,
        model_string("the model that answers"),
        About("context", "Who writes the summaries of automatic compaction."),
    ] = ""
    compaction_timeout_s: Annotated[
        float,
        number(1, 86_400),
        About("context", "How long one summary may take before the offline summariser steps in."),
    ] = 120.0
    memory_limit_mb: Annotated[
        int,
        whole_number(0, 1_000_000_000, "switches it off"),
        About(
            "files", "Above so much memory of this process, garbage is collected and then the conversation compacted."
        ),
    ] = 2048
    agent_max_steps: Annotated[
        int, whole_number(1, 10_000), About("answering", "Model decisions in one turn before it stops with a notice.")
    ] = 200
    mode: Annotated[
        str,
        one_of(*MODES),
        About(
            "tools",
            "What runs without a question: ask (what only reads), edits (file changes too), plan (nothing is changed), "
            "auto (commands too, in the sandbox).",
        ),
    ] = ASK
    permissions: Annotated[
        tuple[RuleInForce, ...],
        permission_table(),
        About("tools", "Rules for what is allowed, asked about or denied, such as Bash(git commit:*) or Edit(src/**)."),
    ] = ()
    command_timeout_s: Annotated[
        float,
        number(1, 86_400),
        About("tools", "How long a command that the model runs may take before it is stopped."),
    ] = 120.0
    command_sandbox: Annotated[
        str,
        one_of(*SANDBOXES),
        About(
            "tools",
            "Where such commands run: as you, or in bubblewrap, writing only in the folder; a project may tighten it.",
        ),
    ] = SANDBOX_OFF
    retention_days: Annotated[
        int,
        whole_number(0, 36_500, "keeps sessions for ever"),
        About("files", "Sessions not used for so many days go into the trash, but for pinned and open ones."),
    ] = 0
    daily_memory: Annotated[
        str,
        one_of("off", "trimming", "compactions"),
        About(
            "files",
            "Which summaries go into the day's memory file: of trimming and emergencies, or of every compaction.",
        ),
    ] = "trimming"
    memory_search: Annotated[
        str, one_of("on", "off"), About("files", "Whether the model has a tool to search that memory.")
    ] = "on"
    board_tokens: Annotated[
        int,
        whole_number(0, 100_000, "begins without the board"),
        About(
            "files", "How much of the context board of its repository and branch a new session begins with, in tokens."
        ),
    ] = 1_000
    board_updates: Annotated[
        str,
        one_of("on", "off"),
        About("files", "Whether a session that is left brings that board up to date, beside whatever comes next."),
    ] = "off"
    request_timeout_s: Annotated[
        float, number(1, 86_400), About("answering", "How long a provider may stay silent.")
    ] = 300.0
    max_retries: Annotated[
        int,
        whole_number(0, 20, "gives up at once"),
        About("answering", "How often a request that failed for a passing reason is sent again."),
    ] = 4
    hooks: Annotated[
        Mapping[str, tuple[str, ...]],
        hook_table(),
        About("tools", "Commands that run at certain moments; `preCompact` may veto a compaction or add to its focus."),
    ] = NO_HOOKS
    hook_timeout_s: Annotated[float, number(0.1, 600), About("tools", "How long a hook may take.")] = 10.0
    mcp_servers: Annotated[
        Mapping[str, McpServer],
        mcp_server_table(),
        About("tools", "Servers whose tools the model gets, by name: a `command` that is started, or a `url`."),
    ] = NO_SERVERS
    telemetry: Annotated[
        str,
        address("off", "an OpenTelemetry collector"),
        About("files", "Where compactions are reported to as OpenTelemetry spans."),
    ] = "off"


@cache
def rules() -> Mapping[str, Rule]:
    """The rule of every setting, the most sought-after first."""
    hints = Settings.FIELDS
    order = (*(name for name in hints if needs_trust(name)), *ContextSettings.FIELDS)
    return {name: hints[name].__metadata__[0] for name in order}


def about(key: str) -> About:
    """The group and purpose of a setting."""
    found = Settings.FIELDS[key].__metadata__[1]
    assert isinstance(found, About)
    return found


def needs_trust(key: str) -> bool:
    """Whether a project's file may set this only once its folder is trusted."""
    return key in Settings.FIELDS and key not in ContextSettings.FIELDS


def check(key: str, value: object, *, named: str = "", source: str = "") -> object:
    """The value, validated and converted. Raises `SettingsError`; `named` is the setting's name in its source."""
    rule = rules().get(key)
    if rule is None:
        raise SettingsError(unknown_key(key))
    try:
        return rule.read(value)
    except PartRefused as part:
        path = ".".join(filter(None, (named or key, part.path)))
        raise SettingsError(_refused(path, part.value, part.allowed, source)) from None
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise SettingsError(_refused(named or key, quoted(value), rule.allowed, source)) from None


def _refused(key: str, value: str, allowed: str, source: str) -> str:
    """The sentence about a bad value: its source, and what is allowed."""
    where = f" ({source})" if source else ""
    return f"{key} = {value}{where} is not allowed: it must be {allowed}."


def unknown_key(key: str, named: Callable[[str], str] = str) -> str:
    """The sentence about an unknown setting; `named` spells a setting's name as its source does."""
    close = nearest(key, rules())
    hint = f"; did you mean {named(close)}?" if close else ". `co-tui config` lists them."
    return f"There is no setting {one_line(repr(named(key)), 80)}{hint}"
