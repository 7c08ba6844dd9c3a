"""After an edit the user's own checks run, and the model sees what is new."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.paths import locate
from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.tools import after_edit
from co_tui.session.tools.after_edit import new_lines
from co_tui.settings import SettingsError, load
from co_tui.settings.after_edit import check_words
from co_tui.settings.all_settings import check
from co_tui.trust import Trust
from tests.support.approving import left
from tests.support.sandbox import needs_bwrap
from tests.support.working import Call, Working, working_in

PROBLEMS = 'grep -n "TODO" {file}'


async def said(folder: Path, home: Path, *steps: Call, table: object = None, **settings: Any) -> list[str]:
    """What the model saw of each call, with these checks by pattern."""
    model = Working(*steps)
    checks = check("after_edit", table or {"*.py": PROBLEMS})
    environment = working_in(folder, home, model, Unattended(yes=True), after_edit=checks, **settings)
    session = await Session.start(environment, "scripted")
    await session.submit("edit")
    await left(environment, session)
    return model.returned


def write(path: str, content: str) -> Call:
    return "write_file", {"path": path, "content": content}


async def test_the_model_sees_the_whole_output_first_and_then_what_is_new(folder: Path, home: Path) -> None:
    first, second, third, other = await said(
        folder,
        home,
        write("a.py", "TODO one\n"),
        write("a.py", "x\nTODO one\nTODO two\n"),
        ("edit_file", {"path": "a.py", "old_text": "x\n", "new_text": ""}),
        write("a.txt", "TODO\n"),
    )
    assert '\n\n[after_edit]\ngrep -n "TODO" a.py:\n1:TODO one' in first
    assert ", new:\n3:TODO two" in second and "TODO one" not in second
    assert "TODO" not in third  # only its line numbers changed
    assert "grep" not in other


async def test_a_file_name_is_one_argument_and_never_shell_text(folder: Path, home: Path) -> None:
    name = "a b; touch broken; $(touch broken).py"
    (result,) = await said(folder, home, write(name, "TODO\n"))
    assert "1:TODO" in result and not (folder / "broken").exists()
    assert check_words("check --of={file} {file}", "-x y") == ["check", "--of=./-x y", "./-x y"]


async def test_a_check_has_no_keys_and_its_output_is_bounded(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    (folder / "check").write_text("#!/bin/sh\necho key=$OPENAI_API_KEY.\nyes long\n")
    (folder / "check").chmod(0o755)
    (result,) = await said(folder, home, write("a.py", "x"), table={"*.py": "./check {file}"})
    assert "key=." in result and len(result) < 2 * after_edit.MOST_NEW_CHARS and "more characters]" in result


@needs_bwrap
async def test_in_a_sandbox_checks_run_in_it(folder: Path, home: Path) -> None:
    outside = folder.parent / "outside"
    (result,) = await said(
        folder,
        home,
        write("a.py", "x\n"),
        table={"*.py": [f"touch {outside}", "cat {file}"]},
        command_sandbox="bwrap",
    )
    assert "cat a.py:\nx" in result and not outside.exists()


def test_a_projects_checks_wait_for_trust_and_are_then_added_to_the_users(home: Path, folder: Path) -> None:
    paths = locate({"CO_TUI_HOME": str(home)})
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text('[after_edit]\n"*.py" = "mine {file}"\n"*.md" = "mine {file}"\n')
    (folder / ".co-tui.toml").write_text('[after_edit]\n"*.py" = "theirs {file}"\n')
    before = load(paths=paths, cwd=folder, environ={})
    assert before.settings.after_edit == {"*.py": ("mine {file}",), "*.md": ("mine {file}",)}
    assert before.withheld is not None
    Trust(paths.trust_file).remember(before.withheld, trusted=True)
    after = load(paths=paths, cwd=folder, environ={})
    assert after.settings.after_edit == {"*.py": ("theirs {file}",), "*.md": ("mine {file}",)}


async def test_a_check_that_hangs_is_stopped(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after_edit, "LONGEST_S", 0.2)
    (result,) = await said(folder, home, write("a.py", "x"), table={"*.py": "sleep 600"})
    assert "sleep 600:\n(stopped after 0.2 s)" in result


async def test_all_checks_of_a_call_share_a_time_limit(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(after_edit, "LONGEST_TOGETHER_S", 0.0)
    (result,) = await said(folder, home, write("a.py", "x"))
    assert result.endswith("[after_edit]\n(The other checks were not run: no time left.)")


async def test_a_missing_program_is_reported_once(folder: Path, home: Path) -> None:
    table = {"*.py": "no-such-program {file}"}
    result, again = await said(folder, home, write("a.py", "x"), write("a.py", "y"), table=table)
    assert "(no-such-program, or a program it runs, was not found" in result and "not found" not in again


@given(st.lists(st.sampled_from(["a:1: x", "a:2: x", "b:3: y", "z"])), st.lists(st.sampled_from(["a:7: x", "q"])))
def test_lines_that_were_there_are_never_new(before: list[str], added: list[str]) -> None:
    new = new_lines("\n".join(before), "\n".join([*before, *added]))
    assert new.splitlines() == added
    assert not new_lines("\n".join([*before, *added]), "\n".join(before))


@pytest.mark.parametrize(
    "bad", [{"*.py": ""}, {"*.py": "'open"}, {"*.py": []}, {"*.py": 1}, {"": "x"}, "x", {"a": "{file}"}]
)
def test_a_check_that_is_no_command_is_refused_with_what_to_write(bad: object) -> None:
    with pytest.raises(SettingsError, match="is not allowed"):
        check("after_edit", bad)
