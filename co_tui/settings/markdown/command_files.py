"""Slash commands from Markdown files of the project or the user: command files and skills. Project files are untrusted:
they may have come with a clone."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from co_tui.actions import COMMANDS
from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern
from co_tui.paths import is_inside, path_text
from co_tui.record import Record
from co_tui.settings.files import MarkdownFiles, definition_folders, link_out_problem, read_text
from co_tui.settings.markdown.agent_files import INHERITED
from co_tui.settings.permission_rules import NO_EFFECT, RuleInForce, rule_for
from co_tui.settings.rules import SettingsError

PROJECT_FOLDERS: Final = (".agents/commands", ".claude/commands")
"""Folders of a project; when two define the same name, the first wins."""
SKILL_FOLDERS: Final = (".agents/skills", ".claude/skills")
"""The same for skills, each a folder with this file:"""
SKILL: Final = "SKILL.md"
SKILL_FOLDER: Final = "${CLAUDE_SKILL_DIR}"
"""What a skill calls its own folder."""
MOST_FILES: Final = 200
"""Read from one folder and those below."""
DESCRIPTION_CHARS: Final = 200
HINT_CHARS: Final = 60
NAMESPACE: Final = ":"
"""Separates a subfolder from the command's name, as in Claude Code."""
TAKEN_SKILL: Final = f"skill{NAMESPACE}"
"""Before the name of a skill that another command has."""
_NAME: Final = late_pattern(r"\w[\w.-]{0,59}")
_ARGUMENT: Final = late_pattern(r"[A-Za-z_]\w{0,39}")
_BUILT_IN: Final = frozenset(command.name for command in COMMANDS)
_UNUSED: Final = frozenset(
    ("agent", "context", "dependencies", "disallowed-tools", "effort", "hooks", "paths", "shell", "tools")
)
"""Keys that have an effect in other programs only."""


class CommandFile(Record):
    """A slash command as its file defines it."""

    file: Path
    name: str
    """With its subfolders, such as `git:commit`."""
    body: str
    description: str = ""
    argument_hint: str = ""
    model: str = ""
    """As written, also a family such as `haiku`; empty for the session's model."""
    argument_names: tuple[str, ...] = ()
    """Names by which its text uses arguments, in their order."""
    allowed_tools: tuple[str, ...] = ()
    """As written."""
    unused_keys: tuple[str, ...] = ()
    is_project: bool = False
    is_skill: bool = False

    @property
    def source(self) -> str:
        """Where it comes from, in a word or two."""
        if self.is_skill:
            return "project skill" if self.is_project else "your skill"
        return "project" if self.is_project else "yours"

    @property
    def own_name(self) -> str:
        """Its name unless another command has it."""
        return self.name.removeprefix(TAKEN_SKILL) if self.is_skill else self.name

    @property
    def allowed(self) -> tuple[RuleInForce, ...]:
        """What it allows for its turn."""
        return tuple(rule for each in self.allowed_tools if (rule := _allowed(each, f"/{self.name}")) is not None)

    @property
    def listed(self) -> str:
        """Its name, and what it may do more than write a prompt."""
        return f"/{self.name} ({', '.join(more)})" if (more := self._more()) else f"/{self.name}"

    @property
    def access_text(self) -> str:
        """What trusting its folder lets it request, on one line."""
        from co_tui.settings.markdown.command_text import shell_lines

        file = "/".join(self.file.parts[-4 if self.is_skill else -3 :])
        model = [f"model {self.model}"] if self.model else []
        runs = [f"runs {line}" for line in shell_lines(self.body)]
        return f"/{self.name} ({', '.join((file, *model, *self._more(), *runs))})"

    @property
    def access(self) -> tuple[object, ...]:
        """The same part by part, for the trust digest."""
        from co_tui.settings.markdown.command_text import shell_lines

        return (
            self.name,
            self.file.parts[-4 if self.is_skill else -3 :],
            self.model,
            tuple(str(each.rule) for each in self.allowed),
            self.unused_keys,
            self.allowed_tools,
            tuple(shell_lines(self.body)),
        )

    def _more(self) -> list[str]:
        """What it allows, and which of its keys and tools have no effect."""
        rules = ", ".join(str(each.rule) for each in self.allowed)
        unused = (*self.unused_keys, *(each for each in self.allowed_tools if _allowed(each, "") is None))
        return [
            *([f"allows {rules} for its turn"] if rules else []),
            *([f"not used: {', '.join(unused)}"] if unused else []),
        ]


