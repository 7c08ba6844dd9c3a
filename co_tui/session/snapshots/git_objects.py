"""Keeps snapshots in a git repository of our own, in the state folder. The project's repository is never used.

Files are read and written by us; git only keeps contents. So no attribute, filter or setting of a project applies.
"""

import stat
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from co_tui.agent.permissions.git_guard import start_own_git
from co_tui.paths import ensure_dir, write_atomically
from co_tui.session.snapshots.entries import FileEntry
from co_tui.session.snapshots.objects import ChangedFile, Details, SnapshotsUnusable

LONGEST_S: Final = 120.0
ATTRIBUTES: Final = "* -text -ident -filter -working-tree-encoding\n"
"""Bytes stay as they are, whatever else is done with this repository."""
CONFIGURATION: Final = """[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	ignorecase = false
	precomposeunicode = false
	protectHFS = false
	protectNTFS = false
	sharedRepository = 0600
[gc]
	auto = 0
"""
_FILES, _DETAILS = "files/", "details"
_REF: Final = b"refs/heads/snapshots"
_ESCAPE: Final = "="


class GitObjects:
    """One commit a snapshot: a tree `files`, and a file `details`."""

    def __init__(self, git_folder: Path, folder: Path, path: str) -> None:
        """`folder` is the working folder, `path` is where programs are."""
        self._git_folder = git_folder
        self._folder = folder
        self._path = path

    def write(self, base: str, changed: Iterable[ChangedFile], details: Details) -> str:
        self._create()
        with self._git("fast-import", "--quiet", "--force", "--done") as (given, printed):
            given.write(b"commit %s\nmark :1\ncommitter co-tui <co-tui> 0 +0000\ndata 0\n" % _REF)
            if base:
                given.write(b"from %s\n" % base.encode())
            for path, entry, content in changed:
                name = _quoted(_FILES + _escaped(path))
                if entry is None:
                    given.write(b"D %s\n" % name)
                else:
                    _modify(given, _git_mode(entry), name, content)
            _modify(given, b"100644", _quoted(_DETAILS), details())
            given.write(b"\nget-mark :1\ndone\n")
            given.close()
            return _text(printed.readline().strip())

    def read(self, snapshot: str) -> tuple[dict[str, FileEntry], bytes]:
        entries: dict[str, FileEntry] = {}
        details = ""
        with self._git("ls-tree", "-r", "-z", "--full-tree", snapshot) as (given, printed):
            given.close()
            for line in _text(printed.read()).split("\0")[:-1]:
                about, _, name = line.partition("\t")
                mode, _, oid = about.split(" ")
                if name == _DETAILS:
                    details = oid
                else:
                    entries[_unescaped(name.removeprefix(_FILES))] = FileEntry(int(mode, 8), oid)
        (text,) = self.contents([details])
        return entries, text

    def contents(self, oids: Iterable[str]) -> Iterator[bytes]:
        with self._git("cat-file", "--batch") as (given, printed):
            for oid in oids:
                given.write(f"{oid}\n".encode())
                given.flush()
                found = printed.readline().split()
                if len(found) != 3:
                    raise SnapshotsUnusable(f"A file of a snapshot is missing ({oid[:12]}).")
                yield printed.read(int(found[2]))
                printed.read(1)
            given.close()

    def _create(self) -> None:
        folder = self._git_folder
        if (folder / "HEAD").exists():
            return
        try:
            for each in ("objects", "refs", "info"):
                ensure_dir(folder / each)
            write_atomically(folder / "config", CONFIGURATION)
            write_atomically(folder / "info" / "attributes", ATTRIBUTES)
            write_atomically(folder / "HEAD", f"ref: {_text(_REF)}\n")  # last: now it is a repository
        except OSError as error:
            raise SnapshotsUnusable(f"Cannot save a snapshot: {error.strerror or error}.") from error

    @contextmanager
    def _git(self, *arguments: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Yields what git reads and prints. Raises `SnapshotsUnusable` if it fails."""
        try:
            process = start_own_git(self._git_folder, self._folder, self._path, *arguments)
        except OSError as error:
            raise SnapshotsUnusable(f"Cannot start git for snapshots: {error.strerror or error}.") from error
        assert process.stdin is not None and process.stdout is not None
        limit = threading.Timer(LONGEST_S, process.kill)
        limit.start()
        try:
            yield process.stdin, process.stdout
            failed = process.wait() != 0
        except OSError:
            failed = True  # git ended early
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
            _close(process)
        if failed:
            raise SnapshotsUnusable("Snapshots failed: git could not read or write them (is the disk full?).")


def _close(process: "subprocess.Popen[bytes]") -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                continue
    process.wait()


def _modify(given: IO[bytes], mode: bytes, name: bytes, content: bytes) -> None:
    given.write(b"M %s inline %s\ndata %d\n" % (mode, name, len(content)))
    given.write(content)
    given.write(b"\n")


def _git_mode(entry: FileEntry) -> bytes:
    if stat.S_ISLNK(entry.mode):
        return b"120000"
    return b"100755" if entry.mode & 0o100 else b"100644"


def _escaped(path: str) -> str:
    """Git refuses names such as `.git`, so names that begin like it get a prefix."""
    return "/".join(_ESCAPE + name if _is_special(name) else name for name in path.split("/"))


def _unescaped(path: str) -> str:
    return "/".join(name.removeprefix(_ESCAPE) for name in path.split("/"))


def _is_special(name: str) -> bool:
    return name.startswith(_ESCAPE) or name[:4].lower() == ".git"


def _quoted(path: str) -> bytes:
    name = path.encode("utf-8", "surrogateescape")
    for plain, quoted in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        name = name.replace(plain, quoted)
    return b'"%s"' % name


def _text(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")
