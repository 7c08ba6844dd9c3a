"""`co-tui doctor`: what is installed, which model would answer and why, where files are, and whether they are sound."""

import asyncio
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from co_tui import __version__
from co_tui.agent.keys.kept_keys import KeptKeys, key_sources
from co_tui.agent.local import embedded
from co_tui.agent.local.embedded_fetch import fetch
from co_tui.agent.models import usual_servers
from co_tui.agent.models.catalogue import EMBEDDED, choose
from co_tui.agent.permissions.sandbox import sandbox_failure, sandbox_problem, sandbox_text
from co_tui.agent.redact import redact
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events.wording import counted, percent
from co_tui.headless.output import DONE, FAILED, CommandContext, has_terminal, os_error_sentence, put, say, table
from co_tui.headless.sessions.stored_rows import unpushed_text
from co_tui.inert import one_line
from co_tui.kept_file import KeptFile, parse_json
from co_tui.paths import Paths, path_text
from co_tui.session.history.learned_limits import LIMITS_FILE, Limits
from co_tui.session.snapshots.storage import MOST_BYTES, stored_snapshots
from co_tui.settings import Loaded, Settings
from co_tui.settings.rules import SANDBOX
from co_tui.store.store_errors import StoreError

SERVERS_S = 15.0
"""How long MCP servers are waited for."""
ENOUGH_BYTES = 65_536
"""A disk with less room than that takes no session."""
LIMIT_CHARS = 400
_PACKAGES = ("textual", "rich", "pydantic-ai-slim", "pydantic-ai-harness", "sqlite-utils", "platformdirs", "xllamacpp")


def doctor(context: CommandContext, environ: Mapping[str, str], cwd: Path, *, full: bool = False) -> int:
    """Prints a report; fails when something keeps co-tui from working. `full` reads all of a large database."""
    troubles = list(context.loaded.problems)
    settings = context.loaded.settings
    keys = KeptKeys(context.paths)
    kept = keys.providers(environ, settings.base_url)
    choice = choose(settings.model, context.loaded.origins["model"].source, environ, settings.base_url, kept)
    has_embedded = embedded.is_installed(context.paths.models)
    rows = [
        ("co-tui", f"{__version__} on Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"),
        *((package, _installed(package)) for package in _PACKAGES),
        ("model", f"{choice.model} ({choice.reason})"),
        ("embedded model", "installed" if has_embedded else f"not installed ({embedded.DOWNLOAD_MB} MB)"),
        ("keys", _keys(keys, environ)),
        ("model servers here", asyncio.run(_local_servers())),
        ("policy", f"{settings.policy} ({context.loaded.origins['policy'].source})"),
        ("commands", f"{sandbox_text(settings.command_sandbox)} ({context.loaded.origins['command_sandbox'].source})"),
        *_programs_of_the_project(settings, cwd),
        *_project(context.loaded),
        *asyncio.run(_servers(context.loaded, environ, cwd)),
        ("data", str(context.paths.data)),
        ("config", str(context.paths.config_file)),
        ("state", str(context.paths.state)),
        *_learned_limits(context.paths),
        ("snapshots", _snapshots(context.paths)),
        ("database", _database(context, troubles, full=full)),
        *_server(context, troubles),
    ]
    put(table(("WHAT", "FOUND"), rows))
    for warning in context.loaded.warnings:
        say(warning)
    if choice.model == EMBEDDED and not has_embedded:
        troubles += _offer_to_fetch(context, environ)
    else:
        troubles += asyncio.run(_unusable(choice.model, context, environ))
    troubles += _not_writable(context.paths)
    troubles += _open_keys(keys)
    troubles += _unreadable(context.paths)
    troubles += filter(None, (asyncio.run(sandbox_problem(settings.command_sandbox)),))
    for trouble in troubles:
        say(trouble)
    return FAILED if troubles else DONE


async def _unusable(model: str, context: CommandContext, environ: Mapping[str, str]) -> list[str]:
    """Why the model that would answer cannot. A provider is sent nothing; a server of the user's own is asked."""
    from co_tui.agent.models.open_model import check_model, config_for

    try:
        await check_model(model, config_for(context.loaded.settings, environ, context.paths))
    except ModelUnusable as error:
        return [str(error)]
    return []


def _programs_of_the_project(settings: Settings, cwd: Path) -> list[tuple[str, str]]:
    """Whether what is started unasked and runs files of the folder is sandboxed."""
    if not (settings.hooks or settings.after_edit or settings.mcp_servers):
        return []
    failure = asyncio.run(sandbox_failure(SANDBOX, cwd))
    how = f"not sandboxed: {failure}" if failure else "sandboxed"
    return [("hooks, checks, servers", f"those that run files of this folder are {how}")]


async def _servers(loaded: Loaded, environ: Mapping[str, str], cwd: Path) -> list[tuple[str, str]]:
    """How the MCP servers are, each started to see."""
    from co_tui.agent.mcp.servers import McpServers, server_states

    servers = McpServers()
    try:
        if "mcp" in loaded.settings.tools:
            servers.use(loaded.settings.mcp_servers, cwd, environ)
        await servers.settle(SERVERS_S)
        return [(f"MCP server {name}", state) for name, state in server_states(loaded, servers.reports)]
    finally:
        await servers.close()


def _project(loaded: Loaded) -> list[tuple[str, str]]:
    wish = loaded.withheld
    if wish is None:
        return []
    keys = dict.fromkeys((*(key for table in wish.by_file.values() for key in table), *wish.lists))
    return [("project", f"{wish.file if wish.settings else wish.folder} is not trusted to set {', '.join(keys)}")]


