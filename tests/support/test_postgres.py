"""Servers of the tests end with them."""

import signal
import subprocess
from pathlib import Path

from tests.support.postgres import ended_with_us
from tests.support.run_folder import make_run_folder


def test_a_server_ends_and_its_folder_goes_when_the_input_of_what_watches_it_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "pg"
    (folder / "data").mkdir(parents=True)
    # A shell's background job, which the tests may be, ignores this signal, and so do its children.
    server = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: signal.signal(signal.SIGQUIT, signal.SIG_DFL))
    (folder / "data" / "postmaster.pid").write_text(f"{server.pid}\n{folder}\n")
    watching = ended_with_us(folder)
    assert watching.stdin is not None
    watching.stdin.close()
    assert server.wait() == -signal.SIGQUIT
    assert watching.wait() == 0
    assert not folder.exists()


def test_the_folder_of_a_run_goes_with_it() -> None:
    folder, remove = make_run_folder()
    (folder / "made").mkdir()
    assert folder.is_dir()
    remove()
    assert not folder.exists()
