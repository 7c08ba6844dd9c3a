"""The table of commands of the command line, with their options."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.inert import one_line, shell_text

FORMATS = ("markdown", "jsonl", "html")
"""Export formats."""
PROGRAMS = ("claude-code", "codex", "gemini-cli", "opencode", "llm", "pi")
"""Programs whose sessions `import --from` finds in their default folders."""
MOST = 1_000_000_000
"""The largest number an option takes."""


def _positive(text: str) -> int:
    # Python and SQLite refuse integers with too many digits.
    if not text.isdecimal() or len(text) > len(str(MOST)) or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{one_line(repr(text), 60)} is not a whole number from 1 to {MOST:,}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{one_line(repr(text), 60)} is not a port, from 0 to 65535")
    return int(text)


class Option(NamedTuple):
    """An option or argument, as argparse takes it."""

    names: tuple[str, ...]
    given: Mapping[str, Any]


class OneOf(NamedTuple):
    """Options of which only one can be given."""

    options: tuple[Option, ...]


class CliCommand(NamedTuple):
    """A command of the command line; `commands.py` has the function of that name."""

    name: str
    help: str
    options: tuple[Option | OneOf, ...] = ()


def _option(*names: str, **given: Any) -> Option:
    return Option(names, {"type": shell_text, **given})


def _flag(name: str, help: str, **given: Any) -> Option:
    return Option((name,), {"action": "store_true", "help": help, **given})


_ID = _option("id", metavar="ID")
_JSON = _flag("--json", "one JSON object a line")
_PRIVATE = _flag("--private", "a new session of which nothing is kept", default=argparse.SUPPRESS)
# A sub-command's default must not undo what was given before it.
MODEL_OPTIONS = (
    _option(
        "--model",
        default=argparse.SUPPRESS,
        metavar="M",
        help="who answers: PROVIDER:NAME, gguf:PATH of a file of weights, or embedded",
    ),
    _option(
        "--policy",
        default=argparse.SUPPRESS,
        metavar="P",
        help="what governs the context: balanced, the default, off, or another that /policy lists",
    ),
    _option(
        "--mode",
        default=argparse.SUPPRESS,
        metavar="M",
        help="what runs without a question: ask, edits, plan or auto",
    ),
)
RESUME_OPTIONS = (
    OneOf(
        (
            _flag("--continue", "open this folder's latest session", dest="resume_latest"),
            _option("--resume", nargs="?", const="", metavar="ID", help="open that session, or choose one"),
        )
    ),
    _PRIVATE,
)
_HOUSEKEEPING = (
    OneOf(
        (
            _flag("--trash", "those in the trash"),
            _option("--restore", metavar="ID", help="take a session out of the trash"),
            _option(
                "--delete",
                metavar="ID",
                help="put a session into the trash, from where it can be restored for 30 days",
            ),
            _option("--pin", metavar="ID", help="let a session stand first, and never be cleaned up"),
            _option("--unpin", metavar="ID", help="no longer, let it stand by its time again"),
            _flag("--prune", "clean up what was not used for retention_days"),
        )
    ),
    _flag("--dry-run", "with --prune: only tell what that would be"),
)

COMMANDS: Final = (
    CliCommand(
        "run",
        "answer one prompt without the screen",
        (
            _option("-p", "--prompt", help="the prompt; without it, standard input"),
            OneOf(
                (
                    _option("--session", "--resume", metavar="ID", help="continue that session"),
                    _flag("--continue", "go on with this folder's latest session", dest="resume_latest"),
                )
            ),
            *MODEL_OPTIONS,
            _PRIVATE,
            OneOf(
                (
                    _flag("--yes", "approve what tools ask for"),
                    _flag("--read-only", "refuse whatever would change something"),
                )
            ),
            _JSON,
        ),
    ),
    CliCommand(
        "sessions",
        "list sessions, newest first",
        (
            _option("--search", default="", metavar="TEXT", help="only those with these words"),
            _option("--limit", type=_positive, default=50, metavar="N", help="at most so many; 50 without it"),
            *_HOUSEKEEPING,
            _JSON,
        ),
    ),
    CliCommand(
        "show",
        "print a session",
        (
            _ID,
            OneOf(
                (
                    _flag("--transcript", "everything ever said (the default)"),
                    _flag("--history", "what the model would see now"),
                )
            ),
            _JSON,
        ),
    ),
    CliCommand("context", "tokens of a session by kind, and the limit", (_ID, _JSON)),
    CliCommand(
        "lens",
        "the next request of a session as it would be sent, message by message",
        (
            _ID,
            _option("--policy", default=argparse.SUPPRESS, metavar="P", help="as if this one governed the context"),
            _JSON,
        ),
    ),
    CliCommand(
        "compact",
        "make a session's context smaller",
        (
            _ID,
            _option("--focus", default="", metavar="TEXT", help="what the summary should pay attention to"),
            *MODEL_OPTIONS,
            _JSON,
        ),
    ),
    CliCommand(
        "subconscious",
        "note what a session taught, for later ones in this repository and branch",
        (_ID, *MODEL_OPTIONS),
    ),
    CliCommand(
        "config",
        "show settings and where they come from, or set one",
        (_option("key", nargs="?", metavar="KEY"), _option("value", nargs="?", metavar="VALUE")),
    ),
    CliCommand(
        "lab",
        "replay recorded conversations under policies, as if they were happening",
        (
            _option("id", nargs="?", metavar="ID", help="a stored session"),
            _option("--input", type=Path, metavar="FILE.jsonl", help="recordings in the chat format, one a line"),
            _option("--policy", action="append", dest="policies", metavar="P", help="may be given several times"),
            _option("--window", type=_positive, metavar="N", help="the window in tokens"),
            _option("--as", dest="as_model", metavar="MODEL", help="whose window and token ratio to assume"),
            _option(
                "--model",
                dest="summariser",
                metavar="M",
                help="who summarises; without it, the offline summariser",
            ),
            _option("--dump", type=Path, metavar="DIR", help="write every request there"),
            _JSON,
        ),
    ),
    CliCommand(
        "trust",
        "let a folder's own settings choose who answers and what runs",
        (
            _option("folder", type=Path, nargs="?", default=Path(), metavar="DIR"),
            OneOf((_flag("--revoke", "no longer"), _flag("--list", "show the trusted folders", dest="listed"))),
        ),
    ),
    CliCommand(
        "export",
        "write a session as Markdown, JSONL or HTML",
        (
            _ID,
            _option(
                "--format",
                type=None,
                dest="form",
                choices=FORMATS,
                help="without it, what FILE's name says, or markdown",
            ),
            _option("-o", "--output", type=Path, metavar="FILE", help="without it, standard output"),
        ),
    ),
    CliCommand(
        "import",
        "take over sessions of other programs",
        (
            _option("files", type=Path, nargs="*", metavar="FILE", help="a file, or a folder of them"),
            _option(
                "--from",
                type=None,
                dest="program",
                choices=PROGRAMS,
                help="all sessions of that program, from where it keeps them",
            ),
            _flag("--permissions", "with --from claude-code: your permission rules, not the sessions"),
            _JSON,
        ),
    ),
    CliCommand(
        "serve",
        "the app in a browser's tab, for this machine only",
        (
            _option("--port", type=_port, default=8000, metavar="N", help="8000 without it; 0 takes a free one"),
            _option("--host", default="127.0.0.1", metavar="NAME", help="another address to serve on"),
            _flag(
                "--allow-remote",
                "let other machines in: whoever has the address can then do here what you can, over an open line",
            ),
            *MODEL_OPTIONS,
            *RESUME_OPTIONS,
        ),
    ),
    CliCommand("doctor", "check the installation"),
)
