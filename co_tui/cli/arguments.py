"""Parses the command line; mistakes are answered with a sentence and the nearest name."""

import argparse
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from co_tui import __version__
from co_tui.cli.cli_commands import COMMANDS, FOLDER_OPTIONS, HOST_OPTIONS, MODEL_OPTIONS, RESUME_OPTIONS, OneOf, Option
from co_tui.headless.output import WRONG_USAGE, put, say
from co_tui.inert import one_line
from co_tui.nearest import nearest

PROGRAM: Final = "co-tui"
_NAMES: Final = tuple(row.name for row in COMMANDS)
AS_CLAUDE: Final = ("--output-format", "--input-format")
"""Options that mean `run` as the first word: Claude Code's SDK starts its program with them."""
COMMAND_COLUMNS = 16
"""Width of the column of command names, indentation included."""


class _Help(argparse.HelpFormatter):
    """Prints each command and its help on one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = COMMAND_COLUMNS


class _Parser(argparse.ArgumentParser):
    """Reports mistakes as one sentence, and lost output as a failure."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=_Help, **given)

    def _print_message(self, message: str, file: object = None) -> None:
        put(message.rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        say(f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{self.prog} --help`.")
        sys.exit(WRONG_USAGE)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; mistakes exit the process with a sentence."""
    if arguments and arguments[0] in AS_CLAUDE:
        arguments = ["run", *arguments]
    parser, commands = _parser(_named_commands(arguments))
    arguments = _with_host_folder(arguments, commands)
    _check_names(parser, commands, arguments)
    options = parser.parse_args(arguments)
    if more := getattr(options, "more_dirs", ()):
        options.add_dirs = [*getattr(options, "add_dirs", ()), *more]
    if getattr(options, "remote_host", None) is not None and options.command not in (None, "run"):
        parser.error(f"--host opens the app or is used with `run`, not with `{options.command}`")
    if getattr(options, "private", False):
        _check_private(parser, options)
    if options.command == "run":
        _check_run(parser, options)
    return options


def _check_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Also set the mode that is given by its name in Claude Code."""
    if options.resume is not None:
        parser.error("--resume before `run` opens the app; use `co-tui run --resume ID`")
    if options.permission_mode == "bypassPermissions":
        options.yes = not options.read_only
    elif options.permission_mode is not None:
        from co_tui.settings.hook_entries import mode_of

        options.mode = mode_of(options.permission_mode)


def _named_commands(arguments: Sequence[str]) -> Collection[str]:
    """The commands whose parsers are needed: making all of them takes most of the time of a short command."""
    lists_all = any(word.startswith(("-h", "--h")) or word == "--" for word in arguments)
    return _NAMES if lists_all else [name for name in _NAMES if name in arguments]


def _with_host_folder(arguments: Sequence[str], commands: Container[str]) -> list[str]:
    """The arguments with an option before the folder that follows `--host user@box`."""
    given, command = list(arguments), next((word for word in arguments if word in commands), None)
    at = next((n for n, word in enumerate(given) if word == "--host" or word.startswith("--host=")), None)
    if at is None or command not in (None, "run"):
        return given
    after = at + (2 if given[at] == "--host" else 1)
    word = given[after] if after < len(given) else "-"
    is_command = word == command and command not in given[:at]
    return given if word.startswith("-") or is_command else [*given[:after], "--host-folder", *given[after:]]


def _check_private(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.command not in (None, "run", "serve"):
        parser.error(f"--private starts a new session; `{options.command}` does not")
    named = (getattr(options, "resume", None), getattr(options, "session", None))
    if options.resume_latest or any(each is not None for each in named):
        parser.error("--private starts a new session and cannot be used with --continue, --resume or --session")


def _check_names(
    parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser], arguments: Sequence[str]
) -> None:
    """Report an unknown option or command, and suggest the closest one."""
    reader, is_value = parser, False
    for word in arguments:
        if word == "--":
            return
        if word.startswith("-") and len(word) > 1 and not word[1].isdecimal():
            option, equals, _ = word.partition("=")
            known = _known_option(reader, option)
            if not known and not is_value:
                reader.error(_unknown_option(reader, one_line(option, 60)))
            is_value = known is not None and known.nargs != 0 and not equals
        elif reader is parser and not is_value:
            if word not in commands:
                reader.error(_unknown_command(one_line(word, 60)))
            reader = commands[word]
        else:
            is_value = False


def _known_option(parser: argparse.ArgumentParser, option: str) -> argparse.Action | None:
    """Find an option by its name, a prefix of it, or its letter with the value attached."""
    actions = parser._option_string_actions
    short = option[:2] if not option.startswith("--") else ""
    return next((actions[name] for name in actions if name.startswith(option) or name == short), None)


def _unknown_option(parser: argparse.ArgumentParser, option: str) -> str:
    owners = [row.name for row in COMMANDS if any(option in each.names for each in _each_option(row.options))]
    if owners:
        return f"{option} is an option of `{PROGRAM} {owners[0]}`, not of `{parser.prog}`."
    if near := nearest(option, parser._option_string_actions, cutoff=0.75):
        return f"Unknown option {option}. Did you mean {near}?"
    return f"Unknown option {option} for `{parser.prog}`."


def _unknown_command(word: str) -> str:
    if near := nearest(word, _NAMES):
        return f"Unknown command {word!r}. Did you mean {near}?"
    if " " in word:
        return 'To send a prompt, use `co-tui run -p "…"`. Without a command, the app opens.'
    return f"Unknown command {word!r}. Commands: {', '.join(_NAMES)}."


def _parser(named: Container[str]) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser, and the subparsers of these commands by name."""
    parser = _Parser(
        prog=PROGRAM,
        description="Work with LLM agents in the terminal. Without a COMMAND, the app opens.",
        epilog="`co-tui help` explains topics. ID is listed by `co-tui sessions`; a unique part of it is enough. "
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"co-tui {__version__}")
    _add(parser, (*MODEL_OPTIONS, *FOLDER_OPTIONS, *HOST_OPTIONS, *RESUME_OPTIONS))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for row in filter(lambda row: row.name in named, COMMANDS):
        described = f"{row.help[:1].upper()}{row.help[1:]}."
        _add(commands.add_parser(row.name, help=row.help, description=described), row.options)
    return parser, commands.choices


def _each_option(options: Iterable[Option | OneOf]) -> Iterator[Option]:
    for each in options:
        yield from each.options if isinstance(each, OneOf) else (each,)


def _add(parser: argparse.ArgumentParser, options: Iterable[Option | OneOf]) -> None:
    for each in options:
        if isinstance(each, OneOf):
            group = parser.add_mutually_exclusive_group()
            for option in each.options:
                group.add_argument(*option.names, **option.given)
        else:
            parser.add_argument(*each.names, **each.given)
