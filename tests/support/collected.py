"""The tests, collected once for all processes that `pytest -n` forks afterwards.

Importing what they import takes fifteen seconds, finding them some more; each process began with that before.
"""

import gc
import importlib
import inspect
import os
import pkgutil
import sys
from typing import Any
from unittest import mock

import pytest
import xdist.remote
from _pytest.assertion.rewrite import AssertionRewritingHook
from _pytest.config import _prepareconfig
from _pytest.main import wrap_session

_collected: pytest.Session | None = None
_LIBRARIES = ("openai", "anthropic", "google")
"""Loaded when a model is opened, which takes each process seconds: here once for all, if a test speaks to providers."""

_MANY = 1000
"""So many tests use nearly all of ours."""


def collect(folder: str, *arguments: str) -> None:
    """In the process that is forked. Where that fails, each process collects for itself, and reports why."""
    global _collected
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    AssertionRewritingHook._warn_already_imported = lambda *_: None  # plugins that are loaded need no better assertions
    config = _prepareconfig([*arguments], None)
    xdist.remote.setup_config(config, None)
    config.workerinput = {}
    session = pytest.Session.from_config(config)
    try:
        config._do_configure()
        config.hook.pytest_sessionstart(session=session)
        config.hook.pytest_collection(session=session)
        if "tests.support.wires" in sys.modules:
            for name in _LIBRARIES:
                importlib.import_module(f"pydantic_ai.models.{name}")
        if len(session.items) > _MANY:
            _load_what_most_use()
        gc.collect()
        gc.freeze()
        _collected = None if session.testsfailed else session
    except (pytest.UsageError, session.Failed, session.Interrupted):
        pass
    _capturing(config).stop_global_capturing()
    if _collected is None:
        config._ensure_unconfigure()


def _load_what_most_use() -> None:
    """Each process would load and make it for itself, a little with each test."""
    from hypothesis.internal import charmap  # the process that only hands out the tests needs none of it
    from PIL import Image

    import co_tui
    from tests.support.made_once import sent_code

    for module in pkgutil.walk_packages(co_tui.__path__, "co_tui."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
    Image.init()
    charmap.charmap()
    sent_code()


def run_tests(channel: Any) -> None:
    """In a forked process: those that the channel asks for, as `xdist.remote` does."""
    if _collected is None:
        exec(inspect.getsource(xdist.remote), {"__name__": "__channelexec__", "channel": channel})
        return
    config, session = _collected.config, _collected
    given, _, options, _ = channel.receive()
    os.environ["PYTEST_XDIST_TESTRUNUID"] = given["testrunuid"]
    os.environ["PYTEST_XDIST_WORKER"] = given["workerid"]
    os.environ["PYTEST_XDIST_WORKER_COUNT"] = str(given["workercount"])
    config.option.basetemp = options.get("basetemp")
    config._tmp_path_factory = pytest.TempPathFactory.from_config(config, _ispytest=True)
    config.workerinput.update(given)
    config.workeroutput = {}
    interactor = xdist.remote.interactor = _Worker(config, channel)
    config.hook.pytest_sessionstart = interactor.pytest_sessionstart
    _capturing(config).start_global_capturing()
    _capturing(config).suspend_global_capture()

    def run(config: pytest.Config, session: pytest.Session) -> int | None:
        interactor.pytest_collection_finish(session)
        config.hook.pytest_runtestloop(session=session)
        return pytest.ExitCode.TESTS_FAILED if session.testsfailed else None

    with (
        mock.patch.object(pytest.Session, "from_config", return_value=session),
        mock.patch.object(config, "_do_configure"),
    ):
        wrap_session(config, run)


class _Worker(xdist.remote.WorkerInteractor):
    """Reports what a test did and its end, not each step that went well: six messages a test took seconds."""

    def pytest_runtest_logstart(self) -> None:
        pass

    def pytest_runtest_logfinish(self) -> None:
        pass

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or self.config.option.durations is not None:
            super().pytest_runtest_logreport(report)


def _capturing(config: pytest.Config) -> Any:
    return config.pluginmanager.getplugin("capturemanager")


if __name__ == "__channelexec__":
    from tests.support import collected

    collected.run_tests(channel)  # type: ignore[name-defined]  # noqa: F821
