"""The files that a prompt references with `@`. Light enough for the first paint: only the start of each is read."""

import os.path
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.events.images import image_type
from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern

ONLY_FILES: Final = "See the attached files."
"""Sent for a prompt without words."""
MOST_FILES: Final = 20
SNIFFED_BYTES: Final = 8_192
NAME_CHARS: Final = 200
NO_FILE: Final = "No file"
NOT_MEANT: Final = "(Put it in `backquotes` if it is not a file.)"
_NAMED: Final = late_pattern(r'(?<![^\s(\[{<"\'])@(?:"([^"\n]+)"|([^\s"`]+))')
_CODE: Final = late_pattern(r"(`{3,}).*?(?:\1|\Z)|`[^`\n]*`", re.DOTALL)
_AFTER_NAME: Final = ".,;:!?)]}>'"


class NamedFile(NamedTuple):
    """A file to send with a prompt, or something that is sent like one."""

    path: Path
    name: str
    """Relative to the working directory, or absolute outside of it."""
    data: bytes | None = None
    """Its content, if that is not on disk."""
    kind: str = "file"
    """What the request calls it."""
    server: str = ""
    """The MCP server whose resource it is, until that is read."""
    is_remote: bool = False
    """Whether it is on another host, until it is read."""
    is_folder: bool = False
    """Whether it is a folder, until it is listed."""

    @property
    def is_pending(self) -> bool:
        """Whether it has to be read before it can be attached, which may take long."""
        return bool(self.server) or self.is_remote or self.is_folder


class NamedFiles(NamedTuple):
    """The files that a prompt references."""

    files: tuple[NamedFile, ...] = ()
    troubles: tuple[str, ...] = ()
    """A sentence for each reference that cannot be attached."""


def named_files(text: str, cwd: Path, servers: Collection[str] = (), *, lists_folders: bool = True) -> NamedFiles:
    """The files and folders a prompt references, each once, and resources of these MCP servers as `@SERVER:URI`. A word
    that neither is nor looks like a file is ignored."""
    files: dict[Path, NamedFile] = {}
    troubles: dict[str, None] = {}
    for written in _written(text):
        path = _existing(written, cwd)
        if path is None:
            if (resource := _resource(written, servers)) is not None:
                files[resource.path] = resource
            elif "/" in written or "." in written:
                name = one_line(written.rstrip(_AFTER_NAME), NAME_CHARS)
                troubles[f"{NO_FILE} {name} to attach."] = None
        elif path.is_dir() and lists_folders:
            files[path] = NamedFile(path, f"{name_of(path, cwd)}/", kind="folder", is_folder=True)
        elif trouble := _trouble(path, name := name_of(path, cwd)):
            troubles[trouble] = None
        else:
            files[path] = NamedFile(path, name)
    if len(files) > MOST_FILES:
        troubles[_too_many(len(files))] = None
    return NamedFiles(tuple(files.values())[:MOST_FILES], tuple(troubles))


def remote_files(text: str, cwd: Path, servers: Collection[str], known: Collection[str]) -> NamedFiles:
    """The same for work on another host: a relative name is a file there if it is `known` or looks like a path, and is
    checked when it is read. Absolute ones, and those in the user's home, are of this machine."""
    files: dict[Path, NamedFile] = {}
    here: list[str] = []
    for written in _written(text):
        name = written if written in known else written.rstrip(_AFTER_NAME)
        if written.startswith(("/", "~")):
            here.append(reference(written))
        elif (resource := _resource(written, servers)) is not None:
            files[resource.path] = resource
        elif name in known or "/" in name or "." in name:
            files[Path(name)] = NamedFile(Path(name), name, is_remote=True)
    named = named_files(" ".join(here), cwd, lists_folders=False)
    files |= {file.path: file for file in named.files}
    too_many = (_too_many(len(files)),) if len(files) > MOST_FILES else ()
    return NamedFiles(tuple(files.values())[:MOST_FILES], (*named.troubles, *too_many))


def _too_many(count: int) -> str:
    return f"A prompt takes {MOST_FILES} files at most; this one names {count}."


def _resource(written: str, servers: Collection[str]) -> NamedFile | None:
    name = written.rstrip(_AFTER_NAME)
    server, _, uri = name.partition(":")
    # The path only tells resources apart.
    return NamedFile(Path(f"{server}:", uri), name, server=server) if uri and server in servers else None


def reference(name: str) -> str:
    """The reference to a file, as written in a prompt."""
    return f'@"{name}"' if re.search(r'[\s"`]', name) or name[-1] in _AFTER_NAME else f"@{name}"


def name_of(path: Path, cwd: Path) -> str:
    """The name to show for a file: relative inside the working directory, absolute elsewhere."""
    here = Path(cwd).absolute()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _written(text: str) -> Iterator[str]:
    """The text after each `@` that starts a word, except in code."""
    for found in _NAMED.finditer(_CODE.sub(" ", text)):
        yield found[1] or found[2]


def _existing(written: str, cwd: Path) -> Path | None:
    """The path if it exists; punctuation may follow it directly."""
    shorter = written.rstrip(_AFTER_NAME)
    for each in dict.fromkeys((written, shorter)):
        try:
            path = Path(cwd, Path(each).expanduser()) if each else None
            if path is not None and path.exists():
                # Removes `..` but resolves no links, so that the user's own name for it stays.
                return Path(os.path.normpath(path.absolute()))
        except (OSError, ValueError, RuntimeError):  # not a valid file name
            continue
    return None


def _trouble(path: Path, name: str) -> str:
    shown = one_line(name, NAME_CHARS)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return f"{shown} is a folder. Name a file."
        if not stat.S_ISREG(mode):
            return f"{shown} is not a regular file and cannot be attached."
        with path.open("rb") as file:
            beginning = file.read(SNIFFED_BYTES)
    except OSError as error:
        return f"Cannot read {shown}: {error.strerror or error}."
    if b"\0" in beginning and not image_type(beginning):
        return f"{shown} is not text and not a supported image (PNG, JPEG, GIF, WebP)."
    return ""
