"""co-tui's folders and files, and how to create them readable by their owner only."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from co_tui.record import Record

APP = "co-tui"
HOME_VARIABLE = "CO_TUI_HOME"
PROJECT_FILE = ".co-tui.toml"
DEBUG_VARIABLE = "CO_TUI_DEBUG"
"""Not a setting: makes internal errors show a traceback."""
OWNER_ONLY_DIR = 0o700
OWNER_ONLY_FILE = 0o600
NAME_CHARS = 100
"""Of a file's name that the name of its unfinished successor begins with."""


class Paths(Record):
    """The folders of one installation."""

    data: Path
    config: Path
    state: Path
    claude: Path | None = None
    """The user's folder of Claude Code, whether or not it exists."""
    codex: Path | None = None
    """The same of Codex."""

    @property
    def database(self) -> Path:
        return self.data / "co-tui.db"

    @property
    def locks(self) -> Path:
        return self.state / "locks"

    @property
    def memory(self) -> Path:
        """Daily memory: what left a context by trimming, one file a day."""
        return self.data / "memory"

    @property
    def boards(self) -> Path:
        """Context boards, one file for each branch of a repository."""
        return self.data / "boards"

    def session(self, session_id: str) -> Path:
        """A session's folder, which holds its checkpoints."""
        return self.data / "sessions" / session_id

    @property
    def all_snapshots(self) -> Path:
        """Snapshots of folders, by session."""
        return self.state / "snapshots"

    def snapshots(self, session_id: str) -> Path:
        """A session's snapshots of the folders it worked in."""
        return self.all_snapshots / session_id

    def commands(self, session_id: str) -> Path:
        """Output of a session's background commands; removed when the session ends."""
        return self.state / "commands" / session_id

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def trust_file(self) -> Path:
        """The user's answers about trusting folders."""
        return self.state / "trust.json"

    @property
    def hints(self) -> Path:
        """Hints the app has already shown."""
        return self.state / "hints.json"

    @property
    def keys_file(self) -> Path:
        """Which keys are kept where; also the keys themselves on a machine without a keyring. Not in `config`, which
        many users publish."""
        return self.state / "keys.json"

    @property
    def machine_key(self) -> Path:
        """Marks what this machine decided. In no backup, and sent nowhere."""
        return self.data / "machine.key"

    @property
    def policies(self) -> Path:
        """Policies the user wrote."""
        return self.config / "policies"

    @property
    def skills(self) -> Path:
        """Skills the user wrote or fetched, for every folder."""
        return self.config / "skills"

    @property
    def agents(self) -> Path:
        """Agents the user defined, for every folder."""
        return self.config / "agents"

    @property
    def slash_commands(self) -> Path:
        """Slash commands the user wrote, for every folder."""
        return self.config / "commands"

    @property
    def models(self) -> Path:
        """Weights fetched by co-tui itself."""
        return self.data / "models"


def locate(environ: Mapping[str, str]) -> Paths:
    """`CO_TUI_HOME` moves everything under one folder; without it the platform's conventions decide.

    Raises OSError without a home folder: what may be read and written depends on it, wherever our own files are.
    """
    _require_home()
    home = environ.get(HOME_VARIABLE)
    claude, codex = _folder_in(environ, "CLAUDE_CONFIG_DIR", ".claude"), _folder_in(environ, "CODEX_HOME", ".codex")
    if home:
        root = Path(home)
        with contextlib.suppress(RuntimeError):  # `~name` of an unknown user is an ordinary folder name
            root = root.expanduser()
        root = root.absolute()
        return Paths(data=root / "data", config=root / "config", state=root / "state", claude=claude, codex=codex)
    import platformdirs

    return Paths(
        data=platformdirs.user_data_path(APP),
        config=platformdirs.user_config_path(APP),
        state=platformdirs.user_state_path(APP),
        claude=claude,
        codex=codex,
    )


def _folder_in(environ: Mapping[str, str], variable: str, name: str) -> Path | None:
    """The folder that a variable names, else the one of that name in the home folder; None without a home."""
    home = environ.get("HOME")
    return Path(environ[variable]) if environ.get(variable) else Path(home) / name if home else None


def _require_home() -> None:
    try:
        why = "" if Path.home().is_absolute() else "its path is not absolute"
    except RuntimeError:
        why = "there is none"
    if why:
        raise FileNotFoundError(errno.ENOENT, f"{why}. Set HOME to a folder of yours", "The home folder")


def current_folder() -> Path:
    """The working directory. Raises OSError that says why there is none."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "it was deleted", "The current folder") from None


def ensure_dir(folder: Path) -> Path:
    """Create `folder` and its missing parents, owner-only."""
    missing = [folder, *folder.parents]
    for part in reversed([part for part in missing if not part.exists()]):
        part.mkdir(mode=OWNER_ONLY_DIR, exist_ok=True)
    return folder


def ensure_file(file: Path) -> Path:
    """Create `file` empty and owner-only if it is missing; never open an existing one.

    Closing any handle on a file drops all locks this process has on it, SQLite's included: another process
    would then think itself alone and remove the write-ahead log under us.
    """
    ensure_dir(file.parent)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY_FILE))
    return file


def wrong_target(file: Path) -> str:
    """Why a file that the user named cannot be written, in a sentence; empty if it can be tried."""
    if file.is_dir():
        return f"{path_text(file)} is a folder. Name a file."
    if file.exists() and not file.is_file():
        return f"{path_text(file)} is a pipe or a device. Name a file."
    folder = link_target(file).parent
    return "" if folder.is_dir() else f"Folder {path_text(folder)} does not exist. Create it first."


def link_target(file: Path) -> Path:
    """The file that a link of the user's leads to, which is replaced so that the link stays; else the file itself."""
    return Path(os.path.realpath(file)) if file.is_symlink() else file


