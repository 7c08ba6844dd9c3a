"""Agents defined in files of the project or the user. Project files are untrusted: they may have come with a clone."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from co_tui.late_pattern import late_pattern
from co_tui.paths import PROJECT_FILE, find_own_upwards, is_inside, path_text
from co_tui.record import Record
from co_tui.settings.files import MARKDOWN, MarkdownFiles, definition_folders, link_out_problem, parsed, read_text
from co_tui.settings.rules import DELEGATE_CONTEXTS, SettingsError, quoted

PROJECT_FOLDERS: Final = (".agents/agents", ".claude/agents", ".codex/agents")
"""Folders of a project; when two define the same name, the first wins."""
MOST_FILES: Final = 60
"""Read from one folder."""
DESCRIPTION_CHARS: Final = 400
"""Descriptions are part of every request, and some are whole manuals."""
RESERVED_NAME: Final = "self"
"""Means a fresh run of the delegating agent; no file may use it."""
INHERITED: Final = ("", "inherit", "default")
"""Values of `model` that mean the session's own model."""
_NAME: Final = late_pattern(r"[^\W_][\w.-]{0,59}")
_TOML_KEYS: Final = frozenset(
    ("name", "description", "developer_instructions", "tools", "allowed-tools", "disallowed-tools", "model", "color",
     "effort", "model_reasoning_effort", "context")
)  # fmt: skip


UNUSED_KEYS: Final = frozenset(
    (
        "background",
        "hooks",
        "initialPrompt",
        "isolation",
        "maxTurns",
        "mcpServers",
        "memory",
        "permissionMode",
        "skills",
    )
)
"""Keys that have an effect in other programs only."""


class AgentFile(Record):
    """An agent to delegate to, as its file defines it."""

    file: Path
    name: str
    description: str = ""
    instructions: str = ""
    model: str = ""
    """As written, also a family such as `haiku`; empty for the session's model."""
    tools: tuple[str, ...] | None = None
    """Tool names as written, maybe of another program, or rules such as `Bash(git log:*)`; None for all tools."""
    withheld_tools: tuple[str, ...] = ()
    context: str = ""
    """What it sees unless chosen: `fresh` or `conversation`; empty for the policy's default."""
    unused_keys: tuple[str, ...] = ()

    @property
    def access_text(self) -> str:
        """What trusting its folder grants it, on one line."""
        tools = "all tools" if self.tools is None else f"tools {', '.join(self.tools) or 'none'}"
        without = f", except {', '.join(self.withheld_tools)}" if self.withheld_tools else ""
        model = f", model {self.model}" if self.model else ""
        context = f", context {self.context}" if self.context else ""
        unused = f"; not used: {', '.join(self.unused_keys)}" if self.unused_keys else ""
        return f"{self.name} ({tools}{without}{model}{context}{unused}; {'/'.join(self.file.parts[-3:])})"

    @property
    def access(self) -> tuple[object, ...]:
        """The same part by part, for the trust digest, so it does not depend on the instructions."""
        where = self.file.parts[-3:]
        return (self.name, self.tools, self.withheld_tools, self.model, self.context, self.unused_keys, where)


class AgentFiles(Record):
    """The agents of some folders, and a sentence for each unusable file."""

    agents: tuple[AgentFile, ...] = ()
    problems: tuple[str, ...] = ()

    def before(self, others: "AgentFiles") -> "AgentFiles":
        """These agents, then the others whose names are still free."""
        known = {agent.name: agent for agent in self.agents}
        shadowed = [_shadowed(each, known[each.name]) for each in others.agents if each.name in known]
        added = tuple(each for each in others.agents if each.name not in known)
        return AgentFiles(agents=(*self.agents, *added), problems=(*self.problems, *others.problems, *shadowed))


def project_folder(cwd: Path) -> Path:
    """The root of the project around `cwd`: where its settings file is, else the root of the checkout. What another
    user put above `cwd` makes no project."""
    found = find_own_upwards(PROJECT_FILE, cwd) or find_own_upwards(".git", cwd)
    return found.parent if found is not None else cwd