class CommandFiles(Record):
    """The commands of some folders, and a sentence for each unusable file."""

    commands: tuple[CommandFile, ...] = ()
    problems: tuple[str, ...] = ()

    def before(self, others: "CommandFiles") -> "CommandFiles":
        """These commands, then the others whose names are still free.

        A command file comes before a skill. A skill whose name is taken, also by a built-in command, is `/skill:NAME`.
        """
        known: dict[str, CommandFile] = {}
        hidden: list[str] = []
        for each in sorted((*self.commands, *others.commands), key=lambda command: command.is_skill):
            name = each.own_name
            taken = name in _BUILT_IN or (name in known and not known[name].is_skill)
            if each.is_skill and taken:
                name = f"{TAKEN_SKILL}{name}"
            first = known.setdefault(name, each if each.name == name else each.but(name=name))
            if first.file != each.file and first.body != each.body:
                hidden.append(_hidden(each, first))
        problems = (*self.problems, *others.problems, *hidden)
        return CommandFiles(commands=tuple(known.values()), problems=tuple(dict.fromkeys(problems)))

    def find(self, name: str) -> CommandFile | None:
        """The command of that name; one in a subfolder also by its last part, if no other has that."""
        exact = next((each for each in self.commands if each.name == name), None)
        if exact is not None or name in _BUILT_IN:
            return exact
        ending = [each for each in self.commands if each.name.endswith(f"{NAMESPACE}{name}")]
        return ending[0] if len(ending) == 1 else None

    def with_problem(self, sentence: str) -> "CommandFiles":
        return self.but(problems=(*self.problems, sentence))


def read_project_commands(folder: Path) -> CommandFiles:
    """The commands of a project. Links that lead out of it are not followed, since their content would be sent."""
    root, found = Path(os.path.realpath(folder)), CommandFiles()
    for names, read in ((PROJECT_FOLDERS, read_commands), (SKILL_FOLDERS, read_skills)):
        inside, outside = definition_folders(folder, names)
        found = found.before(CommandFiles(problems=tuple(map(link_out_problem, outside))))
        for path in inside:
            found = found.before(read(path, root))
    return found


def read_user_commands(commands: Path, skills: Path) -> CommandFiles:
    """The user's own, from a folder of command files and one of skills."""
    return read_commands(commands).before(read_skills(skills))


def read_commands(folder: Path, inside: Path | None = None) -> CommandFiles:
    """The commands of a folder and those below it, sorted; none when it is missing. With `inside`, a project's."""
    look = MarkdownFiles(inside)
    named = ((file, NAMESPACE.join(file.relative_to(folder).with_suffix("").parts)) for file in look.below(folder))
    found = _read_all(named, folder, inside, "files")
    return (
        found.with_problem(f"{path_text(folder)} has too many files; the rest are not read.") if look.is_cut else found
    )


def read_skills(folder: Path, inside: Path | None = None) -> CommandFiles:
    """The skills of a folder that the user may call, sorted; none when it is missing. With `inside`, a project's."""
    entries = MarkdownFiles(inside).entries(folder)
    named = ((file, entry.name) for entry in entries if (file := Path(entry.path) / SKILL).exists())
    return _read_all(named, folder, inside, "skills")