def _learned_limits(paths: Paths) -> list[tuple[str, str]]:
    """What refusals have shown of the models' windows, each with the reply it comes from."""
    rows = []
    for name, learned in Limits(paths.state / LIMITS_FILE).all().items():
        found = []
        if learned.limit_tokens:
            found.append(f"{learned.limit_tokens:,} tokens, from the provider's reply: {learned.reply}")
        if learned.refused_tokens:
            answered = f", {learned.longest_tokens:,} accepted" if learned.longest_tokens else ""
            found.append(f"{learned.refused_tokens:,} tokens refused{answered}")
        if found:
            rows.append(("learned limit", one_line(redact(f"{name}: {'; '.join(found)}"), LIMIT_CHARS)))
    hint = "`co-tui config context_window 0` forgets learned limits; another number sets the window"
    return [*rows, ("", hint)] if rows else []


def _snapshots(paths: Paths) -> str:
    stored = stored_snapshots(paths)
    size = f"{sum(each.size_bytes for each in stored) / 1e6:.1f} MB"
    return f"{paths.all_snapshots}: {size}, {counted(len(stored), 'session')}, at most {MOST_BYTES // 1_000_000_000} GB"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _keys(keys: KeptKeys, environ: Mapping[str, str]) -> str:
    """Which providers have a key, and where each comes from; never the key itself."""
    found = [f"{provider} ({source})" for provider, source in key_sources(keys, environ)]
    return ", ".join(found) or "none (`co-tui login PROVIDER` saves one)"


async def _local_servers() -> str:
    """The usual model servers that listen on this machine; nothing is sent to them."""
    found = await usual_servers.listening(usual_servers.USUAL_SERVERS)
    return ", ".join(f"{server.program} (port {server.port})" for server in found) or "none"


def _open_keys(keys: KeptKeys) -> list[str]:
    if not keys.is_open_to_others:
        return []
    return [f"{path_text(keys.file)} may hold keys and is readable by others. Run `chmod 600` on it."]


def _unreadable(paths: Paths) -> list[str]:
    """Small files that count as empty, and that nothing is added to, because they cannot be read."""
    troubles = []
    for file in sorted(paths.state.glob("*.json")):
        try:
            KeptFile(file, parse=parse_json, written=str).read()
        except OSError as error:
            why = error.strerror or type(error).__name__
            troubles.append(
                f"Cannot read {path_text(file)}: {why}. Fix it or move it away; it is not changed until then."
            )
    return troubles


def _database(context: CommandContext, troubles: list[str], *, full: bool) -> str:
    place = context.store.location
    try:
        with context.store.reading() as reading:
            health = reading.health(full=full)
    except StoreError as error:
        troubles.append(str(error))
        return f"{place}: unusable"
    if not health.exists:
        return f"{place}: not created yet"
    if health.verdict != "ok":
        troubles.append(f"Database {place} is damaged: {health.verdict}")
    if health.open_to_others:
        troubles.append(f"Database {place} is readable by others. Run `chmod 600` on it.")
    size = f"{health.size_bytes / 1e6:.1f} MB"
    checked = " (checked in part; `co-tui doctor --full` reads all of it)" if health.is_partial else ""
    return f"{place}: {health.verdict}, {size}, {health.sessions:,} sessions, {health.events:,} events{checked}"


def _server(context: CommandContext, troubles: list[str]) -> list[tuple[str, str]]:
    """Where sessions and their files are carried to, and what is only here as yet."""
    sync = context.store.sync
    if not sync.server:
        return []
    if trouble := sync.refresh():
        troubles.append(trouble)
    state = unpushed_text(context) or "all pushed"
    what = "sessions with their checkpoints, memory, boards, approvals, learned limits and drafts"
    return [("server", f"{sync.server}: {state}"), ("", f"{what}; snapshots only on this machine")]


def _not_writable(paths: Paths) -> list[str]:
    """Folders that nothing can be kept in, each tried: rights alone do not tell of a read-only or full disk."""
    troubles: dict[Path, str] = {}
    for folder in (paths.data, paths.config, paths.state):
        place = next(each for each in (folder, *folder.parents) if each.exists())
        try:
            with tempfile.TemporaryFile(dir=place) as file:
                file.write(bytes(ENOUGH_BYTES))
        except OSError as error:
            error.filename = str(place)
            problem = f"{os_error_sentence(error)} Sessions cannot be saved there. Set CO_TUI_HOME to another folder."
            troubles.setdefault(place, problem)
    return list(troubles.values())


def _show_share(share: float) -> None:
    print(f"\r{percent(share):>5} of {embedded.DOWNLOAD_MB} MB ", end="", file=sys.stderr, flush=True)


def _offer_to_fetch(context: CommandContext, environ: Mapping[str, str]) -> list[str]:
    """Ask before downloading; without anyone to ask, say what would do it."""
    question = f"Download the embedded model now ({embedded.DOWNLOAD_MB} MB)? [y/N] "
    if not has_terminal():
        return ["No model available. Set a provider's key, or run `co-tui doctor` in a terminal."]
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return ["No model available. Set a provider's key, or let doctor download the embedded model."]
    try:
        asyncio.run(fetch(context.paths.models, environ, _show_share))
    except ModelUnusable as error:
        return [str(error)]
    finally:
        print(file=sys.stderr)
    say("The embedded model is installed.")
    return []