def write_atomically(file: Path, text: str) -> None:
    """Replace `file` in one step, owner-only: a reader sees the old text or the new, never half of it."""
    with replaced_atomically(file) as stream:
        stream.write(text.encode())


@contextlib.contextmanager
def replaced_atomically(file: Path) -> Iterator[IO[bytes]]:
    """A stream for the new content of `file`, which replaces it in one step, owner-only; after a failure nothing is
    left of it. A link is replaced, not followed: it may be a stranger's."""
    ensure_dir(file.parent)
    import tempfile  # slow to import

    # It creates its file owner-only.
    stream = tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name[:NAME_CHARS]}.", delete=False)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(stream.name, file)
    except BaseException as error:
        Path(stream.name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(file)  # a full disk names no file by itself
        raise


def read_small_text(file: Path, limit_bytes: int, *, errors: str = "strict", inside: Path | None = None) -> str:
    """The text of a file that `read_small_bytes` reads. Raises what it does, or UnicodeDecodeError."""
    return read_small_bytes(file, limit_bytes, inside=inside).decode("utf-8", errors)


def read_small_bytes(file: Path | str, limit_bytes: int, *, inside: Path | None = None) -> bytes:
    """The content of a regular file of at most `limit_bytes`.

    Files in a cloned folder may be pipes, devices or endless, so only a regular file is opened and nothing blocks.
    With `inside`, a folder's real path, links that lead out of it are refused. Raises OSError, whose `strerror` says
    why.
    """
    _require_ordinary(os.stat(file), file)
    # It may have been replaced before it was opened, so the open file is checked again.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(handle)
        _require_ordinary(status, file)
        if inside is not None and not _contains(inside, _opened_path(handle, file)):
            raise OSError(errno.EXDEV, "it is a link out of the project", str(file))
        if status.st_size > limit_bytes:
            raise OSError(errno.EFBIG, f"it is over {limit_bytes:,} bytes", str(file))
        content = b""
        while piece := os.read(handle, min(max(status.st_size, _SMALL) + 1, limit_bytes + 1 - len(content))):
            content += piece
            if len(content) > limit_bytes:
                raise OSError(errno.EFBIG, f"it is over {limit_bytes:,} bytes", str(file))
    finally:
        os.close(handle)
    return content


def is_inside(path: Path | str, folder: Path) -> bool:
    """Whether `path`, links resolved, is in `folder`, which is a real path."""
    try:
        return _contains(folder, os.path.realpath(path))
    except (OSError, ValueError):
        return False


def _contains(folder: Path, real: str) -> bool:
    return real == str(folder) or real.startswith(f"{str(folder).rstrip(os.sep)}{os.sep}")


def _opened_path(handle: int, file: Path | str) -> str:
    """The real path of the open file; where the system does not report it, of the name."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return os.path.realpath(file)


_SMALL = 4096
"""Smallest read size: some system files report no size."""


def _require_ordinary(status: os.stat_result, file: Path | str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(file))


def find_upwards(name: str, start: Path) -> Path | None:
    """The nearest file, folder or link called `name` in `start` or a folder above it."""
    folder, above = "", os.fspath(start)
    while folder != above:
        folder, above = above, os.path.dirname(above)
        if os.path.lexists(candidate := os.path.join(folder, name)):
            return Path(candidate)
    return None


def find_own_upwards(name: str, start: Path) -> Path | None:
    """The same, but above `start` only what belongs to this user or to the owner of `start`: anyone may put something
    into a folder that many share."""
    owners = {os.geteuid()}
    with contextlib.suppress(OSError):
        owners.add(os.stat(start).st_uid)
    found = find_upwards(name, start)
    while found is not None and found.parent != start:
        with contextlib.suppress(OSError):
            if os.lstat(found).st_uid in owners:
                break
        above = found.parent.parent
        found = find_upwards(name, above) if above != found.parent else None
    return found


def path_text(path: Path) -> str:
    """The path as text that can be stored and shown; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def recorded_path(text: str) -> Path:
    """The path that `path_text` gave this text; escaped bytes are bytes unless the text itself names something."""
    path = Path(text)
    if "\\x" not in text or path.exists():
        return path
    import re  # most starts need it nowhere

    meant = Path(re.sub(r"\\x([89a-f][0-9a-f])", lambda found: chr(0xDC00 + int(found[1], 16)), text))
    return meant if meant.exists() else path


def home_text(path: str) -> str:
    """A folder as people write it, with `~` for the home folder."""
    home = path_text(Path.home())
    if path == home:
        return "~"
    return f"~{path[len(home) :]}" if path.startswith(f"{home.rstrip(os.sep)}{os.sep}") else path
