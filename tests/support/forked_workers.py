"""Processes for `pytest -n` that begin with the tests collected.

Importing all that the tests import takes each process ten seconds, and finding them some more. One process does it and
is forked for each. Before it loads the tests, when it has what `co-tui` loads and no more, it is forked for the process
that is forked for the server from which each of them starts `co-tui`.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from execnet import gateway_io
from execnet.gateway_base import Popen2IO

from tests.support.loaded import LoadedProcesses
from tests.support.run_folder import make_run_folder

_SERVE = """
import socket
from tests.support.loaded_server import serve_and_run
serve_and_run(socket.socket(fileno=3))
"""
_WORK = f"""
import socket
from tests.support.loaded import LoadedProcesses
from tests.support import run_folder
from pathlib import Path
LoadedProcesses.given = socket.socket(fileno=3)
run_folder.shared = Path(how["shared"])
{gateway_io.popen_bootstrapline}
"""


def fork_workers(config: pytest.Config) -> Callable[[], None]:
    """From here on; returns what ends the processes that they are forked from."""
    invocation = config.invocation_params
    processes = LoadedProcesses(str(invocation.dir), *map(str, invocation.args))
    servers = processes.without_tests()
    shared, remove_shared = make_run_folder()

    class Worker(Popen2IO):
        def __init__(self, args: Any, execmodel: Any) -> None:
            requests, serving = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            their_input, our_output = os.pipe()
            our_input, their_output = os.pipe()
            cwd, environ = str(Path.cwd()), dict(os.environ)
            nothing = os.open(os.devnull, os.O_RDONLY)
            served = [nothing, 2, 2, serving.fileno()]
            self._server = servers.start(served, (), code=_SERVE, cwd=cwd, environ=environ)
            working = [their_input, their_output, 2, requests.fileno()]
            self._process = processes.start(working, (), code=_WORK, cwd=cwd, environ=environ, shared=str(shared))
            for number in (nothing, their_input, their_output):
                os.close(number)
            for each in (requests, serving):
                each.close()
            super().__init__(os.fdopen(our_output, "wb"), os.fdopen(our_input, "rb"), execmodel)

        def wait(self) -> int:
            code = self._process.wait()
            self._server.wait()  # it ends with the only one who can ask it
            return code

        def kill(self) -> None:
            self._process.kill()

    gateway_io.Popen2IOMaster = Worker  # type: ignore[assignment,misc]

    def close() -> None:
        servers.close()
        processes.close()
        remove_shared()

    return close
