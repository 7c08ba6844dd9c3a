"""The command line. Reads the environment here and nowhere below; imports each command's code when it runs."""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from co_tui.headless.output import DONE, FAILED, INTERRUPTED, WRONG_USAGE, Ground, say, silence_stdout
from co_tui.paths import locate
from co_tui.settings import load
from co_tui.store.errors import SessionNotFound, StoreError

if TYPE_CHECKING:
    from argparse import Namespace

    from co_tui.store.reader import SessionRow

    Options = Namespace | SimpleNamespace


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
    except OSError as error:
        say(f"{error.filename or 'The output'}: {error.strerror or error}.")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _options(arguments: Sequence[str]) -> "Options":
    """What was asked for. Opening the app, the usual case, does without the parser: it takes as long as all of this."""
    if not arguments or list(arguments) == ["--continue"]:
        return SimpleNamespace(command=None, resume=None, resume_latest=bool(arguments))
    from co_tui.arguments import parse

    return parse(arguments)


def _run(arguments: Sequence[str]) -> int:
    options = _options(arguments)
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
        case "compact":
            return _run_compact(options, ground, environ, cwd)
        case "lab":
            return _run_lab(options, ground, environ, cwd)
        case "config":
            from co_tui.headless.config import config

            return config(ground, options.key, options.value)
        case "doctor":
            from co_tui.headless.doctor import doctor

            return doctor(ground, environ)
        case later:
            from co_tui.arguments import LATER

            say(f"`co-tui {later}` is not built yet: it will {LATER[later]}.")
            return WRONG_USAGE


def _open_app(options: "Options", ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
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


def _run_prompt(options: "Options", ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
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
    from co_tui.headless.run import RunOptions, run

    gc.enable()
    return run(RunOptions(prompt, session_id, getattr(options, "model", ""), options.json), ground, environ, cwd)


def _run_compact(options: "Options", ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
    row = _stored_session(options.id, ground, cwd)
    ground = _under_policy_of(row, options, ground, environ, cwd)
    from co_tui.headless.compact import compact

    gc.enable()
    model = getattr(options, "model", "")
    return compact(ground, environ, cwd, row.id, model=model, focus=options.focus, as_json=options.json)


def _run_lab(options: "Options", ground: Ground, environ: Mapping[str, str], cwd: Path) -> int:
    if (options.input is None) == (options.id is None):
        say("Give the recordings with --input FILE.jsonl, or the ID of a stored session.")
        return WRONG_USAGE
    policies = []
    for name in options.policies or ["balanced"]:
        loaded = load(paths=ground.paths, cwd=cwd, environ=environ, command_line={"policy": name})
        if loaded.problems:
            for problem in loaded.problems:
                say(problem)
            return WRONG_USAGE
        policies.append((name, loaded))
    from co_tui.headless.lab import lab, ratio_of, recorded, window_of

    window = window_of(options.window or ground.loaded.settings.context_window, options.as_model)
    ratio = ratio_of(options.as_model, ground)
    conversations = recorded(options.input, options.id, ground)
    dump = Path(options.dump) if options.dump else None
    if not options.summariser:
        return lab(conversations, policies, window, ratio=ratio, dump=dump, as_json=options.json)
    from co_tui.agent.errors import ModelUnusable
    from co_tui.headless.lab_model import ModelSummariser

    try:
        model = ModelSummariser(options.summariser, ground, environ, window.tokens, ratio)
    except ModelUnusable as error:
        say(str(error))
        return FAILED
    try:
        return lab(conversations, policies, window, ratio=ratio, summarise=model, dump=dump, as_json=options.json)
    finally:
        say(model.told())
        model.close()


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
    row: "SessionRow", options: "Options", ground: Ground, environ: Mapping[str, str], cwd: Path
) -> Ground:
    """The settings under a stored session's own policy, unless another was named or that one is gone."""
    if getattr(options, "policy", None) is not None or not row.policy:
        return ground
    given = {"model": getattr(options, "model", None), "policy": row.policy}
    loaded = load(paths=ground.paths, cwd=cwd, environ=environ, command_line=given)
    return ground if loaded.problems else Ground(ground.paths, loaded)
