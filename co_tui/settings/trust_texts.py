"""The sentences and the list about what a project requests."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.settings.mcp_servers import variables_in
from co_tui.settings.permission_rules import EFFECTS
from co_tui.settings.rules import ENVIRONMENT_PREFIX, SHOWN_CHARS, quoted
from co_tui.trust import AGENTS, COMMANDS, ProgramFile, TrustRequest

NAMES_CHARS: Final = 200
KEYS_CHARS: Final = 400
LINE_CHARS: Final = 2_000
"""Of a line in the list, which is read before trusting; a longer one goes on below, so that nothing is hidden."""
LONGEST_CHARS: Final = 300_000
"""No file that is read is longer."""
NOT_USED: Final = "not used: "
NEED_NO_TRUST: Final = ("AGENTS.md", "CLAUDE.md", ".agents/skills", ".claude/skills")
"""Texts for the model that are read in any project."""
UNTIL_TRUSTED: Final = "until you run `co-tui trust`."


def withheld_warnings(request: TrustRequest) -> list[str]:
    """The sentences about what an untrusted folder does not get."""
    tables = _tables(request)
    wishes = [f"{file} wants to set {settings_text(table)}. Ignored {UNTIL_TRUSTED}" for file, table in tables]
    return [*wishes, *waiting_texts(request)]


def waiting_texts(request: TrustRequest) -> list[str]:
    """The sentences about its agents, slash commands and instructions."""
    texts = (waiting_agents_text, waiting_commands_text, waiting_instructions_text)
    return [sentence for text in texts if (sentence := text(request))]


def waiting_agents_text(request: TrustRequest) -> str:
    """The sentence about the agents of an untrusted folder; empty without any."""
    return _waiting(agents_text(request), len(request.agents))


def waiting_commands_text(request: TrustRequest) -> str:
    """The same about its slash commands."""
    return _waiting(commands_text(request), len(request.commands))


def waiting_instructions_text(request: TrustRequest) -> str:
    """The same about its instruction files."""
    return _waiting(instructions_text(request), len(request.instructions), f"until you run `{trust_line(request)}`.")


def trust_line(request: TrustRequest) -> str:
    """What to type in a shell to trust a folder."""
    return f"co-tui trust {shlex.quote(request.folder)}" if request.is_added else "co-tui trust"


def _waiting(what: str, count: int, until: str = UNTIL_TRUSTED) -> str:
    return f"{what} {'are' if count > 1 else 'is'} ignored {until}" if count else ""


def settings_text(table: Mapping[str, object]) -> str:
    return ", ".join(f"{key} = {requested_value_text(key, value)}" for key, value in table.items())


def _tables(request: TrustRequest) -> Iterator[tuple[str, Mapping[str, object]]]:
    return ((path_text(file), table) for file, table in request.by_file.items())


def requested_value_text(key: str, value: object) -> str:
    """A requested value, quoted for a sentence; only the names of MCP servers and variables, since the rest may hold
    keys."""
    if key in ("mcp_servers", "env") and isinstance(value, Mapping):
        return one_line(", ".join(map(str, value)), SHOWN_CHARS)
    if key == "hooks" and isinstance(value, Mapping):
        return one_line(", ".join(line.removeprefix("runs at ") for line in _setting_lines(key, value)), SHOWN_CHARS)
    if key == "permissions" and isinstance(value, Mapping):
        rules = value.get("allow")
        return one_line(f"allow {', '.join(map(str, rules)) if isinstance(rules, list) else rules}", SHOWN_CHARS)
    return quoted(value)


def agents_text(request: TrustRequest) -> str:
    """How many agents a folder defines, and which."""
    return _counted("agent", request.agents, request)


def commands_text(request: TrustRequest) -> str:
    """How many slash commands a folder defines, and which."""
    return _counted("slash command", request.commands, request)


def instructions_text(request: TrustRequest) -> str:
    """How many instruction files of a folder need trust, and which."""
    return _counted("instruction file", request.instructions, request)


def _counted(what: str, names: Sequence[str], request: TrustRequest) -> str:
    count, named = len(names), one_line(", ".join(names), NAMES_CHARS)
    return f"{count} {what}{'s' if count > 1 else ''} of {request.folder} ({named})"


def trust_lines(request: TrustRequest, keys: Collection[str] = ()) -> list[str]:
    """What a folder's files would do, one thing a line below the name of each file, and which keys are not used. `keys`
    are the variables of which no server gets one."""
    lines = [*_file_lines(request.file.name, request.settings, (), keys)] if request.settings else []
    for each in request.files:
        if each.settings or each.unused:
            lines += _file_lines(each.name, each.settings, each.unused, keys)
    for key, title in ((AGENTS, "Agents"), (COMMANDS, "Slash commands")):
        if isinstance(listed := request.requested.get(key), list):
            lines += [title, *_rows(listed)]
    if request.instructions:
        lines += ["Instructions", *_rows(request.instructions)]
    free = [name for name in NEED_NO_TRUST if (request.file.parent / name).exists() and not request.is_added]
    return [*lines, "Used without trust, too", *(f"  {name}" for name in free)] if free else lines


def unused_text(files: Sequence[ProgramFile]) -> str:
    """The keys of a folder's files that are not used, as a sentence; empty if all are."""
    named = [
        f"{one_line(', '.join(map(_key, each.unused)), KEYS_CHARS)} ({each.name})" for each in files if each.unused
    ]
    return f"Not used: {'; '.join(named)}. `co-tui trust --dry-run` says why." if named else ""