def _read_all(named: Iterable[tuple[Path, str]], folder: Path, inside: Path | None, what: str) -> CommandFiles:
    """The commands of these files, each with its name."""
    commands: list[CommandFile] = []
    problems: list[str] = []
    for count, (file, name) in enumerate(named):
        if count == MOST_FILES:
            problems.append(f"{path_text(folder)} has over {MOST_FILES} {what}; the rest are not read.")
            break
        try:
            command = _read(file, name, inside, is_skill=what == "skills")
            commands += [command] if command is not None else []
        except SettingsError as error:
            problems.append(str(error))
    return CommandFiles(commands=tuple(commands), problems=tuple(problems))


def _read(file: Path, name: str, inside: Path | None, *, is_skill: bool) -> CommandFile | None:
    """Read one file; None for a skill that only the model may use. Raises `SettingsError`, which names it."""
    try:
        if inside is not None and not is_inside(file, inside):
            raise ValueError("it is a link out of the project")
        if not all(map(_NAME.fullmatch, name.split(NAMESPACE))):
            raise ValueError("its name must be letters, digits, dots and dashes, at most 60")
        if name in _BUILT_IN and not is_skill:
            raise ValueError(f"/{name} is a built-in command; rename the file")
        values, body = _parsed(read_text(file))
        if is_skill and _text(values, "user-invocable").lower() == "false":
            return None
        return _command(file, name, values, body).but(is_project=inside is not None, is_skill=is_skill)
    except ValueError as error:
        raise SettingsError(f"Skipped {'skill' if is_skill else 'command'} {path_text(file)}: {error}.") from None


_Values = Mapping[str, str | tuple[str, ...]]


def _parsed(text: str) -> tuple[_Values, str]:
    """The keys at the top of a file, and its text."""
    from co_tui.settings.markdown.front_matter import FENCE, read_front_matter

    if "\0" in text:
        raise ValueError("it is not a text file")
    has_keys = text.removeprefix("\ufeff").partition("\n")[0].rstrip() == FENCE
    values, body = read_front_matter(text) if has_keys else ({}, text.removeprefix("\ufeff").strip())
    if not body:
        raise ValueError("it has no text below the keys" if has_keys else "it is empty")
    return values, body


def _command(file: Path, name: str, values: _Values, body: str) -> CommandFile:
    model = _text(values, "model")
    return CommandFile(
        file=file,
        name=name,
        body=body,
        description=one_line(_text(values, "description") or body.partition("\n")[0].lstrip("# "), DESCRIPTION_CHARS),
        argument_hint=one_line(_text(values, "argument-hint"), HINT_CHARS),
        model="" if model.lower() in INHERITED else model,
        argument_names=tuple(each for each in _listed(values, "arguments") if _ARGUMENT.fullmatch(each)),
        allowed_tools=tuple(
            each.replace(SKILL_FOLDER, path_text(file.parent)) for each in _listed(values, "allowed-tools")
        ),
        unused_keys=tuple(sorted(_UNUSED & values.keys())),
    )


def _text(values: _Values, key: str) -> str:
    """A value as one text; `[a] [b]` is what people write as a hint, not a list."""
    value = values.get(key, "")
    return value.strip() if isinstance(value, str) else f"[{', '.join(value)}]"


def _listed(values: _Values, key: str) -> tuple[str, ...]:
    from co_tui.settings.markdown.front_matter import tool_list

    value = values.get(key, ())
    return tool_list([value] if isinstance(value, str) else value)


def _allowed(tool: str, source: str) -> RuleInForce | None:
    """The rule that a tool of `allowed-tools` means; None if it has no effect here."""
    try:
        rule = rule_for("allow", tool)
    except ValueError:
        return None
    return RuleInForce("allow", rule, source, for_turn=True) if rule.tool not in NO_EFFECT else None


def _hidden(command: CommandFile, by: CommandFile) -> str:
    what = "skill" if command.is_skill else "command"
    return f"Skipped {what} {path_text(command.file)}: {path_text(by.file)} already defines /{by.name}."
