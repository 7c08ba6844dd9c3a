"""The command line's options and commands."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from co_tui import __version__
from co_tui.headless.output import WRONG_USAGE, put, say
from co_tui.inert import one_line, shell_text
from co_tui.nearest import nearest

FORMATS = ("markdown", "jsonl", "html")
"""Export formats."""
PROGRAMS = ("claude-code", "codex", "gemini-cli", "opencode", "llm", "pi")
"""Programs whose sessions `import --from` finds in their default folders."""
COMMAND_COLUMNS = 16
"""Width of the column of command names, indentation included."""
MOST = 1_000_000_000
"""The largest number an option takes."""


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
    parser, commands = _parser()
    _check_names(parser, commands, arguments)
    options = parser.parse_args(arguments)
    if getattr(options, "private", False):
        _check_private(parser, options)
    return options


def _check_private(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.command not in (None, "run", "serve"):
        parser.error(f"--private starts a new session; `{options.command}` does not")
    resumes = (options.resume_latest, getattr(options, "resume", None) is not None, getattr(options, "session", None))
    if any(resumes):
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
                reader.error(_unknown_option(reader, commands, one_line(option, 60)))
            is_value = known is not None and known.nargs != 0 and not equals
        elif reader is parser and not is_value:
            if word not in commands:
                reader.error(_unknown_command(commands, one_line(word, 60)))
            reader = commands[word]
        else:
            is_value = False


def _known_option(parser: argparse.ArgumentParser, option: str) -> argparse.Action | None:
    """Find an option by its name, a prefix of it, or its letter with the value attached."""
    actions = parser._option_string_actions
    short = option[:2] if not option.startswith("--") else ""
    return next((actions[name] for name in actions if name.startswith(option) or name == short), None)


def _unknown_option(
    parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser], option: str
) -> str:
    owners = [each.prog for each in commands.values() if option in each._option_string_actions]
    if owners:
        return f"{option} is an option of `{owners[0]}`, not of `{parser.prog}`."
    if near := nearest(option, parser._option_string_actions, cutoff=0.75):
        return f"Unknown option {option}. Did you mean {near}?"
    return f"Unknown option {option} for `{parser.prog}`."


def _unknown_command(commands: Mapping[str, argparse.ArgumentParser], word: str) -> str:
    if near := nearest(word, commands):
        return f"Unknown command {word!r}. Did you mean {near}?"
    if " " in word:
        return 'To send a prompt, use `co-tui run -p "…"`. Without a command, the app opens.'
    return f"Unknown command {word!r}. Commands: {', '.join(commands)}."


def _parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser, and its subparsers by command name."""
    parser = _Parser(
        prog="co-tui",
        description="Work with LLM agents in the terminal. Without a COMMAND, the app opens.",
        epilog="ID is listed by `co-tui sessions`; a unique part of it is enough. Exit codes: "
        "0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"co-tui {__version__}")
    _model_options(parser)
    _resume_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    prompt = commands.add_parser("run", help="run one prompt without the screen")
    prompt.add_argument("-p", "--prompt", type=shell_text, help="the prompt (default: standard input)")
    session = prompt.add_mutually_exclusive_group()
    session.add_argument("--session", "--resume", type=shell_text, metavar="ID", help="continue this session")
    session.add_argument(
        "--continue", dest="resume_latest", action="store_true", help="continue this folder's latest session"
    )
    _model_options(prompt)
    _private_option(prompt)
    approvals = prompt.add_mutually_exclusive_group()
    approvals.add_argument("--yes", action="store_true", help="approve everything tools ask for")
    approvals.add_argument("--read-only", action="store_true", help="refuse everything that would change something")
    _json_option(prompt)

    listing = commands.add_parser("sessions", help="list sessions, newest first")
    listing.add_argument(
        "--search", type=shell_text, default="", metavar="TEXT", help="only sessions that contain TEXT"
    )
    listing.add_argument(
        "--limit", type=_positive, default=50, metavar="N", help="list at most N sessions (default: 50)"
    )
    _housekeeping_options(listing)
    _json_option(listing)

    show = commands.add_parser("show", help="print a session")
    show.add_argument("id", type=shell_text, metavar="ID")
    view = show.add_mutually_exclusive_group()
    view.add_argument("--transcript", action="store_true", help="everything said so far (default)")
    view.add_argument("--history", action="store_true", help="what the model would see now")
    _json_option(show)

    context = commands.add_parser("context", help="show context usage of a session by kind")
    context.add_argument("id", type=shell_text, metavar="ID")
    _json_option(context)

    lens = commands.add_parser("lens", help="show the next request of a session, message by message")
    lens.add_argument("id", type=shell_text, metavar="ID")
    lens.add_argument(
        "--policy", type=shell_text, default=argparse.SUPPRESS, metavar="P", help="show it under this policy"
    )
    _json_option(lens)

    compact = commands.add_parser("compact", help="summarise older messages of a session")
    compact.add_argument("id", type=shell_text, metavar="ID")
    compact.add_argument("--focus", type=shell_text, default="", metavar="TEXT", help="what the summary should keep")
    _model_options(compact)
    _json_option(compact)

    learning = commands.add_parser("subconscious", help="save notes from a session for later sessions here")
    learning.add_argument("id", type=shell_text, metavar="ID")
    _model_options(learning)

    config = commands.add_parser("config", help="show settings and their sources, or set one")
    config.add_argument("key", type=shell_text, nargs="?", metavar="KEY")
    config.add_argument("value", type=shell_text, nargs="?", metavar="VALUE")

    lab = commands.add_parser("lab", help="replay recorded conversations under context policies")
    lab.add_argument("id", type=shell_text, nargs="?", metavar="ID", help="a stored session")
    lab.add_argument("--input", type=Path, metavar="FILE.jsonl", help="recordings in OpenAI chat format, one per line")
    lab.add_argument(
        "--policy",
        type=shell_text,
        action="append",
        dest="policies",
        metavar="P",
        help="policy to try; repeat for several",
    )
    lab.add_argument("--window", type=_positive, metavar="N", help="context window in tokens")
    lab.add_argument(
        "--as", type=shell_text, dest="as_model", metavar="MODEL", help="assume this model's window and token ratio"
    )
    lab.add_argument(
        "--model",
        type=shell_text,
        dest="summariser",
        metavar="M",
        help="model that writes the summaries (default: offline summariser)",
    )
    lab.add_argument("--dump", type=Path, metavar="DIR", help="write every request to DIR")
    _json_option(lab)

    trust = commands.add_parser("trust", help="let a folder's settings choose the model and what runs")
    trust.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="DIR")
    how = trust.add_mutually_exclusive_group()
    how.add_argument("--revoke", action="store_true", help="stop trusting the folder")
    how.add_argument("--list", dest="listed", action="store_true", help="list trusted folders")

    export = commands.add_parser("export", help="export a session as Markdown, JSONL or HTML")
    export.add_argument("id", type=shell_text, metavar="ID")
    export.add_argument("--format", dest="form", choices=FORMATS, help="default: from FILE's extension, else markdown")
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")

    importing = commands.add_parser("import", help="import sessions from other programs")
    importing.add_argument("files", type=Path, nargs="*", metavar="FILE", help="a file or folder")
    importing.add_argument("--from", dest="program", choices=PROGRAMS, help="import all sessions of this program")
    importing.add_argument(
        "--permissions",
        action="store_true",
        help="with --from claude-code: import permission rules instead of sessions",
    )
    _json_option(importing)

    serve = commands.add_parser("serve", help="serve the app to a browser on this machine")
    serve.add_argument("--port", type=_port, default=8000, metavar="N", help="default: 8000; 0 picks a free port")
    serve.add_argument(
        "--host", type=shell_text, default="127.0.0.1", metavar="NAME", help="address to serve on (default: 127.0.0.1)"
    )
    serve.add_argument(
        "--allow-remote",
        action="store_true",
        help="allow other machines: anyone with the address has full access, unencrypted",
    )
    _model_options(serve)
    _resume_options(serve)

    commands.add_parser("doctor", help="check the installation")
    for choice in commands._choices_actions:
        commands.choices[choice.dest].description = f"{str(choice.help)[:1].upper()}{str(choice.help)[1:]}."
    return parser, commands.choices


