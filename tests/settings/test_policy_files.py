"""A policy is a file: in the config folder by its name, on the command line by its path, and nowhere else."""

import os
from pathlib import Path

import pytest

from co_tui.paths import Paths, locate
from co_tui.settings import Loaded, load, policy_description, policy_groups, policy_label, policy_names
from co_tui.settings.all_settings import SettingsError
from co_tui.settings.writing import write

GOOD = '''"""Summarise the older half."""
settings = {"summary_form": "marker"}

def decide(context):
    return {"summarise": range(len(context.messages) // 2)} if context.fill > 0.5 else None
'''
PEERS = ("claude-code", "cline", "codex", "gemini-cli", "letta", "opencode", "openhands")


@pytest.fixture
def paths(home: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(home)})


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def touching(file: Path) -> str:
    """Source that leaves a file when it is run."""
    return f"import pathlib\npathlib.Path({str(file)!r}).touch()\n"


def chosen(paths: Paths, cwd: Path, name: str) -> Loaded:
    return load(paths=paths, cwd=cwd, environ={}, command_line={"policy": name})


def test_other_programs_come_in_a_group_after_ours_and_yours(paths: Paths) -> None:
    written(paths.policies / "mine.py", GOOD)
    ours, theirs = policy_groups(paths)
    assert theirs.names == PEERS and theirs.title
    assert {"balanced", "mine", "off"} <= set(ours.names) and policy_names(paths) == [*ours.names, *theirs.names]
    assert all(policy_description(name, paths) for name in policy_names(paths))


def test_a_policy_in_python_is_found_by_name_and_sets_its_numbers(paths: Paths, tmp_path: Path) -> None:
    written(paths.policies / "mine.py", GOOD)
    loaded = chosen(paths, tmp_path, "mine")
    assert loaded.problems == () and loaded.settings.compaction == "python" and loaded.settings.summary_form == "marker"
    assert loaded.settings.policy_code is not None and policy_description("mine", paths) == "Summarise the older half."


@pytest.mark.parametrize("name", ["mine.py", "./mine.py", "sub/../mine.py", "mine.toml"])
def test_a_path_is_taken_from_the_command_line(paths: Paths, tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    written(tmp_path / "mine.py", GOOD)
    written(tmp_path / "mine.toml", "[settings]\nfew_turns = 3\n")
    loaded = chosen(paths, tmp_path, name)
    assert loaded.problems == () and Path(loaded.settings.policy).is_absolute()
    assert policy_label(loaded.settings.policy) == Path(name).name


def test_a_path_is_taken_from_nowhere_else(paths: Paths, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    file = written(tmp_path / "evil.py", f"{touching(ran)}{GOOD}")
    (refused,) = load(paths=paths, cwd=tmp_path, environ={"CO_TUI_POLICY": str(file)}).problems
    assert "--policy" in refused
    (refused,) = load(paths=paths, cwd=tmp_path, environ={}, resumed={"policy": str(file)}).problems
    assert "name it again with --policy" in refused
    written(tmp_path / ".co-tui.toml", 'policy = "./evil.py"\n')
    loaded = load(paths=paths, cwd=tmp_path, environ={})
    assert loaded.problems == () and loaded.settings.policy == "balanced" and "evil.py" in loaded.folder_problems[0]
    with pytest.raises(SettingsError, match="--policy"):
        write("policy", str(file), paths)
    written(tmp_path / ".co-tui.toml", 'policy = "evil"\n')
    assert load(paths=paths, cwd=tmp_path, environ={}).settings.policy == "balanced"
    assert not ran.exists()


def test_listing_and_describing_policies_runs_nothing(paths: Paths, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    written(paths.policies / "mine.py", f"{GOOD}{touching(ran)}")
    assert "mine" in policy_names(paths) and policy_description("mine", paths) and not ran.exists()
    assert chosen(paths, tmp_path, "mine").problems == () and ran.exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def decide(context)\n", "line 1: expected ':'"),
        ("x = 1\n", "must define `decide(context)`"),
        ("decide = 5\n", "must define `decide(context)`"),
        (f"{GOOD}\nimport nothing_like_this\n", "line 7: ModuleNotFoundError: No module named 'nothing_like_this'"),
        (f"{GOOD}\nraise SystemExit(3)\n", "line 7: SystemExit: 3"),
        (f"settings = dict(a=1)\n{GOOD}", "line 1: write `settings` out as a value"),
        (GOOD.replace('{"summary_form": "marker"}', "[1]"), "`settings` must be a table"),
        (GOOD.replace('"marker"', '"verse"'), "summary_form = 'verse'"),
        (f"compacts_at = 80\n{GOOD}", "`compacts_at` must be a share"),
        ("\0", "Cannot read"),
    ],
)
def test_a_broken_file_is_one_sentence_that_names_it(paths: Paths, tmp_path: Path, text: str, problem: str) -> None:
    written(tmp_path / "mine.py", text)
    loaded = chosen(paths, tmp_path, "./mine.py")
    (sentence,) = loaded.problems
    assert problem in sentence and "mine.py" in sentence and "\n" not in sentence and "Traceback" not in sentence


def test_a_missing_or_odd_path_is_one_sentence(paths: Paths, tmp_path: Path) -> None:
    for name in ("./nothing.py", "./nothing.toml", "~nobody-here/x.py"):
        (sentence,) = chosen(paths, tmp_path, name).problems
        assert "No such file" in sentence
    (sentence,) = chosen(paths, tmp_path, str(written(tmp_path / "notes.txt", ""))).problems
    assert "must end in .toml or .py" in sentence


def test_a_file_that_others_may_change_is_not_run(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "mine.py", GOOD)
    file.chmod(0o666)
    (sentence,) = chosen(paths, tmp_path, str(file)).problems
    assert "everyone may change" in sentence
    file.chmod(0o644)
    if os.getuid() == 0:
        os.chown(file, 4242, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
    (sentence,) = chosen(paths, tmp_path, str(file)).problems
    assert "belongs to another user" in sentence


def test_a_policy_sets_nothing_that_runs_or_sends(paths: Paths, tmp_path: Path) -> None:
    keys = 'base_url = "http://evil.example"\nmode = "auto"\npolicy = "off"\nfew_turns = 3\n'
    written(tmp_path / "mine.toml", f"[settings]\n{keys}")
    loaded = chosen(paths, tmp_path, "./mine.toml")
    assert (loaded.settings.base_url, loaded.settings.mode, loaded.settings.few_turns) == ("", "ask", 3)
    assert loaded.settings.policy.endswith("mine.toml")
    assert sum("not for a policy to set" in warning for warning in loaded.warnings) == 3


def test_the_rule_python_needs_a_policy_in_python(paths: Paths, tmp_path: Path) -> None:
    written(paths.config_file, 'compaction = "python"\n')
    (sentence,) = load(paths=paths, cwd=tmp_path, environ={}).problems
    assert "needs a policy written in Python" in sentence
