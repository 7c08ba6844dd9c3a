"""Every setting: its default, the values it accepts, and its purpose."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Final

from co_tui.inert import one_line
from co_tui.nearest import nearest
from co_tui.settings.after_edit import NO_CHECKS, check_table
from co_tui.settings.context_settings import NOT_SET, ContextSettings
from co_tui.settings.hook_entries import HookTable, hook_table
from co_tui.settings.key_choices import key_table
from co_tui.settings.mcp_servers import NO_SERVERS, McpServer, mcp_server_table
from co_tui.settings.permission_rules import RuleInForce, permission_table
from co_tui.settings.rules import (
    ASK,
    MODES,
    SANDBOX_OFF,
    SANDBOXES,
    SEARCH_OFF,
    SEARCH_PROVIDER,
    THEMES,
    WITH_PASSWORD,
    About,
    NamesOnly,
    PartRefused,
    Rule,
    SettingsError,
    address,
    dollars,
    folder_names,
    host_names,
    model_string,
    nothing_or,
    number,
    one_of,
    quoted,
    variable_table,
    whole_number,
)

_DATABASE_SCHEMES: Final = ("postgresql", "postgres")
DATABASE_ALLOWED: Final = "empty (only this machine), or postgresql://USER@HOST:PORT/DATABASE without a password"

USERS_OWN: Final = ("database", "files_of_other_agents")
"""Settings that no project's file may set, trusted or not."""
NO_KEYS: Final[Mapping[str, str]] = {}
NO_HOOKS: Final[HookTable] = {}
NO_VARIABLES: Final = NamesOnly()


def database_url() -> Rule:
    return Rule(DATABASE_ALLOWED, _read_database_url)


