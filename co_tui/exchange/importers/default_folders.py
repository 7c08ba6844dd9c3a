"""Where other programs keep the sessions of their user."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from co_tui.exchange.importers.claude_agents import is_part_of_session

MAX_FILES: Final = 200_000
AIDER_HISTORY: Final = ".aider.chat.history.md"
_ENDINGS: Final = (".jsonl", ".json", ".db", AIDER_HISTORY)


def files_of(program: str, environ: Mapping[str, str], home: Path) -> list[Path]:
    """What can be imported of a program, oldest names first; nothing when it was never used here."""
    try:
        found = sorted(set(islice(FINDERS[program](environ, home), MAX_FILES)))
    except OSError:  # a folder that cannot be read
        return []
    linked: dict[Path, bool] = {}
    return [file for file in found if not _is_linked(file, home, linked)]


def files_of_all(environ: Mapping[str, str], home: Path) -> dict[str, list[Path]]:
    """The files of each program that was used on this machine; only names are looked at."""
    found = {program: files_of(program, environ, home) for program in FINDERS}
    return {program: files for program, files in found.items() if files}


def _is_linked(path: Path, home: Path, known: dict[Path, bool]) -> bool:
    """Whether a link leads there; a program's folder itself, such as `~/.claude`, may be one."""
    if path.parent == home:
        return False
    if path not in known:
        is_below = path.is_relative_to(home)  # a folder elsewhere was named by the user
        known[path] = path.is_symlink() or (is_below and _is_linked(path.parent, home, known))
    return known[path]


def files_in(folder: Path) -> list[Path]:
    """All that may be a session in a folder and below it; links are not followed."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        if {"session", "message"} <= set(folders):  # a storage of opencode: a session's file finds its pieces
            folders[:] = ["session"]
        elif {"info", "message"} <= set(folders):  # the same of a version that kept one a project
            folders[:] = ["info"]
        files = (Path(parent, name) for name in names if name.endswith(_ENDINGS))
        found += [file for file in files if file.is_file() and not file.is_symlink() and not is_part_of_session(file)]
        if len(found) >= MAX_FILES:
            break
    return sorted(found)[:MAX_FILES]


def _folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    return Path(environ[variable]).expanduser() if environ.get(variable) else default


def claude_code_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Where Claude Code keeps what belongs to its user."""
    return _folder(environ, "CLAUDE_CONFIG_DIR", home / ".claude")


def _claude_code(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    folder = claude_code_folder(environ, home) / "projects"
    yield from (file for file in folder.glob("*/*.jsonl") if not is_part_of_session(file))
    yield from (file for file in folder.glob("*/*/subagents/agent-*.jsonl") if not is_part_of_session(file))


def _codex(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    folder = _folder(environ, "CODEX_HOME", home / ".codex")
    yield from (folder / "sessions").rglob("rollout-*.jsonl")
    yield from (folder / "sessions").glob("rollout-*.json")  # of the first version
    yield from (folder / "archived_sessions").glob("rollout-*.jsonl")


def _gemini_cli(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    chats = _folder(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp"
    yield from chats.glob("*/chats/session-*.json")
    yield from chats.glob("*/chats/session-*.jsonl")
    yield from chats.glob("*/checkpoint*.json")  # saved chats


def _opencode(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    folder = _folder(environ, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    yield from folder.glob("opencode.db")
    yield from (folder / "storage" / "session").rglob("*.json")
    yield from folder.glob("project/*/storage/session/info/*.json")  # before 0.6


def _llm(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    usual = home / ("Library/Application Support" if sys.platform == "darwin" else ".config") / "io.datasette.llm"
    return _folder(environ, "LLM_USER_PATH", usual).glob("logs.db")


def _pi(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    return (_folder(environ, "PI_CODING_AGENT_DIR", home / ".pi" / "agent") / "sessions").rglob("*.jsonl")


def _settings_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Where programs with windows keep what belongs to their user."""
    if sys.platform == "win32":
        return _folder(environ, "APPDATA", home / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return _folder(environ, "XDG_CONFIG_HOME", home / ".config")


def _copilot_cli(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    folder = _folder(environ, "COPILOT_HOME", home / ".copilot")
    yield from (folder / "session-state").glob("*/events.jsonl")
    yield from (folder / "session-state").glob("*.jsonl")
    yield from (folder / "history-session-state").glob("*.json")


def _cline(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Of Cline, Roo Code and Kilo Code, in all editors; a session's folder also has the messages of its agents."""
    data = _folder(environ, "CLINE_DIR", home / ".cline") / "data"
    sessions = (data / "sessions").glob("*/*.messages.json")
    yield from (file for file in sessions if file.name == f"{file.parent.name}.messages.json")
    yield from (data / "tasks").glob("*/api_conversation_history.json")
    for editor in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"):
        kept = _settings_folder(environ, home) / editor / "User" / "globalStorage"
        for extension in ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code"):
            yield from (kept / extension / "tasks").glob("*/api_conversation_history.json")


def _kimi(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    yield from _folder(environ, "KIMI_CODE_HOME", home / ".kimi-code").glob("sessions/*/*/agents/main/wire.jsonl")
    yield from (home / ".kimi" / "sessions").glob("*/*/context.jsonl")


def _goose(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """The database has all that older versions kept in files."""
    folder = _folder(environ, "XDG_DATA_HOME", home / ".local" / "share") / "goose"
    if sys.platform == "win32":
        folder = _settings_folder(environ, home) / "Block" / "goose" / "data"
    if environ.get("GOOSE_PATH_ROOT"):
        folder = _folder(environ, "GOOSE_PATH_ROOT", home) / "data"
    databases = list((folder / "sessions").glob("sessions.db"))
    yield from databases or (folder / "sessions").glob("*.jsonl")


def _aider(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    """It keeps its history in each project: those in the home folder, and in the folders in it."""
    if environ.get("AIDER_CHAT_HISTORY_FILE"):
        yield from (file for file in [_folder(environ, "AIDER_CHAT_HISTORY_FILE", home)] if file.is_file())
    for projects in ("", "[!.]*/", "[!.]*/[!.]*/"):
        yield from home.glob(f"{projects}{AIDER_HISTORY}")


def _qwen_code(environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    folder = _folder(environ, "QWEN_HOME", home / ".qwen")
    yield from folder.glob("projects/*/chats/*.jsonl")
    yield from folder.glob("tmp/*/chats/*.jsonl")


FINDERS: Final[Mapping[str, Callable[[Mapping[str, str], Path], Iterable[Path]]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
    "llm": _llm,
    "pi": _pi,
    "copilot-cli": _copilot_cli,
    "cline": _cline,
    "kimi": _kimi,
    "goose": _goose,
    "aider": _aider,
    "qwen-code": _qwen_code,
}
LABELS: Final[Mapping[str, str]] = {
    "claude-code": "Claude Code",
    "codex": "Codex CLI",
    "gemini-cli": "Gemini CLI",
    "copilot-cli": "Copilot CLI",
    "cline": "Cline",
    "goose": "Goose",
    "kimi": "Kimi",
    "qwen-code": "Qwen Code",
}
"""Names for people where they are not the program's own."""
