"""A program in place of Python's, for what starts `co-tui` itself: it begins with its libraries loaded."""

import json
import socket
import sys
import threading
from pathlib import Path

from tests.support.loaded import LoadedProcesses

_PROGRAM = """#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address})
    _, (server,), *_ = socket.recv_fds(asked, 1, 1)
read_at_import = {{"DRIVER": "TEXTUAL_DRIVER", "COLOR_SYSTEM": "TEXTUAL_COLOR_SYSTEM"}}
set_ones = [(name, variable) for name, variable in read_at_import.items() if variable in os.environ]
constants = {{f"textual.constants.{{name}}": os.environ[variable] for name, variable in set_ones}}
how = {{"arguments": sys.argv[4:], "environ": dict(os.environ), "cwd": os.getcwd(), "constants": constants}}
reports, theirs = socket.socketpair()
socket.send_fds(socket.socket(fileno=server), [json.dumps(how).encode()], [0, 1, 2, theirs.fileno()])
theirs.close()
app = int.from_bytes(reports.recv(4), "big", signed=True)
signal.signal(signal.SIGTERM, lambda number, _: os.kill(app, number))
sys.exit(int.from_bytes(reports.recv(4), "big", signed=True))
"""
"""Takes `-P -m co_tui` and arguments, and ends when the process does that was forked for it."""


class Launcher:
    """`program` is such a program."""

    def __init__(self, loaded: LoadedProcesses, folder: Path) -> None:
        self._loaded = loaded
        self._asked = socket.socket(socket.AF_UNIX)
        self._asked.bind(address := str(folder / "asked"))
        self._asked.listen()
        self.program = folder / "python"
        self.program.write_text(_PROGRAM.format(python=sys.executable, address=json.dumps(address)))
        self.program.chmod(0o700)
        self._answering = threading.Thread(target=self._answer, daemon=True)
        self._answering.start()

    def _answer(self) -> None:
        """Say where processes are forked."""
        while True:
            try:
                asking, _ = self._asked.accept()
            except OSError:  # closed
                return
            with asking:
                socket.send_fds(asking, [b"."], [self._loaded.begin().fileno()])

    def close(self) -> None:
        self._asked.shutdown(socket.SHUT_RDWR)
        self._asked.close()
        self._answering.join()
