"""Permission rules and modes on the command line."""

import json
from pathlib import Path

import pytest

from co_tui.paths import locate
from co_tui.session.approvals.kept_approvals import KeptApprovals
from co_tui.session.approvals.marks import Marks
from co_tui.settings.layers import load
from tests.support.here import Here
from tests.support.provider import Provider, Reply


def settings_of(home: Path, cwd: Path):
    return load(paths=locate({"CO_TUI_HOME": str(home)}), cwd=cwd, environ={}).settings


def test_rules_of_claude_code_are_taken_over(here: Here, home: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "claude"
    theirs.mkdir()
    table = {
        "allow": ["Bash(npm run test:*)", "Read(~/.zshrc)", "Foo(x)", "mcp__files__read"],
        "deny": ["Read(./.env)", "WebFetch"],
        "ask": ["Bash(git push:*)"],
        "defaultMode": "acceptEdits",
    }
    (theirs / "settings.json").write_text(json.dumps({"permissions": table}))
    here.environ["CLAUDE_CONFIG_DIR"] = str(theirs)
    done = here("import", "--from", "claude-code", "--permissions")
    assert done.code == 0 and "allow Bash(npm run test:*)" in done.out
    assert "Skipped (not supported): allow Foo(x)" in done.err and "Added 6 rules" in done.err
    rules = {(each.effect, str(each.rule)) for each in settings_of(home, tmp_path).permissions}
    assert rules == {
        ("allow", "Bash(npm run test:*)"), ("allow", "Read(~/.zshrc)"), ("allow", "mcp__files__read"),
        ("deny", "Read(./.env)"), ("deny", "WebFetch"), ("ask", "Bash(git push:*)"),
    }  # fmt: skip
    again = here("import", "--from", "claude-code", "--permissions")
    assert again.code == 0 and "Added 0 rules" in again.err and "6 already there" in again.err


def test_what_cannot_be_taken_over_is_said(here: Here, tmp_path: Path) -> None:
    here.environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "none")
    done = here("import", "--from", "claude-code", "--permissions")
    assert done.code == 1 and "does not exist" in done.err
    (tmp_path / "none").mkdir()
    (tmp_path / "none/settings.json").write_text("{")
    done = here("import", "--from", "claude-code", "--permissions")
    assert done.code == 1 and "Cannot read" in done.err
    assert here("import", "--from", "codex", "--permissions").code == 2


def test_a_mode_that_does_not_exist_is_named(here: Here) -> None:
    done = here("run", "--mode", "yolo", "-p", "x")
    assert done.code == 2 and "mode = 'yolo' (the command line) is not allowed" in done.err
    assert "ask, edits, plan, auto" in done.err