def _read_database_url(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError
    value = value.strip()
    if not value:
        return value
    from urllib.parse import parse_qs, urlsplit  # slow to import, and rarely needed

    try:
        parts = urlsplit(value)
    except ValueError:  # odd brackets
        raise PartRefused("", "a URL that cannot be read", DATABASE_ALLOWED) from None
    if parts.password or "password" in parse_qs(parts.query):
        # Not shown: settings are printed, logged and exported.
        raise PartRefused("", WITH_PASSWORD, f"{DATABASE_ALLOWED}: set PGPASSWORD, or run `co-tui login postgresql`")
    if parts.scheme not in _DATABASE_SCHEMES:
        raise PartRefused("", quoted(value) if "@" not in value else "a URL of another kind", DATABASE_ALLOWED)
    return value


class Settings(ContextSettings):
    """The values in force. A project's file may set the fields declared here, unlike those of the base class, only
    once its folder is trusted: they decide which model answers, where data goes, what runs and for how long."""

    model: Annotated[
        str,
        model_string("the first provider with a key, else the embedded model"),
        About("answering", "Model", "The model. Empty: the first provider with a key, else the embedded model."),
    ] = ""
    base_url: Annotated[
        str,
        address("", "an OpenAI-compatible server"),
        About(
            "answering",
            "Server address",
            "Server address for `openai-chat:` models. Empty: OPENAI_BASE_URL, else OpenAI.",
        ),
    ] = ""
    reasoning_effort: Annotated[
        str,
        nothing_or("the model's default", "low", "medium", "high"),
        About("answering", "Reasoning effort", "How long a reasoning model thinks before it answers."),
    ] = ""
    theme: Annotated[str, one_of(*THEMES), About("looks", "Theme", "Colour theme; auto follows the terminal.")] = "auto"
    reduced_motion: Annotated[
        str, one_of("on", "off"), About("looks", "Reduced motion", "Stop spinners, animation and cursor blinking.")
    ] = "off"
    images: Annotated[
        str, one_of("on", "off"), About("looks", "Images in the chat", "Show small previews of images in the chat.")
    ] = "on"
    notifications: Annotated[
        str,
        one_of("on", "osc9", "osc777", "bell", "off"),
        About(
            "looks", "Notifications", "Alert you when a long turn ends, a question is pending or a limit is reached."
        ),
    ] = "on"
    keys: Annotated[
        Mapping[str, str],
        key_table(),
        About("looks", "Custom keys", "Custom keys, by action name (see F1); `none` unbinds one."),
    ] = NO_KEYS
    summarization_model: Annotated[
        str,
        model_string("the current model"),
        About("context", "Summary model", "The model that summarises in automatic compaction."),
    ] = ""
    compaction_timeout_s: Annotated[
        float,
        number(1, 86_400),
        About(
            "context", "Summary time limit (s)", "Longest time for one summary; then the offline summariser takes over."
        ),
    ] = 120.0
    memory_limit_mb: Annotated[
        int,
        whole_number(0, 1_000_000_000, "off"),
        About(
            "files",
            "Process memory limit (MB)",
            "Above this process memory, free memory, then compact the conversation.",
        ),
    ] = 2048
    agent_max_steps: Annotated[
        int,
        whole_number(1, 10_000),
        About("answering", "Requests per turn", "Most model requests in one turn; then it pauses."),
    ] = 200
    max_session_cost: Annotated[
        float,
        dollars(),
        About(
            "answering", "Cost limit per session ($)", "Most a session may cost, in US dollars; then its turns stop."
        ),
    ] = 0.0
    max_daily_cost: Annotated[
        float,
        dollars(),
        About("answering", "Cost limit per day ($)", "Most all sessions of a day may cost, in US dollars."),
    ] = 0.0
    mode: Annotated[
        str,
        one_of(*MODES),
        About(
            "tools",
            "Permission mode",
            "What runs without asking: ask, edits, plan or auto (in a sandbox).",
        ),
    ] = ASK
    permissions: Annotated[
        tuple[RuleInForce, ...],
        permission_table(),
        About("tools", "Permission rules", "Rules to allow, ask or deny, such as Bash(git commit:*) or Edit(src/**)."),
    ] = ()
    add_dirs: Annotated[
        tuple[str, ...],
        folder_names(),
        About("tools", "Further folders", "Folders that each new session works in, too, as with --add-dir."),
    ] = ()
    command_timeout_s: Annotated[
        float,
        number(1, 86_400),
        About("tools", "Command time limit (s)", "Longest time for a command that the model runs."),
    ] = 120.0
    command_sandbox: Annotated[
        str,
        one_of(*SANDBOXES),
        About(
            "tools",
            "Command sandbox",
            "Sandbox for the model's commands (bubblewrap). A project may only tighten it.",
        ),
    ] = SANDBOX_OFF
    web_search: Annotated[
        str,
        address(SEARCH_PROVIDER, "a SearXNG server", SEARCH_OFF),
        About("tools", "Web search", "Web search: the provider's own, where it has one, else the server named here."),
    ] = SEARCH_PROVIDER
    web_private_hosts: Annotated[
        tuple[str, ...],
        host_names(),
        About(
            "tools",
            "Private web hosts",
            "Hosts on private networks that pages may be fetched from.",
        ),
    ] = ()
    database: Annotated[
        str,
        database_url(),
        About(
            "files", "Sync database", "Sync the sessions with this PostgreSQL database. Never from a project's file."
        ),
    ] = ""
    retention_days: Annotated[
        int,
        whole_number(0, 36_500, "forever"),
        About(
            "files",
            "Days to keep sessions",
            "Move sessions unused for this many days to the trash, except pinned ones.",
        ),
    ] = 0
    daily_memory: Annotated[
        str,
        one_of("off", "trimming", "compactions"),
        About(
            "files",
            "Daily memory",
            "Which summaries are saved to the daily memory: trimming only, or all compactions.",
        ),
    ] = "trimming"
    memory_search: Annotated[
        str, one_of("on", "off"), About("files", "Memory search", "Give the model a tool to search the daily memory.")
    ] = "on"
    board_tokens: Annotated[
        int,
        whole_number(0, 100_000, "none"),
        About(
            "files",
            "Context board (tokens)",
            "Tokens of the repository's context board that a new session starts with.",
        ),
    ] = 1_000
    board_updates: Annotated[
        str,
        one_of("on", "off"),
        About("files", "Context board updates", "Update the context board in the background when you leave a session."),
    ] = "off"
    request_timeout_s: Annotated[
        float,
        number(1, 86_400),
        About("answering", "Provider time limit (s)", "Longest silence of a provider before a request fails."),
    ] = 300.0
    max_retries: Annotated[
        int,
        whole_number(0, 20, "never"),
        About("answering", "Retries", "Retries after a temporary failure."),
    ] = 4
    hooks: Annotated[
        HookTable,
        hook_table(),
        About("tools", "Hooks", "Commands to run at an event, for all tools or those that match; /hooks lists them."),
    ] = NO_HOOKS
    hook_timeout_s: Annotated[
        float, number(0.1, 600), About("tools", "Hook time limit (s)", "Longest time for a hook.")
    ] = 10.0
    after_edit: Annotated[
        Mapping[str, tuple[str, ...]],
        check_table(),
        About("tools", "Checks after edits", "Commands that check a file after the model changed it, by file pattern."),
    ] = NO_CHECKS
    mcp_servers: Annotated[
        Mapping[str, McpServer],
        mcp_server_table(),
        About("tools", "MCP servers", "MCP servers by name, each with a `command` to start or a `url`."),
    ] = NO_SERVERS
    env: Annotated[
        Mapping[str, str],
        variable_table(),
        About(
            "tools",
            "Variables for commands",
            "Variables for commands, hooks and MCP servers; co-tui itself does not read them.",
        ),
    ] = NO_VARIABLES
    files_of_other_agents: Annotated[
        str,
        one_of("ask", "on", "off"),
        About(
            "files",
            "Claude Code and Codex files",
            "Use your own instructions, commands, agents and skills of ~/.claude and ~/.codex, too.",
        ),
    ] = "ask"
    telemetry: Annotated[
        str,
        address("off", "an OpenTelemetry collector"),
        About("files", "Telemetry", "Send compactions as OpenTelemetry spans to this address."),
    ] = "off"


@cache
def rules() -> Mapping[str, Rule]:
    """The rule of every setting, the most sought-after first."""
    hints = {name: hint for name, hint in Settings.FIELDS.items() if name not in NOT_SET}
    order = sorted(hints, key=lambda name: not needs_trust(name))
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
    return f"{key} = {value}{where} is not allowed. Use {allowed}."


def unknown_key(key: str, named: Callable[[str], str] = str) -> str:
    """The sentence about an unknown setting; `named` spells a setting's name as its source does."""
    close = nearest(key, rules())
    hint = f". Did you mean {named(close)}?" if close else ". See `co-tui config`."
    return f"Unknown setting {one_line(repr(named(key)), 80)}{hint}"
