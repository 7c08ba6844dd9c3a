"""When garbage is collected: never in the libraries, which stay until the process ends."""

import subprocess
import sys

LOADED = 10_000
"""Objects that a small command has loaded."""


def test_a_command_ends_without_a_collection_of_all_it_loaded() -> None:
    """What is registered first is called last."""
    code = (
        "import atexit, gc, sys; atexit.register(lambda: print('frozen', gc.get_freeze_count()))\n"
        "from co_tui.__main__ import main; sys.argv[1:] = ['--help']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.rpartition("frozen ")[2]) > LOADED


def test_a_session_without_a_screen_collects_only_what_came_after_the_libraries() -> None:
    code = (
        "import gc; gc.disable()\n"
        "from co_tui.cli.commands import _collect_again; import co_tui.headless.open_session; _collect_again()\n"
        "print(gc.isenabled(), gc.get_freeze_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    enabled, frozen = done.stdout.split()
    assert enabled == "True" and int(frozen) > LOADED


def test_a_server_collects_garbage() -> None:
    """It runs until it is stopped; every request leaves cycles."""
    code = (
        "import gc, sys; from co_tui.headless.web import serve_command\n"
        "serve_command.serve = lambda *_, **__: print(gc.isenabled()) or 0\n"
        "from co_tui.__main__ import main; sys.argv[1:] = ['serve']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
