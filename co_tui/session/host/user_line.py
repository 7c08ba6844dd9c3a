"""The user's own command on another host, as a command line for this machine's shell."""

import shlex
from typing import Final

from co_tui.session.host.remote_host import RemoteHost

_SCRIPT: Final = r"""exec 3<&0 < /dev/null
cd -- "$1" || exit 1
(cat <&3; kill -s TERM -- -$$; sleep 1; kill -s KILL -- -$$) > /dev/null 2>&1 &
watcher=$!
exec 3<&-
/bin/sh -c "$2"
code=$?
kill "$watcher"
exit "$code"
"""
"""Runs the command in the folder, and ends it when its input closes: then ssh was ended here."""


def user_line(host: RemoteHost, command: str) -> str:
    """Runs a command there; give it an input that stays open while it may run."""
    there = shlex.join(["/bin/sh", "-c", _SCRIPT, "sh", host.folder, command])
    return shlex.join(host.connection.command(f"exec {there}"))
