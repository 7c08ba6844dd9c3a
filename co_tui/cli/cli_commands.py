"""The table of commands of the command line, with their options."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.inert import one_line, shell_text

FORMATS = ("markdown", "jsonl", "html")
"""Export formats."""
PROGRAMS = (
    *("claude-code", "codex", "gemini-cli", "opencode", "llm", "pi"),
    *("copilot-cli", "cline", "kimi", "goose", "aider", "qwen-code"),
)
"""Programs whose sessions `import --from` finds in their default folders."""
CLAUDE_MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")
MOST = 1_000_000_000
"""The largest number an option takes."""


def _positive(text: str) -> int:
    # Python and SQLite refuse integers with too many digits.
    if not text.isdecimal() or len(text) > len(str(MOST)) or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{one_line(repr(text), 60)} is not a whole number from 1 to {MOST:,}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{one_line(repr(text), 60)} is not a port number (0 to 65535)")
    return int(text)


def _minutes(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 10_080:
        raise argparse.ArgumentTypeError(f"{one_line(repr(text), 60)} is not a number of minutes (0 to 10080, a week)")
    return int(text)


def _rules(text: str) -> list[str]:
    from co_tui.settings.permission_rules import FORMS, parse_rule, split_rules

    rules = split_rules(shell_text(text))
    for rule in rules:
        try:
            parse_rule(rule)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{one_line(repr(rule), 60)} is not a rule. Write {FORMS}") from None
    return rules


class Option(NamedTuple):
    """An option or argument, as argparse takes it."""

    names: tuple[str, ...]
    given: Mapping[str, Any]


class OneOf(NamedTuple):
    """Options of which only one can be given."""

    options: tuple[Option, ...]


class CliCommand(NamedTuple):
    """A command of the command line; `commands.py` or `stored_commands.py` has the function of that name."""

    name: str
    help: str
    options: tuple[Option | OneOf, ...] = ()


def _option(*names: str, **given: Any) -> Option:
    return Option(names, {"type": shell_text, **given})


def _flag(name: str, help: str, **given: Any) -> Option:
    return Option((name,), {"action": "store_true", "help": help, **given})


_ID = _option("id", metavar="ID")
_JSON = _flag("--json", "print one JSON object per line")
_PRIVATE = _flag("--private", "start a new session that is never saved", default=argparse.SUPPRESS)
# A sub-command's default must not undo what was given before it.
MODEL_OPTIONS = (
    _option(
        "--model",
        default=argparse.SUPPRESS,
        metavar="M",
        help="model: PROVIDER:NAME, gguf:PATH or embedded",
    ),
    _option(
        "--policy",
        default=argparse.SUPPRESS,
        metavar="P",
        help="context policy, as listed by /policy, or a .toml or .py file (default: balanced)",
    ),
    _option(
        "--mode",
        default=argparse.SUPPRESS,
        metavar="M",
        help="what runs without asking: ask, edits, plan or auto",
    ),
)
HOST_OPTIONS = (
    _option(
        "--host",
        dest="remote_host",
        default=argparse.SUPPRESS,
        metavar="user@box [DIR]",
        help="work in DIR on another host, by ssh (default: its login folder)",
    ),
    _option("--host-folder", dest="remote_folder", default=argparse.SUPPRESS, help=argparse.SUPPRESS),
)
"""The second is what `DIR` after `--host` becomes."""
_FOLDERS: Final[Mapping[str, Any]] = {
    "action": "append",
    "default": argparse.SUPPRESS,
    "metavar": "PATH",
    "help": "work in this folder, too (can be given several times)",
}
FOLDER_OPTIONS = (_option("--add-dir", dest="add_dirs", **_FOLDERS),)
MORE_FOLDER_OPTIONS = (_option("--add-dir", dest="more_dirs", **_FOLDERS),)
"""After a command, so that those before it count, too."""
RESUME_OPTIONS = (
    OneOf(
        (
            _flag("--continue", "open this folder's latest session", dest="resume_latest"),
            _option("--resume", nargs="?", const="", metavar="ID", help="open session ID, or choose one"),
        )
    ),
    _PRIVATE,
)
_HOUSEKEEPING = (
    OneOf(
        (
            _flag("--trash", "list sessions in the trash"),
            _option("--restore", metavar="ID", help="restore a session from the trash"),
            _option(
                "--delete",
                metavar="ID",
                help="move a session to the trash (restorable for 30 days)",
            ),
            _flag("--empty-trash", "delete everything in the trash forever"),
            _option("--pin", metavar="ID", help="list a session first and never clean it up"),
            _option("--unpin", metavar="ID", help="unpin a session"),
            _option("--share", metavar="ID", help="let the other users of the database read a session"),
            _option("--unshare", metavar="ID", help="stop sharing a session"),
            _option("--fork", metavar="ID", help="copy a session, also one that another user shares"),
            _flag("--prune", "move sessions unused for retention_days to the trash"),
            _option("--copy-to", metavar="URL", help="copy sessions to the database postgresql://…, or to sqlite:"),
            _option("--copy-from", metavar="URL", help="copy sessions from there"),
        )
    ),
    _option("ids", nargs="*", metavar="ID", help="with --copy-to or --copy-from: only these sessions"),
    _flag("--dry-run", "with --prune or a copy: only say what would be done"),
    _flag("--verbose", "with --prune: list each session"),
    _flag("--forever", "with --delete: delete it, with its messages and files"),
    _flag("--yes", "with --forever or --empty-trash: do not ask"),
)
_RULES: Final[Mapping[str, Any]] = {"type": _rules, "nargs": "+", "action": "extend", "metavar": "RULE"}
_SCRIPTED = (
    _option("--max-turns", type=_positive, metavar="N", help="stop after N replies of the model to a prompt"),
    _option(
        "--allowed-tools", "--allowedTools", dest="allow_rules", help="allow these, such as Bash(git log:*)", **_RULES
    ),
    _option("--disallowed-tools", "--disallowedTools", dest="deny_rules", help="deny these", **_RULES),
    _option("--append-system-prompt", default="", metavar="TEXT", help="add TEXT to the model's instructions"),
    _option("--system-prompt", default="", metavar="TEXT", help="replace co-tui's instructions of the model by TEXT"),
    _option("--agent", default="", metavar="NAME", help="let the agent of this name answer, as /agent does"),
    _option("--permission-mode", choices=CLAUDE_MODES, help="the mode, by its name in Claude Code"),
    _option(
        "--permission-prompt-tool",
        choices=("stdio",),
        help="ask the script that writes stream-json for approvals",
    ),
    OneOf(
        (
            _JSON,
            _option(
                "--output-format",
                choices=("text", "json", "stream-json"),
                default="text",
                help="print the reply, one result as JSON, or every message as JSON, as Claude Code does",
            ),
        )
    ),
    _option(
        "--input-format",
        choices=("text", "stream-json"),
        default="text",
        help="read one prompt, or prompts as JSON lines until standard input ends",
    ),
    _flag("--verbose", argparse.SUPPRESS),
    _option("--setting-sources", help=argparse.SUPPRESS),
)
"""Options of `run` that scripts for Claude Code use; the last two change nothing."""

COMMANDS: Final = (
    CliCommand(
        "run",
        "run one prompt without the screen",
        (
            _option("-p", "--prompt", nargs="?", help="the prompt (default: standard input)"),
            _option("--print", dest="prompt", nargs="?", help=argparse.SUPPRESS),  # the same, as Claude Code names it
            OneOf(
                (
                    _option("--session", metavar="ID", help="continue this session"),
                    _option("--resume", dest="session", metavar="ID", help="the same as --session"),
                    _flag("--continue", "continue this folder's latest session", dest="resume_latest"),
                )
            ),
            _flag("--take-over", "continue a session that another machine did not close"),
            *MODEL_OPTIONS,
            *MORE_FOLDER_OPTIONS,
            *HOST_OPTIONS,
            _PRIVATE,
            OneOf(
                (
                    _flag("--yes", "approve everything tools ask for"),
                    _flag("--dangerously-skip-permissions", argparse.SUPPRESS, dest="yes"),  # the same, there
                    _flag("--read-only", "refuse everything that would change something"),
                )
            ),
            *_SCRIPTED,
        ),
    ),
    CliCommand(
        "sessions",
        "list sessions, newest first",
        (
            _option("--search", default="", metavar="TEXT", help="only sessions that contain TEXT"),
            _option("--limit", type=_positive, default=50, metavar="N", help="list at most N sessions (default: 50)"),
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
                    _flag("--transcript", "everything said so far (default)"),
                    _flag("--history", "what the model would see now"),
                )
            ),
            _JSON,
        ),
    ),
    CliCommand(
        "context",
        "show context usage of a session by kind",
        (
            _option("id", nargs="?", default="", metavar="ID"),
            _flag("--models", "list each model's window, and where the policy compacts in it"),
            _option("--policy", default=argparse.SUPPRESS, metavar="P", help="under this policy, by name or file"),
            _JSON,
        ),
    ),
    CliCommand(
        "lens",
        "show the next request of a session, message by message",
        (
            _ID,
            _option(
                "--policy", default=argparse.SUPPRESS, metavar="P", help="show it under this policy, by name or file"
            ),
            _JSON,
        ),
    ),
    CliCommand(
        "compact",
        "summarise older messages of a session",
        (
            _ID,
            _option("--focus", default="", metavar="TEXT", help="what the summary should keep"),
            _flag("--deep", "keep only the newest step, and a shorter summary"),
            *MODEL_OPTIONS,
            _JSON,
        ),
    ),
    CliCommand(
        "rewind",
        "go back to before a turn of a session",
        (
            _ID,
            _option("turn", type=_positive, metavar="TURN", help="its number, as `co-tui show --json` prints it"),
            OneOf(
                (
                    _flag("--files", "restore files, too"),
                    _flag("--files-only", "restore files, keep the conversation"),
                )
            ),
            _flag("--force", "overwrite files that others changed since, too"),
            _JSON,
        ),
    ),
    CliCommand("diff", "show what a session changed in its folder", (_ID, _JSON)),
    CliCommand(
        "subconscious",
        "save notes from a session for later sessions here",
        (_ID, *MODEL_OPTIONS),
    ),
    CliCommand(
        "config",
        "show settings and their sources, or set one",
        (_option("key", nargs="?", metavar="KEY"), _option("value", nargs="?", metavar="VALUE")),
    ),
    CliCommand(
        "lab",
        "replay recorded conversations under context policies",
        (
            _option("id", nargs="?", metavar="ID", help="a stored session"),
            _option("--input", type=Path, metavar="FILE.jsonl", help="recordings in OpenAI chat format, one per line"),
            _option(
                "--policy",
                action="append",
                dest="policies",
                metavar="P",
                help="policy to try, by name or file; repeat for several",
            ),
            _option("--window", type=_positive, metavar="N", help="context window in tokens"),
            _option("--as", dest="as_model", metavar="MODEL", help="assume this model's window and token ratio"),
            _option(
                "--model",
                dest="summariser",
                metavar="M",
                help="model that writes the summaries (default: offline summariser)",
            ),
            _option("--jobs", type=_positive, default=1, metavar="N", help="use N processes"),
            _option("--report", type=Path, metavar="FILE.html", help="write tables and plots to FILE.html"),
            _option("--dump", type=Path, metavar="DIR", help="write every request to DIR"),
            _JSON,
        ),
    ),
    CliCommand(
        "trust",
        "let a folder's settings choose the model and what runs",
        (
            _option("folder", type=Path, nargs="?", default=Path(), metavar="DIR"),
            OneOf(
                (
                    _flag("--revoke", "stop trusting the folder"),
                    _flag("--list", "list trusted folders", dest="listed"),
                    _flag("--dry-run", "list what would be used and what not, and trust nothing"),
                )
            ),
        ),
    ),
    CliCommand(
        "export",
        "export a session as Markdown, JSONL or HTML",
        (
            _option("id", nargs="?", metavar="ID"),
            _option(
                "--format",
                type=None,
                dest="form",
                choices=FORMATS,
                help="default: from FILE's extension, else markdown",
            ),
            _option("-o", "--output", type=Path, metavar="FILE", help="default: standard output"),
            _flag("--all", "with -o FOLDER: write the log of each session that changed"),
        ),
    ),
    CliCommand(
        "import",
        "import sessions from other programs",
        (
            _option(
                "files",
                type=Path,
                nargs="*",
                metavar="FILE",
                help="a file or folder, or an export of ChatGPT or Claude.ai (zip or JSON)",
            ),
            _option(
                "--from",
                type=None,
                dest="program",
                choices=PROGRAMS,
                help="import all sessions of this program",
            ),
            _flag("--permissions", "with --from claude-code: import approval rules instead of sessions"),
            _flag("--all", "import the sessions of all programs on this machine"),
            _flag("--again", "also read again what an older version imported; all programs, unless files are named"),
            _flag("--dry-run", "list what would be imported, and import nothing"),
            _JSON,
        ),
    ),
    CliCommand(
        "example",
        "open an example session to try things on",
        MODEL_OPTIONS,
    ),
    CliCommand(
        "backup",
        "back up all sessions and files to one file",
        (
            _option("file", type=Path, metavar="FILE"),
            _flag("--force", "replace FILE if it exists"),
            _flag("--snapshots", "add the snapshots that /rewind restores files from (large)"),
            _JSON,
        ),
    ),
    CliCommand(
        "restore",
        "restore sessions and files from a backup",
        (
            _option("file", type=Path, metavar="FILE"),
            _flag("--dry-run", "say what would be restored, and restore nothing"),
            _flag("--force", "replace files that differ from the backup's"),
            _flag("--with-config", "restore settings, agents, skills and rules that decide what runs, too"),
            _JSON,
        ),
    ),
    CliCommand(
        "serve",
        "serve the app to a browser on this machine",
        (
            _option("--port", type=_port, default=8000, metavar="N", help="default: 8000; 0 picks a free port"),
            _option("--host", default="127.0.0.1", metavar="NAME", help="address to serve on (default: 127.0.0.1)"),
            _flag(
                "--allow-remote",
                "allow other machines: anyone with the address has full access, unencrypted",
            ),
            _option(
                "--keep",
                type=_minutes,
                default=30,
                metavar="MINUTES",
                help="how long an app runs on after its tab is closed (default: 30; 0: not at all)",
            ),
            *MODEL_OPTIONS,
            *MORE_FOLDER_OPTIONS,
            *RESUME_OPTIONS,
        ),
    ),
    CliCommand(
        "login",
        "save a provider's key, read from the terminal or standard input",
        (
            _option(
                "provider",
                nargs="?",
                default="",
                metavar="PROVIDER",
                help="such as anthropic, openai, google, or postgresql",
            ),
            _flag("--remove", "remove the saved key"),
        ),
    ),
    CliCommand(
        "acp",
        "speak the Agent Client Protocol with an editor on standard input and output",
        (_flag("--login", "save a provider's key, as `co-tui login` does: editors start this"), *MODEL_OPTIONS),
    ),
    CliCommand(
        "help", "list the help topics, or print one", (_option("topic", nargs="?", default="", metavar="TOPIC"),)
    ),
    CliCommand("doctor", "check the installation", (_flag("--full", "read all of a large database, too"),)),
)
