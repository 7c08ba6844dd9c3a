"""Another host to work on: sshd on this machine at another port, with a key for the test, or a stand-in for ssh."""

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.waiting import wait_until

SSHD: Final = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
_PYTHON: Final = str(Path(sys.base_prefix) / "bin/python3")
_STAND_IN: Final = """#!/bin/sh
# Runs the command of `ssh … host command` on this machine, as another host with another home would.
for last; do :; done
case " $* " in *" -O "*) exit 0 ;; esac
[ ! -e {folder}/down ] || {{ echo "ssh: connect to host box: Connection refused" >&2; exit 255; }}
echo $$ > {folder}/running/$$
export HOME={home} XDG_STATE_HOME={home}/state
cd "$HOME" && exec /bin/sh -c "$last"
"""
_SSHD: Final = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv HOME={home} XDG_STATE_HOME={home}/state PATH={path}
"""
_CONFIG: Final = """
Host box
  HostName 127.0.0.1
  Port {port}
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known
"""


class SshHost(NamedTuple):
    """A host named `box`."""

    folder: Path
    home: Path
    """The home of the user there."""
    daemon: int = 0
    """The process of sshd; 0 for the stand-in."""

    @property
    def environ(self) -> dict[str, str]:
        """The environment of co-tui: its `ssh` comes first."""
        return {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def cut(self) -> None:
        """Break all connections."""
        for each in _children(self.daemon) if self.daemon else self._running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)

    def _running(self) -> list[int]:
        found = [int(each.name) for each in (self.folder / "running").iterdir() if self._is_ours(each.name)]
        shutil.rmtree(self.folder / "running")
        (self.folder / "running").mkdir()
        return found

    def _is_ours(self, process: str) -> bool:
        """Whether it still runs: the number of one that ended may be another's."""
        with contextlib.suppress(OSError):
            return f"HOME={self.home}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        return False

    @contextmanager
    def down(self) -> Iterator[None]:
        """While open, the stand-in refuses connections."""
        (self.folder / "down").touch()
        self.cut()
        try:
            yield
        finally:
            (self.folder / "down").unlink()


def _made(folder: Path, ssh: str) -> SshHost:
    home = folder / "home of the other"
    for each in (folder / "bin", folder / "running", home):
        each.mkdir(parents=True)
    _program(folder / "bin/ssh", ssh.format(folder=shlex.quote(str(folder)), home=shlex.quote(str(home))))
    # As most hosts have it: a wrapper, such as that of pyenv, takes longer than Python itself.
    _program(folder / "bin/python3", f'#!/bin/sh\nexec {shlex.quote(_PYTHON)} "$@"\n')
    return SshHost(folder, home)


def _program(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


def stand_in_host(folder: Path) -> SshHost:
    """A host by a program in place of ssh, which is fast and runs anywhere."""
    return _made(folder, _STAND_IN)


@contextmanager
def sshd_host(folder: Path) -> Iterator[SshHost]:
    """A host by sshd; by the stand-in where there is none."""
    if SSHD is None:
        yield stand_in_host(folder)
        return
    real = shutil.which("ssh")
    host = _made(folder, f'#!/bin/sh\nexec {real} -F {{folder}}/config "$@"\n')
    home = folder / "home"  # a setting of sshd cannot have blanks
    home.mkdir()
    for name in ("key", "host_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    with _free_port() as port:
        given = {"port": port, "folder": folder, "home": home, "path": os.environ["PATH"]}
    for name, text in {"sshd_config": _SSHD, "config": _CONFIG}.items():
        (folder / name).write_text(text.format(**given))
    key = (folder / "host_key.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {key}")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    daemon = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _answers(port))
        yield host._replace(home=home, daemon=daemon.pid)
    finally:
        host._replace(daemon=daemon.pid).cut()
        daemon.kill()
        daemon.wait()


@contextmanager
def _free_port() -> Iterator[int]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found.getsockname()[1]


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _children(daemon: int) -> list[int]:
    """The processes that sshd started, and theirs of the same program."""
    parents = {int(each.name): _parent(each) for each in Path("/proc").glob("[0-9]*")}
    own = {daemon}
    for _ in range(3):
        own |= {child for child, parent in parents.items() if parent in own and _is_sshd(child)}
    return sorted(own - {daemon})


def _parent(process: Path) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(process.joinpath("stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _is_sshd(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text().startswith("sshd")
    return False


def files_in(folder: Path) -> Mapping[str, str]:
    """The text files of a folder, by path."""
    return {
        str(each.relative_to(folder)): each.read_text()
        for each in sorted(folder.rglob("*"))
        if each.is_file() and ".git" not in each.parts
    }