def test_a_run_that_shall_not_ask_does_not_begin_without_a_sandbox(
    served_here: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = served_here("run", "--mode", "auto", "-p", "mend it")
    assert (done.code, done.out, provider.requests) == (1, "", [])
    assert "Mode auto needs a sandbox, which does not start here: bwrap is not installed." in done.err


def test_kept_patterns_of_older_versions(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    older = [
        {"tool": "run_command", "pattern": "git commit *"},
        {"tool": "run_command", "pattern": "python3.11 *"},
        {"tool": "run_command", "pattern": "CI=1 *"},
        {"tool": "run_command", "pattern": "python x.py"},
        {"tool": "edit_file", "pattern": "src/*"},
        {"tool": "write_file", "pattern": "*"},
        {"tool": "mcp__a__b", "pattern": "mcp__a__b"},
        {"tool": "run_command", "pattern": ""},
        "Bash(make:*)", "Bash", 7,
    ]  # fmt: skip
    file.write_text(json.dumps({str(tmp_path): older}))
    kept = KeptApprovals(file, tmp_path, Marks(None))
    rules = ["git commit, harmless options", "Bash(python x.py)", "Edit(src/**)", "mcp__a__b", "make, harmless options"]
    assert [rule.shown for rule in kept.rules()] == rules
    assert kept.drop_too_broad() == ["run_command: python3.11 *", "run_command: CI=1 *", "write_file: *"]
    assert kept.drop_too_broad() == [] and [rule.shown for rule in kept.rules()] == rules


def test_a_rule_that_cannot_be_used_is_named_and_stops_no_run(here: Here, home: Path, provider: Provider) -> None:
    provider.window = 60_000
    here.environ |= {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
    config = home / "config/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[permissions]\nallow = ["Bsh(x)", "Bash(touch:*)"]\n')
    touch = Reply(text="", tool=("run_command", '{"command": "touch made"}'))
    for deny, ran in (("", True), ("Bash(curl", False), ("Foo", False)):
        if deny:
            config.write_text(f'[permissions]\nallow = ["Bash(touch:*)"]\ndeny = ["{deny}"]\n')
        provider.script = [touch, Reply(text="done")]
        done = here("run", "--model", "openai-chat:scripted", "-p", "touch it")
        made = Path("made")
        assert done.code == (0 if ran else 1) and made.exists() is ran
        assert (f"deny {deny!r} is not a rule" if deny else "allow 'Bsh(x)' is not a rule. Ignored.") in done.err
        made.unlink(missing_ok=True)
    assert "no allow rule applies" in done.err
    refused = here("config", "permissions", '{"deny": ["Bsh(x)"]}')
    assert refused.code != 0 and "'Bsh(x)' is not a rule" in refused.err and "Nothing was saved." in refused.err


def test_a_refused_command_is_printed_with_all_its_dangers(here: Here, provider: Provider) -> None:
    provider.window = 60_000
    here.environ |= {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
    command = json.dumps({"command": "rm -rf build && git push"})
    provider.script = [Reply(text="", tool=("run_command", command)), Reply(text="Not done.")]
    done = here("run", "--model", "openai-chat:scripted", "-p", "clean")
    why = "deletes files and publishes or sends to others; needs approval; use --yes"
    assert f"Denied: run rm -rf build && git push ({why})" in done.err


def test_a_plan_is_printed(here: Here, provider: Provider) -> None:
    provider.window = 60_000
    plan = json.dumps({"steps": ["read the tests", "mend the fixture"], "summary": "The fixture is too early."})
    provider.script = [Reply(text="", tool=("present_plan", plan)), Reply(text="That is the plan.")]
    here.environ |= {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
    done = here("run", "--mode", "plan", "--model", "openai-chat:scripted", "-p", "plan it")
    assert done.code == 0
    assert "The fixture is too early.\n1. read the tests\n2. mend the fixture\n" in done.out


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ('[permissions]\ndenny = ["Read(.env)"]\n', "permissions.denny = ['Read(.env)']"),
        ('[permissions]\ndeny = "Read(.env)"\n', "permissions.deny = 'Read(.env)'"),
        ('permissions = "Read(.env)"\n', "permissions = ['Read(.env)']"),
        ('[permissions]\ndeny = ["Read(.env)"\n', "Cannot read"),
    ],
)
def test_rules_of_a_project_that_cannot_be_read_suspend_what_is_allowed(
    here: Here, home: Path, provider: Provider, table: str, named: str
) -> None:
    provider.window = 60_000
    here.environ |= {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
    config = home / "config/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[permissions]\nallow = ["Bash(touch:*)"]\n')
    Path(".co-tui.toml").write_text(table)
    provider.script = [Reply(text="", tool=("run_command", '{"command": "touch made"}')), Reply(text="done")]
    done = here("run", "--model", "openai-chat:scripted", "-p", "touch it")
    assert done.code == 1 and not Path("made").exists(), "denied, since no one could be asked"
    (said,) = [line for line in done.err.splitlines() if "Until you fix it, no allow rule applies." in line]
    assert named in said