def _model_options(parser: argparse.ArgumentParser) -> None:
    # A sub-command's default must not undo what was given before it.
    parser.add_argument(
        "--model",
        type=shell_text,
        default=argparse.SUPPRESS,
        metavar="M",
        help="model: PROVIDER:NAME, gguf:PATH or embedded",
    )
    parser.add_argument(
        "--policy",
        type=shell_text,
        default=argparse.SUPPRESS,
        metavar="P",
        help="context policy, as listed by /policy (default: balanced)",
    )
    parser.add_argument(
        "--mode",
        type=shell_text,
        default=argparse.SUPPRESS,
        metavar="M",
        help="what runs without asking: ask, edits, plan or auto",
    )


def _resume_options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue", dest="resume_latest", action="store_true", help="open this folder's latest session"
    )
    which.add_argument(
        "--resume", type=shell_text, nargs="?", const="", metavar="ID", help="open session ID, or choose one"
    )
    _private_option(parser)


def _private_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--private", action="store_true", default=argparse.SUPPRESS, help="start a new session that is never saved"
    )


def _housekeeping_options(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--trash", action="store_true", help="list sessions in the trash")
    for option, words in (
        ("restore", "restore a session from the trash"),
        ("delete", "move a session to the trash (restorable for 30 days)"),
        ("pin", "list a session first and never clean it up"),
        ("unpin", "unpin a session"),
    ):
        what.add_argument(f"--{option}", type=shell_text, metavar="ID", help=words)
    what.add_argument("--prune", action="store_true", help="move sessions unused for retention_days to the trash")
    parser.add_argument("--dry-run", action="store_true", help="with --prune: only show what would be moved")


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def _positive(text: str) -> int:
    # Python and SQLite refuse integers with too many digits.
    if not text.isdecimal() or len(text) > len(str(MOST)) or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{one_line(repr(text), 60)} is not a whole number from 1 to {MOST:,}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{one_line(repr(text), 60)} is not a port number (0 to 65535)")
    return int(text)
