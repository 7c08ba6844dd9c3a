"""Run in a process of its own: restores a backup into one home after the other, each killed some steps later."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from co_tui.exchange.backup import restoring
from co_tui.exchange.intake import copying, take_in
from co_tui.store.sqlite.bulk import adding
from tests.support.backups import restore
from tests.support.stores import store_in


class Steps:
    """Counts the calls of some functions, and kills this process before one of them."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.taken, self._kill_at = 0, kill_at

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            if self.taken == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.taken += 1
            return function(*given, **named)

        return called


def work(file: Path, home: Path, steps: Steps) -> None:
    around = steps.around
    adding.log.insert = around(adding.log.insert)  # type: ignore[attr-defined]
    adding.log.save = around(adding.log.save)  # type: ignore[attr-defined]
    take_in.place = around(take_in.place)
    restoring.bring_reply = around(copying.bring_reply)  # type: ignore[attr-defined]
    restoring.replaced_atomically = around(restoring.replaced_atomically)  # type: ignore[attr-defined]
    restoring.os.utime = around(os.utime)  # type: ignore[attr-defined]
    with store_in(home) as store:
        restore(store, home, file)


def restore_until_killed(file: Path, root: Path, kills: int) -> None:
    child = os.fork()
    if child == 0:
        steps = Steps()
        with TemporaryDirectory() as home:
            work(file, Path(home), steps)
        os._exit(steps.taken)
    total = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert total > 20, "as many steps as there are events and files"
    for kill in range(kills):
        home = root / f"{kill:03}"
        home.mkdir()
        child = os.fork()
        if child == 0:
            work(file, home, Steps(kill * total // kills))
            os._exit(1)  # it should have been killed
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
