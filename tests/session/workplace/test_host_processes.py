"""Commands on another host: all that they print, how they end with the connection, and their environment."""

import base64
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from co_tui.paths import locate
from co_tui.session.workplace.host.address import HostAddress, HostUnreachable
from co_tui.session.workplace.host.host_process import followed, started
from co_tui.session.workplace.host.host_workplace import HostWorkplace, connect
from co_tui.session.workplace.host.program import remote_processes
from co_tui.session.workplace.host.program.remote_processes import PIECE_BYTES, RemoteProcesses
from tests.support.ssh_host import SshHost, stand_in_host


@pytest.fixture
def host(tmp_path: Path) -> SshHost:
    return stand_in_host(tmp_path / "box")


@pytest.fixture
def wrapped_python(host: SshHost) -> None:
    """As pyenv has it: a program that starts Python with another PATH."""
    wrapper = host.folder / "bin/python3"
    wrapper.write_text(f'#!/bin/sh\nPATH=/of/the/wrapper:$PATH\nexport PATH\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)


@pytest.fixture
def workplace(host: SshHost) -> Iterator[HostWorkplace]:
    made = connect(HostAddress("box"), host.environ, locate({"CO_TUI_HOME": str(host.folder / "own")}))
    yield made
    made.close()


def test_the_end_of_a_long_output_comes_however_late_it_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_processes, "DRAINING_S", 0.2)
    processes = RemoteProcesses(tmp_path)
    script = f"import sys; sys.stdout.write('x' * {PIECE_BYTES + 40_000} + 'the end')"
    processes.start("a", (sys.executable, "-c", script), {}, False)
    running = processes._running["a"]
    running._process.wait()
    with running._changed:
        running._changed.wait_for(lambda: running._is_over, 0.5)
    printed, code = b"", None
    while code is None:
        said = processes.read("a")
        printed, code = printed + base64.b64decode(said["stdout"]), said["code"]
    assert (len(printed), printed[-7:], code) == (PIECE_BYTES + 40_007, b"the end", 0)


async def test_a_command_is_cut_off_when_another_question_renews_the_connection(
    workplace: HostWorkplace, host: SshHost
) -> None:
    link = workplace.host.link.session("one")
    async with started(link, ("sleep", "60"), {}) as process:
        host.cut()
        link.ask("surroundings", False)
        with pytest.raises(HostUnreachable, match="ended with the connection"):
            await process.wait()


@pytest.mark.usefixtures("wrapped_python")
async def test_commands_have_the_path_of_the_user_there(host: SshHost, workplace: HostWorkplace) -> None:
    printed = bytearray()
    async with started(workplace.host.link.session("one"), ("/bin/sh", "-c", 'printf %s "$PATH"'), {}) as process:
        assert await followed(process, process, printed.extend, printed.extend) == 0
    assert printed.decode() == host.environ["PATH"]
