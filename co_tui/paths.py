"""Where co-tui's files live, and how they are created: readable by their owner only."""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from co_tui.record import Record

APP = "co-tui"
HOME_VARIABLE = "CO_TUI_HOME"
PROJECT_FILE = ".co-tui.toml"
OWNER_ONLY_DIR = 0o700
OWNER_ONLY_FILE = 0o600


class Paths(Record):
    """The folders of one installation."""

    data: Path
    config: Path
    state: Path

    @property
    def database(self) -> Path:
        return self.data / "co-tui.db"

    @property
    def locks(self) -> Path:
        return self.state / "locks"

    @property
    def memory(self) -> Path:
        """What left a context by trimming, one file a day."""
        return self.data / "memory"

    @property
    def boards(self) -> Path:
        """What was learnt about repositories, one file for each branch."""
        return self.data / "boards"

    def session(self, session_id: str) -> Path:
        """A session's own folder: its checkpoints."""
        return self.data / "sessions" / session_id

    def commands(self, session_id: str) -> Path:
        """What the background commands of a session that runs write; nothing is left of it afterwards."""
        return self.state / "commands" / session_id

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def trust_file(self) -> Path:
        """What the user said about folders that want more than they may."""
        return self.state / "trust.json"

    @property
    def hints(self) -> Path:
        """What the app has explained already."""
        return self.state / "hints.json"

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
    def models(self) -> Path:
        """Weights fetched by co-tui itself."""
        return self.data / "models"


def locate(environ: Mapping[str, str]) -> Paths:
    """`CO_TUI_HOME` moves everything under one folder; without it the platform's conventions decide."""
    home = environ.get(HOME_VARIABLE)
    if home:
        root = Path(home)
        with contextlib.suppress(RuntimeError):  # `~name` of somebody who is not here is a folder's name
            root = root.expanduser()
        root = root.absolute()
        return Paths(data=root / "data", config=root / "config", state=root / "state")
    import platformdirs

    return Paths(
        data=platformdirs.user_data_path(APP),
        config=platformdirs.user_config_path(APP),
        state=platformdirs.user_state_path(APP),
    )


def present_folder() -> Path:
    """Where the command was given. Raises OSError that says why there is none."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "it was deleted while you are in it", "The present folder") from None


def ensure_dir(folder: Path) -> Path:
    """Create `folder` and its missing parents, owner-only."""
    missing = [folder, *folder.parents]
    for part in reversed([part for part in missing if not part.exists()]):
        part.mkdir(mode=OWNER_ONLY_DIR, exist_ok=True)
    return folder


def ensure_file(file: Path) -> Path:
    """Create `file` empty and owner-only when it is missing; an existing one is not even opened.

    Closing any handle on a file drops all locks this process has on it, SQLite's included: another process
    would then think itself alone and remove the write-ahead log under us.
    """
    ensure_dir(file.parent)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY_FILE))
    return file


def write_atomically(file: Path, text: str) -> None:
    """Replace `file` in one step, owner-only: a reader sees the old text or the new, never half of it."""
    ensure_dir(file.parent)
    # mkstemp creates its file owner-only.
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, file)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        error.filename = str(file)  # a full disk names no file by itself
        raise
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_small_text(file: Path, limit_bytes: int, *, errors: str = "strict", inside: Path | None = None) -> str:
    """The text of a file that `read_small_bytes` reads. Raises what it does, or UnicodeDecodeError."""
    return read_small_bytes(file, limit_bytes, inside=inside).decode("utf-8", errors)


def read_small_bytes(file: Path | str, limit_bytes: int, *, inside: Path | None = None) -> bytes:
    """The content of an ordinary file of at most so many bytes.

    Files that came with a folder may be pipes, devices or endless: nothing is waited for, nothing but an ordinary
    file is even opened. With `inside`, a folder's real path, a link that leads out of it is not read. Raises OSError,
    whose `strerror` says why not.
    """
    _require_ordinary(os.stat(file), file)
    # Between the look and the opening it may have been exchanged, so the open file is looked at again.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(handle)
        _require_ordinary(status, file)
        if inside is not None and not _contains(inside, _opened_path(handle, file)):
            raise OSError(errno.EXDEV, "it is a link that leads out of the project", str(file))
        content = b""
        while piece := os.read(handle, min(max(status.st_size, _SMALL) + 1, limit_bytes + 1 - len(content))):
            content += piece
            if len(content) > limit_bytes:
                raise OSError(errno.EFBIG, f"it is larger than {limit_bytes:,} bytes", str(file))
    finally:
        os.close(handle)
    return content


def is_inside(path: Path | str, folder: Path) -> bool:
    """Whether what `path` leads to is in `folder`, which is given by its real path."""
    try:
        return _contains(folder, os.path.realpath(path))
    except (OSError, ValueError):
        return False


def _contains(folder: Path, real: str) -> bool:
    return real == str(folder) or real.startswith(f"{str(folder).rstrip(os.sep)}{os.sep}")


def _opened_path(handle: int, file: Path | str) -> str:
    """Of the open file, not of what has that name by now; where the system does not say, of the name."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return os.path.realpath(file)


_SMALL = 4096
"""At least so much is read at once: some files of the system have no size."""


def _require_ordinary(status: os.stat_result, file: Path | str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        raise OSError(errno.EINVAL, f"it is {kind}, not an ordinary file", str(file))


def find_upwards(name: str, start: Path) -> Path | None:
    """The nearest thing called `name`, whatever it is, in `start` or a folder above it."""
    for folder in (start, *start.parents):
        candidate = folder / name
        if os.path.lexists(candidate):
            return candidate
    return None


def path_text(path: Path) -> str:
    """The path in characters that can be stored and shown; bytes that are no text are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def home_text(path: str) -> str:
    """A folder as people write it: what lies in their home begins with `~`."""
    home = path_text(Path.home())
    if path == home:
        return "~"
    return f"~{path[len(home) :]}" if path.startswith(f"{home.rstrip(os.sep)}{os.sep}") else path