def _key(unused: str) -> str:
    return unused.partition(":")[0].partition(" = ")[0]


def shown_files(request: TrustRequest) -> list[Path]:
    """The files to read before trusting."""
    folder = request.file.parent
    names = [each.name for each in request.files if each.settings]
    names += [each.partition(" (for ")[0] for each in request.instructions]
    return [
        *([request.file] if request.settings else []),
        *(folder / name for name in names),
        *request.agent_files,
        *request.command_files,
    ]


def _file_lines(
    name: str, settings: Mapping[str, object], unused: Sequence[str], keys: Collection[str]
) -> Iterator[str]:
    yield name
    for key, value in settings.items():
        yield from _rows(_setting_lines(key, value, keys))
    yield from _rows(f"{NOT_USED}{each}" for each in unused)


def _rows(lines: Iterable[str]) -> Iterator[str]:
    """Each line, indented; a long one on several."""
    for line in lines:
        text = one_line(line, LONGEST_CHARS)
        for at in range(0, len(text) or 1, LINE_CHARS):
            yield f"{'    ' if at else '  '}{text[at : at + LINE_CHARS]}"


def _setting_lines(key: str, value: object, keys: Collection[str] = ()) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield _plain_line(key, value)
    elif key == "permissions":
        for effect in reversed(EFFECTS):
            rules = value.get(effect)
            if rules:
                before = "" if effect == "allow" else " (without trust, too)"
                yield f"{effect}{before}: {', '.join(map(str, rules)) if isinstance(rules, list) else quoted(rules)}"
    elif key in ("hooks", "after_edit"):
        for event, entries in value.items():
            for each in entries if isinstance(entries, list) else [entries]:
                yield f"runs at {event}{_hook_text(each)}" if key == "hooks" else f"runs after edits of {event}: {each}"
    elif key == "mcp_servers":
        yield from (f"starts MCP server {name}: {_server_text(each, keys)}" for name, each in value.items())
    elif key == "env":
        yield f"variables for commands, hooks and servers: {', '.join(map(str, value))}"
    else:
        yield f"{key} = {quoted(value)}"


def _plain_line(key: str, value: object) -> str:
    folders = value if key == "add_dirs" and isinstance(value, list) else []
    return f"works in further folders: {', '.join(map(str, folders))}" if folders else f"{key} = {quoted(value)}"


def _hook_text(entry: object) -> str:
    if not isinstance(entry, Mapping):
        return f": {entry}"
    matcher = f" of {entry['matcher']}" if entry.get("matcher") else ""
    return f"{matcher}: {entry.get('command') or quoted(entry)}"


def _server_text(server: object, keys: Collection[str]) -> str:
    """Its program with arguments or its address, and the variables it is given; with one of our `keys`, that it does
    not start."""
    if not isinstance(server, Mapping):
        return quoted(server)
    args = server.get("args")
    words = [server.get("command") or str(server.get("url", "")).partition("?")[0]]
    words += args if isinstance(args, list) else []
    texts = [str(each) for each in (*words, server.get("url", ""), *_texts(server.get("env")))]
    texts += _texts(server.get("headers"))
    named = dict.fromkeys(variable for text in texts for variable in variables_in(text))
    refused = [name for name in named if name in keys or name.startswith(ENVIRONMENT_PREFIX)]
    given = f" (is given {', '.join(named)})" if named and not refused else ""
    why = f" (does not start: it wants {', '.join(refused)}, which is for co-tui alone)" if refused else ""
    return " ".join(map(str, words)) + given + why


def _texts(table: object) -> list[str]:
    return [str(each) for each in table.values()] if isinstance(table, Mapping) else []
