"""Slash commands from Markdown files of the project or the user. Project files are untrusted: they may have come with
a clone."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.actions import COMMANDS
from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern
from co_tui.paths import is_inside, path_text
from co_tui.record import Record
from co_tui.settings.files import MarkdownFiles, definition_folders, link_out_problem, read_text
from co_tui.settings.markdown.agent_files import INHERITED
from co_tui.settings.rules import EMBEDDED, SettingsError

PROJECT_FOLDERS: Final = (".agents/commands", ".claude/commands")
"""Folders of a project; when two define the same name, the first wins."""
MOST_FILES: Final = 200
"""Read from one folder and those below."""
DESCRIPTION_CHARS: Final = 200
HINT_CHARS: Final = 60
NAMESPACE: Final = ":"
"""Separates a subfolder from the command's name, as in Claude Code."""
_NAME: Final = late_pattern(r"\w[\w.-]{0,59}")
_BUILT_IN: Final = frozenset(command.name for command in COMMANDS)
_TOOL: Final = late_pattern(r"[^\s,(]+(?:\([^)]*\))?")


class CommandFile(Record):
    """A slash command as its file defines it."""

    file: Path
    name: str
    """With its subfolders, such as `git:commit`."""
    body: str
    description: str = ""
    argument_hint: str = ""
    model: str = ""
    """As written; empty for the session's model."""
    allowed_tools: tuple[str, ...] = ()
    """As written. They allow nothing here: every call is judged as always."""
    is_project: bool = False

    @property
    def own_model(self) -> str:
        """Its model string; empty for the session's model, and for names only another program knows."""
        return self.model if ":" in self.model or self.model == EMBEDDED else ""

    @property
    def source(self) -> str:
        """Where it comes from, in a word."""
        return "project" if self.is_project else "yours"

    @property
    def access_text(self) -> str:
        """What trusting its folder lets it request. Part of the trust digest."""
        model = f", model {self.model}" if self.model else ""
        tools = f", tools {', '.join(self.allowed_tools)}" if self.allowed_tools else ""
        from co_tui.settings.markdown.command_text import shell_lines

        runs = "".join(f", runs {line}" for line in shell_lines(self.body))
        return f"/{self.name} ({'/'.join(self.file.parts[-3:])}{model}{tools}{runs})"


class CommandFiles(Record):
    """The commands of some folders, and a sentence for each unusable file."""

    commands: tuple[CommandFile, ...] = ()
    problems: tuple[str, ...] = ()

    def before(self, others: "CommandFiles") -> "CommandFiles":
        """These commands, then the others whose names are still free."""
        known = {command.name: command for command in self.commands}
        hidden = [_hidden(each, known[each.name]) for each in others.commands if each.name in known]
        added = tuple(each for each in others.commands if each.name not in known)
        return CommandFiles(commands=(*self.commands, *added), problems=(*self.problems, *others.problems, *hidden))

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
    inside, outside = definition_folders(folder, PROJECT_FOLDERS)
    found = CommandFiles(problems=tuple(map(link_out_problem, outside)))
    for path in inside:
        found = found.before(read_commands(path, inside=Path(os.path.realpath(folder))))
    return found


def read_commands(folder: Path, inside: Path | None = None) -> CommandFiles:
    """The commands of a folder and those below it, sorted; none when it is missing. With `inside`, a project's."""
    found = CommandFiles()
    look = MarkdownFiles(inside)
    for count, file in enumerate(look.below(folder)):
        if count == MOST_FILES:
            return found.with_problem(f"{path_text(folder)} has over {MOST_FILES} files; the rest are not read.")
        try:
            found = found.before(CommandFiles(commands=(_read(file, folder, inside),)))
        except SettingsError as error:
            found = found.with_problem(str(error))
    return (
        found.with_problem(f"{path_text(folder)} has too many files; the rest are not read.") if look.is_cut else found
    )


def _read(file: Path, folder: Path, inside: Path | None) -> CommandFile:
    """Read one file. Raises `SettingsError`, which names it."""
    try:
        if inside is not None and not is_inside(file, inside):
            raise ValueError("it is a link out of the project")
        parts = file.relative_to(folder).with_suffix("").parts
        if not all(map(_NAME.fullmatch, parts)):
            raise ValueError("its name must be letters, digits, dots and dashes, at most 60")
        name = NAMESPACE.join(parts)
        if name in _BUILT_IN:
            raise ValueError(f"/{name} is a built-in command; rename the file")
        return _command(file, name, read_text(file), is_project=inside is not None)
    except ValueError as error:
        raise SettingsError(f"Skipped command {path_text(file)}: {error}.") from None


def _command(file: Path, name: str, text: str, *, is_project: bool) -> CommandFile:
    from co_tui.settings.markdown.front_matter import FENCE, read_front_matter

    if "\0" in text:
        raise ValueError("it is not a text file")
    has_keys = text.removeprefix("\ufeff").partition("\n")[0].rstrip() == FENCE
    values, body = read_front_matter(text) if has_keys else ({}, text.removeprefix("\ufeff").strip())
    if not body:
        raise ValueError("it has no text below the keys" if has_keys else "it is empty")
    model = _text(values, "model")
    return CommandFile(
        file=file,
        name=name,
        body=body,
        description=one_line(_text(values, "description") or body.partition("\n")[0].lstrip("# "), DESCRIPTION_CHARS),
        argument_hint=one_line(_text(values, "argument-hint"), HINT_CHARS),
        model="" if model.lower() in INHERITED else model,
        allowed_tools=_tools(values),
        is_project=is_project,
    )


def _text(values: Mapping[str, str | tuple[str, ...]], key: str) -> str:
    """A value as one text; `[a] [b]` is what people write as a hint, not a list."""
    value = values.get(key, "")
    return value.strip() if isinstance(value, str) else f"[{', '.join(value)}]"


def _tools(values: Mapping[str, str | tuple[str, ...]]) -> tuple[str, ...]:
    value = values.get("allowed-tools", "")
    return tuple(_TOOL.findall(value if isinstance(value, str) else ", ".join(value)))


def _hidden(command: CommandFile, by: CommandFile) -> str:
    return f"Skipped command {path_text(command.file)}: {path_text(by.file)} already defines /{command.name}."
