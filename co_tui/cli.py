"""The command line. Reads the environment here and nowhere below; imports each command's code when it runs."""

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from co_tui import __version__
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, WRONG_USAGE, Ground, say, silence_stdout
from co_tui.paths import locate
from co_tui.settings import load
from co_tui.store.errors import SessionNotFound, StoreError

if TYPE_CHECKING:
    from co_tui.store.reader import SessionRow

LATER = {
    "compact": "compact a stored session",
    "export": "write a session as Markdown, JSONL or HTML",
    "import": "take over sessions of other programs",
    "lab": "replay recorded conversations under policies",
}
"""Commands of the contract that are not built yet."""


class _Parser(argparse.ArgumentParser):
    """Mistakes are one sentence, like everything else we say."""

    def error(self, message: str) -> NoReturn:
        say(f"{message}. `{self.prog} --help` shows how.")
        sys.exit(WRONG_USAGE)


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit code."""
    try:
        return _run(arguments)
    except StoreError as error:
        say(str(error))
        return FAILED
    except BrokenPipeError:
        silence_stdout()
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown and options.command not in LATER:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    environ, cwd = os.environ, Path.cwd()
    paths = locate(environ)
    given = {"model": getattr(options, "model", None), "policy": getattr(options, "policy", None)}
    loaded = load(paths=paths, cwd=cwd, environ=environ, command_line=given)
    ground = Ground(paths, loaded)
    if options.command not in ("doctor", "config"):
        # Both of those are how one finds and mends a bad setting.
        for warning in loaded.warnings:
            say(warning)
        if loaded.problems:
            for problem in loaded.problems:
                say(problem)
            return WRONG_USAGE
    match options.command:
        case None:
            return _open_app(options, ground, environ, cwd)
        case "run":
            return _run_prompt(options, ground, environ, cwd)
        case "sessions":
            from co_tui.headless.listing import sessions

            return sessions(ground, search=options.search, limit=options.limit, as_json=options.json)
        case "show":
            from co_tui.headless.listing import show

            return show(ground, options.id, history=options.history, as_json=options.json)
        case "context":
            from co_tui.headless.listing import context

            return context(ground, options.id, as_json=options.json)
        case "config":
            from co_tui.headless.config import config

            return config(ground, options.key, options.value)
        case "doctor":
            from co_tui.headless.doctor import doctor

            return doctor(ground, environ)
        case later:
            say(f"`co-tui {later}` is not built yet: it will {LATER[later]}.")
            return WRONG_USAGE


def _open_app(options: argparse.Namespace, ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("The app needs a terminal. `co-tui run -p …` answers a prompt without one.")
        return WRONG_USAGE
    session_id = ""
    if options.resume or options.resume_latest:
        row = _stored_session(options.resume, ground, cwd)
        session_id = row.id
        ground = _under_policy_of(row, options, ground, environ, cwd)
    from co_tui.ui.launch import Launch
    from co_tui.ui.start import start

    return start(
        Launch(
            paths=ground.paths,
            loaded=ground.loaded,
            environ=environ,
            cwd=cwd,
            session_id=session_id,
            browse=options.resume == "",
            model=getattr(options, "model", ""),
        )
    )


def _run_prompt(options: argparse.Namespace, ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
    prompt = options.prompt
    if prompt is None:
        if sys.stdin.isatty():
            say("Give the prompt with -p, or on standard input.")
            return WRONG_USAGE
        prompt = sys.stdin.buffer.read().decode(errors="replace")
    if not prompt.strip():
        say("The prompt is empty: give some text with -p or on standard input.")
        return WRONG_USAGE
    session_id = ""
    if options.session or options.resume_latest:
        row = _stored_session(options.session, ground, cwd)
        session_id = row.id
        ground = _under_policy_of(row, options, ground, environ, cwd)
    gc.disable()  # a tenth of the import time; nothing of it is garbage
    from co_tui.headless.run import RunOptions, run

    gc.enable()
    return run(RunOptions(prompt, session_id, getattr(options, "model", ""), options.json), ground, environ, cwd)


def _stored_session(name: str | None, ground: Ground, cwd: Path) -> "SessionRow":
    """The named session, else the latest. Raises `StoreError` when there is none."""
    from co_tui.store.reader import Reader

    reader = Reader(ground.paths.database)
    row = reader.session(name) if name else reader.latest(str(cwd))
    if row is None:
        raise SessionNotFound("There is no session to continue yet; without --continue a new one starts.")
    if row.cwd != str(cwd):
        say(f"Continuing {row.id}, which belongs to {row.cwd}.")
    return row


def _under_policy_of(
    row: "SessionRow", options: argparse.Namespace, ground: Ground, environ: Mapping[str, str], cwd: Path
) -> Ground:
    """The settings under a stored session's own policy, unless another was named or that one is gone."""
    if getattr(options, "policy", None) is not None or not row.policy:
        return ground
    given = {"model": getattr(options, "model", None), "policy": row.policy}
    loaded = load(paths=ground.paths, cwd=cwd, environ=environ, command_line=given)
    return ground if loaded.problems else Ground(ground.paths, loaded)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="co-tui", description="Talk with LLM agents; the context window in the open, nothing lost.")
    parser.add_argument("--version", action="version", version=f"co-tui {__version__}")
    _model_options(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--continue", dest="resume_latest", action="store_true", help="open the latest session")
    which.add_argument("--resume", nargs="?", const="", metavar="ID", help="open that session, or choose one")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    prompt = commands.add_parser("run", help="answer one prompt without the screen")
    prompt.add_argument("-p", "--prompt", help="the prompt; without it, standard input")
    session = prompt.add_mutually_exclusive_group()
    session.add_argument("--session", metavar="ID", help="go on with that session")
    session.add_argument("--continue", dest="resume_latest", action="store_true", help="go on with the latest session")
    _model_options(prompt)
    prompt.add_argument("--yes", action="store_true", help="approve what tools ask for")
    _json_option(prompt)

    listing = commands.add_parser("sessions", help="list sessions, newest first")
    listing.add_argument("--search", default="", metavar="TEXT", help="only those that hold these words")
    listing.add_argument("--limit", type=_positive, default=50, metavar="N")
    _json_option(listing)

    show = commands.add_parser("show", help="print a session")
    show.add_argument("id", metavar="ID")
    view = show.add_mutually_exclusive_group()
    view.add_argument("--transcript", action="store_true", help="everything ever said (the default)")
    view.add_argument("--history", action="store_true", help="what the model would see now")
    _json_option(show)

    context = commands.add_parser("context", help="tokens of a session by kind, and the limit")
    context.add_argument("id", metavar="ID")
    _json_option(context)

    config = commands.add_parser("config", help="show settings and where they come from, or set one")
    config.add_argument("key", nargs="?", metavar="KEY")
    config.add_argument("value", nargs="?", metavar="VALUE")

    commands.add_parser("doctor", help="check the installation")
    for name, purpose in LATER.items():
        commands.add_parser(name, help=f"{purpose} (not built yet)").add_argument("rest", nargs="*")
    return parser


def _model_options(parser: argparse.ArgumentParser) -> None:
    # A sub-command's default must not undo what was given before it.
    parser.add_argument("--model", default=argparse.SUPPRESS, metavar="M", help="who answers")
    parser.add_argument("--policy", default=argparse.SUPPRESS, metavar="P", help="what governs the context")


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