def read_project_agents(folder: Path) -> AgentFiles:
    """The agents of a project. Links that lead out of it are not followed, since their content would be sent."""
    inside, outside = definition_folders(folder, PROJECT_FOLDERS)
    found = AgentFiles(problems=tuple(map(link_out_problem, outside)))
    for path in inside:
        found = found.before(read_agents(path, inside=Path(os.path.realpath(folder))))
    return found


def read_agents(folder: Path, inside: Path | None = None) -> AgentFiles:
    """The agents of a folder and those below it, sorted by file name; none when the folder is missing."""
    files = list(MarkdownFiles(inside).below(folder, (MARKDOWN, ".toml")))
    found = AgentFiles()
    for file in files[:MOST_FILES]:
        try:
            found = found.before(AgentFiles(agents=(_read(file, inside),)))
        except SettingsError as error:
            found = found.but(problems=(*found.problems, str(error)))
    if len(files) > MOST_FILES:
        problem = f"{path_text(folder)} has {len(files):,} files; only the first {MOST_FILES} are read."
        found = found.but(problems=(*found.problems, problem))
    return found


def _read(file: Path, inside: Path | None) -> AgentFile:
    """Read one file. Raises `SettingsError`, which names it."""
    if inside is not None and not is_inside(file, inside):
        raise SettingsError(f"Skipped agent {path_text(file)}: it is a link out of the project.")
    text = read_text(file)
    try:
        if file.suffix == ".toml":
            values: Mapping[str, Any] = parsed(text, file)
            if unknown := sorted(values.keys() - _TOML_KEYS):
                raise ValueError(f"{', '.join(unknown)} is not supported")
            return _agent(file, values, _text(values, "developer_instructions"))
        from co_tui.settings.markdown.front_matter import read_front_matter

        values, body = read_front_matter(text)
        return _agent(file, values, body)
    except ValueError as error:
        raise SettingsError(f"Skipped agent {path_text(file)}: {error}.") from None


def _agent(file: Path, values: Mapping[str, Any], instructions: str) -> AgentFile:
    name = _text(values, "name") or file.stem
    if not _NAME.fullmatch(name):
        raise ValueError("its name must be letters, digits, dots and dashes, at most 60")
    if name == RESERVED_NAME:
        raise ValueError(f"the name {RESERVED_NAME} is reserved")
    if not instructions.strip():
        raise ValueError("it has no instructions")
    model = _text(values, "model")
    return AgentFile(
        file=file,
        name=name,
        description=" ".join(_text(values, "description").split())[:DESCRIPTION_CHARS],
        instructions=instructions.strip(),
        model="" if model.lower() in INHERITED else model,
        tools=_names(values, "tools", "allowed-tools"),
        withheld_tools=_names(values, "disallowedTools", "disallowed-tools") or (),
        context=_context(values),
        unused_keys=tuple(sorted(UNUSED_KEYS & values.keys())),
    )


def _context(values: Mapping[str, Any]) -> str:
    context = _text(values, "context")
    if context not in ("", *DELEGATE_CONTEXTS):
        raise ValueError(f"its context must be {' or '.join(DELEGATE_CONTEXTS)}, not {quoted(context)}")
    return context


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"its {key} must be text")
    return value.strip()


def _names(values: Mapping[str, Any], *keys: str) -> tuple[str, ...] | None:
    """A list, or names in a text; None when the key is missing or its value is `*`."""
    value = next((values[key] for key in keys if key in values), None)
    if value is None or value == "*":
        return None
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, Sequence) or not all(isinstance(each, str) for each in named):
        raise ValueError(f"its {keys[0]} must be tool names")
    from co_tui.settings.markdown.front_matter import tool_list

    return tool_list(named)


def _shadowed(agent: AgentFile, by: AgentFile) -> str:
    return f"Skipped agent {path_text(agent.file)}: {path_text(by.file)} already defines {agent.name}."
