"""An upgrade shows one line once; a first start shows none."""

import json
from pathlib import Path

import pytest

from co_tui import __version__
from co_tui.paths import locate
from co_tui.ui.control.new_version import NEW_VERSION, is_upgraded, version_number
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, until


@pytest.mark.parametrize(
    ("kept", "upgraded"),
    [
        (None, False),
        ({"side": 1}, True),
        ({"version": version_number("0.1.9")}, True),
        ({"version": version_number(__version__)}, False),
        ({"version": version_number("9.0.0")}, False),
    ],
    ids=["first start", "before versions were kept", "older", "the same", "newer"],
)
def test_it_is_noticed_once(tmp_path: Path, kept: dict[str, float] | None, upgraded: bool) -> None:
    paths = locate({"CO_TUI_HOME": str(tmp_path)})
    if kept is not None:
        paths.hints.parent.mkdir(parents=True)
        paths.hints.write_text(json.dumps(kept))
    assert [is_upgraded(paths), is_upgraded(paths)] == [upgraded, False]
    assert json.loads(paths.hints.read_text()) == {**(kept or {}), "version": version_number(__version__)}


async def test_the_app_says_where_to_read_what_is_new(home: Path, provider: Provider) -> None:
    (home / "state").mkdir(parents=True)
    (home / "state" / "hints.json").write_text('{"side": 1}')
    async with running(launch_for(home, provider)) as (app, pilot):
        await until(pilot, lambda: NEW_VERSION in screen_text(app))
