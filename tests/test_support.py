"""What the tests are written with: it hides no fault, and names what failed."""

import os
import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest
from textual.app import App, ComposeResult
from textual.pilot import WaitForScreenTimeout
from textual.widgets import Static

from tests.support import messages_once
from tests.support.cases import MOST_SHOWN, each_case
from tests.support.direct_replies import replying_directly
from tests.support.provider import Provider
from tests.support.working import repository


def test_a_case_that_fails_is_named_shortly() -> None:
    @each_case("text", ["", "x" * 1_000_000])
    def test(text: str) -> None:
        assert not text

    with pytest.raises(AssertionError) as failed:
        test()
    (note,) = failed.value.__notes__
    assert note.startswith("The case: {'text': 'xxx") and len(note) < 2 * MOST_SHOWN


def test_no_case_hides_those_after_it() -> None:
    @each_case("number", [1, 2])
    def test(number: int) -> None:
        if number == 1:
            pytest.skip("not here")

    with pytest.raises(AssertionError, match="cannot be skipped alone: not here"):
        test()
    with pytest.raises(AssertionError, match="no names and marks"):
        each_case("a, b, c", [pytest.param(1, 2, 3)])


def test_a_case_that_is_not_awaited_is_refused() -> None:
    async def test(number: int) -> None: ...

    with pytest.raises(AssertionError, match="would not be awaited"):
        each_case("number", [1])(test)  # type: ignore[arg-type]


class Restless(Static):
    def on_mount(self) -> None:
        self.refresh()
        self.call_after_refresh(self.on_mount)


class RestlessApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Restless("never done")


async def test_a_screen_that_never_settles_fails_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RestlessApp().run_test() as pilot:
        with monkeypatch.context() as patience:
            patience.setattr(messages_once, "PATIENCE_S", 0.2)
            with pytest.raises(WaitForScreenTimeout):
                await pilot.pause()
        pilot.app.query_one(Restless).on_mount = lambda: None  # type: ignore[method-assign]


async def test_only_its_own_address_reaches_a_provider() -> None:
    with replying_directly(), Provider().serving() as provider:
        async with httpx2.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{provider.url}/models")).status_code == 200
            with pytest.raises(httpx2.TransportError):
                await client.get(f"{provider.url.replace('127.0.0.1', 'nowhere.invalid')}/models")
    assert len(provider.asked_models) == 1


def test_a_small_repository_is_the_same_each_time(tmp_path: Path) -> None:
    def entries(name: str) -> list[tuple[str, int]]:
        place = repository(tmp_path / name)
        return sorted((str(each.relative_to(place)), each.stat().st_mode) for each in place.rglob("*"))

    assert entries("first") == entries("second")


UV = """#!/bin/sh
case "$1" in
  venv) mkdir .venv && echo "$4" > .venv/python ;;
  pip) ! grep -qx "$UNUSABLE" .venv/python ;;
esac
"""
"""In place of `uv`: no package can be installed for one Python."""


@pytest.mark.parametrize(("unusable", "code"), [("/usr/bin/python3", 0), (".*", 1)])
def test_the_locked_packages_are_installed_for_a_python_that_has_them(tmp_path: Path, unusable: str, code: int) -> None:
    uv = tmp_path / "programs" / "uv"
    uv.parent.mkdir()
    uv.write_text(UV)
    uv.chmod(0o755)
    shutil.copytree(Path(__file__).parents[1] / ".ci", tmp_path / ".ci")
    environ = {**os.environ, "PATH": f"{uv.parent}:{os.environ['PATH']}", "UNUSABLE": unusable}
    done = subprocess.run([tmp_path / ".ci" / "locked", "true"], env=environ, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert code or (tmp_path / ".venv" / "python").read_text().strip() != unusable
