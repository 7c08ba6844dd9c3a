"""The address of a folder on another host, and how it is written."""

import re
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.inert import one_line

LONGEST_CHARS: Final = 4_000
_HOST: Final = re.compile(r"[A-Za-z0-9_%+][\w.%+@:/\[\]-]*", re.ASCII)
"""`user@box`, a name of the ssh configuration, or `ssh://user@box:port`; never an option, which begins with `-`."""
_PRINTED: Final = re.compile(r"(?P<host>[^\s/:][^\s:/]*(?::\d+)?|ssh://[^\s/]+):(?P<folder>[/~.].*)", re.DOTALL)


_STAND_INS: Final = "hosts"


class AddressRefused(ValueError):
    """Why an address cannot be used: a sentence."""


class HostUnreachable(OSError):
    """The other host does not answer, or not as it should: a sentence."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class HostAddress(NamedTuple):
    """A folder on another host."""

    host: str
    """As ssh takes it."""
    folder: str = ""
    """Relative to the login folder, which an empty one is."""

    @property
    def text(self) -> str:
        """For people and the log: `user@box:/srv/app`."""
        return f"{self.host}:{self.folder or '~'}"


def host_address(host: str, folder: str = "") -> HostAddress:
    """The address that a user gave. Raises `AddressRefused`."""
    if not _HOST.fullmatch(host) or len(host) > 300:
        raise AddressRefused(f"--host {one_line(repr(host), 60)} is not a host. Give it as ssh takes it: user@box.")
    if len(folder) > LONGEST_CHARS or "\0" in folder or "\n" in folder:
        raise AddressRefused("The folder on the other host cannot be that long or have line breaks in its name.")
    if folder == "~" or folder.startswith("~/"):
        folder = folder[2:]
    return HostAddress(host, folder)


def recorded_address(cwd: str) -> HostAddress | None:
    """The address in a session's log; None for a folder of this machine."""
    if cwd.startswith("/") or (found := _PRINTED.fullmatch(cwd)) is None or not _HOST.fullmatch(found["host"]):
        return None
    return HostAddress(found["host"], found["folder"])


def host_of(cwd: str) -> str:
    """The host of a session's folder, as the log has it; empty for this machine."""
    address = recorded_address(cwd)
    return address.host if address is not None else ""


def resume_hint(address: HostAddress, session_id: str) -> str:
    """The sentence about a session of another host that was opened without it."""
    return f"Session {session_id} works on {one_line(address.text, 300)}. {continue_hint(address, session_id)}"


def continue_hint(address: HostAddress, session_id: str) -> str:
    import shlex

    host, folder = one_line(address.host, 200), one_line(shlex.quote(address.folder), 300)
    return f"To continue there: co-tui --host {host} {folder} --resume {session_id}"


def is_stand_in(state: Path, folder: Path) -> bool:
    """Whether a folder takes the place of one on another host. It belongs to no repository that is around it."""
    return folder.parent == state / _STAND_INS


def stand_in(state: Path, address: HostAddress) -> Path:
    """An empty folder of this machine in place of the other: what works in a folder here finds nothing in it."""
    import hashlib

    name = re.sub(r"[^\w.@-]", "_", address.host, flags=re.ASCII)[:60]
    return state / _STAND_INS / f"{name}-{hashlib.sha256(address.text.encode(errors='replace')).hexdigest()[:12]}"
