"""The connection to another host: one, shared by all calls, made by the user's own ssh with their configuration."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.inert import one_line
from co_tui.session.workplace.host.address import HostAddress, HostUnreachable

CONNECTING_S: Final = 30.0
_OPTIONS: Final = (
    "BatchMode=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "ControlMaster=auto",
    "ControlPersist=60",
    # Nothing of this machine is offered to the host, and nothing runs here for it.
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "LogLevel=ERROR",
)
_REASONS: Final = {
    "its name is not known": r"could not resolve hostname",
    "its host key is not known yet, or it changed": r"host key verification failed|host identification has changed",
    "it refuses your key, or asks for a password": r"permission denied|too many authentication failures",
    "it refuses the connection": r"connection refused",
    "it does not answer": r"timed out|no route to host|network is unreachable|host is down",
}
_ASKS: Final = ("its host key is not known yet, or it changed", "it refuses your key, or asks for a password")


class Connection:
    """How ssh is called. It makes the connection with the first call and again after a break."""

    def __init__(self, address: HostAddress, environ: Mapping[str, str]) -> None:
        """Raises `HostUnreachable` if there is no ssh."""
        self.address = address
        program = shutil.which("ssh", path=environ.get("PATH", os.defpath))
        if program is None:
            raise HostUnreachable("--host needs the program ssh, which is not installed. Install OpenSSH's client.")
        self.program = program
        # The path of a socket is limited to about 100 characters.
        self._folder = Path(tempfile.mkdtemp(prefix="co-tui-", dir="/tmp"))
        options = (*_OPTIONS, f"ControlPath={self._folder}/%C")
        self.arguments = tuple(word for option in options for word in ("-o", option))
        names = ("PATH", "HOME", "SSH_AUTH_SOCK", "LANG", "LC_ALL", "USER", "LOGNAME")
        self.environ = {name: environ[name] for name in names if name in environ}

    def command(self, line: str) -> list[str]:
        """The arguments that run a command line there."""
        return [self.program, "-T", *self.arguments, "--", self.address.host, line]

    def failure(self, output: str) -> HostUnreachable:
        """Why ssh failed, given what it printed."""
        host = one_line(self.address.host, 200)
        found = next((why for why, said in _REASONS.items() if re.search(said, output, re.IGNORECASE)), "")
        if found in _ASKS:
            return HostUnreachable(
                f"{host} cannot be used: {found}. Run `ssh {host}` once in a terminal, then try again."
            )
        said = [line.strip() for line in output.splitlines() if line.strip()]
        why = found or (one_line(said[-1], 200).rstrip(".") if said else "ssh ended without a reason")
        return HostUnreachable(f"No connection to {host}: {why}.")

    def close(self) -> None:
        """End the shared connection."""
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                [self.program, *self.arguments, "-O", "exit", "--", self.address.host],
                env=self.environ, timeout=5, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        shutil.rmtree(self._folder, ignore_errors=True)
