"""Rules as Claude Code documents them, and what each does here. Where we differ, we are stricter, and say why."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.tool_names import CHANGING_TOOLS, READING_TOOLS
from co_tui.settings.consistency import rule_warnings, usable_rules
from co_tui.settings.permission_rules import read_permissions
from tests.support.cases import each_case

RUNS, ASKS, DENIED = "runs", "asks", "denied"


class Row(NamedTuple):
    """A rule, a call, what is documented about the call, and what happens here if that is something else."""

    rule: str
    call: str
    documented: str
    here: str = ""
    why: str = ""


SHELL = [
    Row("allow Bash", "npm run build", RUNS),
    Row("allow Bash(*)", "npm run build", RUNS),
    Row("allow Bash", "rm -rf build", RUNS, ASKS, "what cannot be undone has to be named by a rule"),
    Row("allow Bash(npm run build)", "npm run build", RUNS),
    Row("allow Bash(npm run build)", "npm run build --watch", ASKS),
    Row("allow Bash(npm run test:*)", "npm run test", RUNS),
    Row("allow Bash(npm run test:*)", "npm run test --fast", RUNS),
    Row("allow Bash(npm run test *)", "npm run test --fast", RUNS),
    Row("allow Bash(npm run test*)", "npm run test:unit", RUNS),
    Row("allow Bash(npm run test:*)", "npm run test:unit", RUNS),
    Row("allow Bash(npm run test:*)", "npm run tests", RUNS, ASKS, "another name, not one that goes on after a colon"),
    Row("allow Bash(npm run test *)", "npm run test:unit", ASKS),
    Row("allow Bash(npm run test:*)", "CI=1 npm run test", ASKS),
    Row("allow Bash(CI=1 npm run test:*)", "CI=1 npm run test", RUNS),
    Row("deny Bash(npm run test:*)", "CI=1 npm run test:unit", DENIED),
    Row("allow Bash(make *)", "maker", ASKS),
    Row("allow Bash(make*)", "maker", RUNS),
    Row("allow Bash(* --version)", "tool --version", RUNS),
    Row("allow Bash(git * main)", "git switch main", RUNS),
    Row("allow Bash(git commit:*)", "git commit -m 'a b'", RUNS),
    Row("allow Bash(git commit:*)", "git commit -m x && make", ASKS),
    Row("allow Bash(git commit:*)", "make; git commit -m x", ASKS),
    Row("allow Bash(git commit:*)", "git commit -m x | tee log", ASKS),
    Row("allow Bash(git commit:*)", "ls src && git commit -m x", RUNS),
    Row("allow Bash(npm test:*)", "timeout 30 npm test", RUNS),
    Row("allow Bash(npm test:*)", "npx npm test", ASKS),
    Row("allow Bash(npm test:*)", "npm test > log", ASKS),
    Row("allow Bash(rm:*)", "rm x", RUNS),
    Row("allow Bash(git push:*)", "git push", RUNS),
    Row("allow Bash(git push:*)", "git push --force", RUNS, ASKS, "the rule does not name that it overwrites history"),
    Row("ask Bash(git push:*)", "git push", ASKS),
    Row("ask Bash(ls:*)", "ls", ASKS),
    Row("deny Bash(curl:*)", "curl example.com", DENIED),
    Row("deny Bash(curl *)", "ls && curl example.com", DENIED),
    Row("deny Bash(curl:*)", "A=1 curl example.com", DENIED),
    Row("deny Bash(curl:*)", "sh -c 'curl example.com'", ASKS, DENIED, "commands that others start count, too"),
    Row("deny Bash", "make", DENIED),
    Row("allow Bash(make:*); ask Bash(make deploy:*)", "make deploy", ASKS),
    Row("allow Bash(make:*); deny Bash(make deploy:*)", "make deploy", DENIED),
    Row("ask Bash(make:*); deny Bash(make deploy:*)", "make deploy", DENIED),
]
FILES = [
    Row("allow Edit", "edit_file src/a.py", RUNS),
    Row("allow Edit(src/**)", "edit_file src/deep/b.py", RUNS),
    Row("allow Edit(src/*)", "edit_file src/deep/b.py", ASKS),
    Row("allow Edit(./src/**)", "write_file src/new.py", RUNS),
    Row("allow Edit(/src/**)", "edit_files src/a.py", RUNS),
    Row("allow Edit(*.py)", "edit_file src/a.py", RUNS),
    Row("allow Edit(src/**/*.py)", "edit_file src/a.py", RUNS),
    Row("allow Edit(docs/**)", "edit_file src/a.py", ASKS),
    Row("allow Write(src/**)", "write_file src/new.py", RUNS),
    Row("allow Edit", "edit_file .git/config", ASKS),
    Row("allow Edit(~/notes/**)", "edit_file ~/notes/a.md", RUNS, DENIED, "file tools change this folder only"),
    Row("ask Edit(src/**)", "edit_file src/a.py", ASKS),
    Row("deny Edit(src/**)", "edit_file src/a.py", DENIED),
    Row("deny Edit(src/**)", "echo x > src/a.py", ASKS, DENIED, "redirections count as edits"),
    Row("deny Edit(/src/**)", "edit_file inner/a.py", DENIED),
    Row("deny Edit(inner)", "edit_file inner/a.py", DENIED),
    Row("deny Read(.env)", "read_file .env", DENIED),
    Row("deny Read(.env)", "read_file src/.env", DENIED),
    Row("deny Read(./.env)", "read_file src/.env", RUNS),
    Row("deny Read(.env)", "edit_file .env", DENIED),
    Row("deny Read(.env)", "cat .env", DENIED),
    Row("deny Read(.env)", "grep -r x .", RUNS, ASKS, "it could show the file"),
    Row("deny Read(src/**)", "search_files src", DENIED),
    Row("deny Grep(src/**)", "search_files src", DENIED),
    Row("deny Grep", "search_files src", DENIED),
    Row("ask LS", "list_directory src", ASKS),
    Row("deny LS; deny Glob", "read_file src/a.py", RUNS),
    Row("ask Read(src/**)", "read_file src/a.py", ASKS),
    Row("allow Read", "read_file src/a.py", RUNS),
    Row("allow Read", "read_file ~/notes/a.md", ASKS, DENIED, "outside of the folder a path has to be named"),
    Row("allow Read(~/notes/**)", "read_file ~/notes/a.md", RUNS),
    Row("allow Read(~/notes/**)", "list_directory ~/notes", RUNS),
    Row("allow Read(~/notes/**)", "find_files ~/notes", RUNS),
    Row("allow Read(~/notes/**)", "cat ~/notes/a.md", RUNS),
    Row("allow Read(~/notes/*.md)", "read_file ~/notes/a.md", RUNS),
    Row("allow Read(~/notes/**)", "read_file ~/notes/link", ASKS, DENIED, "a link out of it is not followed"),
    Row("allow Read(//ROOT/other/x)", "read_file ../other/x", RUNS),
    Row("allow Read(/ROOT/other/x)", "read_file ../other/x", ASKS, DENIED, "one slash is the project, not the disk"),
    Row("allow Read(//ROOT/**); deny Read(*.pem)", "read_file key.pem", DENIED),
    Row("allow Read(~/**); deny Read(~/notes/**)", "read_file ~/notes/a.md", DENIED),
    Row("allow Read(//ROOT/own/**)", "read_file ../own/keys.json", RUNS, DENIED, "co-tui's own files are never read"),
]
OTHERS = [
    Row("allow WebFetch(domain:example.com)", "web_fetch https://example.com/a", RUNS),
    Row("allow WebFetch(domain:example.com)", "web_fetch https://docs.example.com", ASKS),
    Row("allow WebFetch(domain:*.example.com)", "web_fetch https://docs.example.com", RUNS),
    Row("deny WebFetch(domain:example.com)", "web_fetch https://example.com", DENIED),
    Row("allow WebFetch", "web_fetch https://example.com", RUNS),
    Row("allow WebFetch", "web_fetch http://10.0.0.1/", RUNS, ASKS, "private addresses have to be named"),
    Row("allow WebSearch", "web_search words", RUNS),
    Row("deny WebSearch", "web_search words", DENIED),
    Row("allow mcp__files", "mcp__files__read", RUNS),
    Row("allow mcp__files__*", "mcp__files__read", RUNS),
    Row("allow mcp__files__read", "mcp__files__read", RUNS),
    Row("allow mcp__files__read", "mcp__files__read_all", ASKS),
    Row("allow mcp__files__get_*", "mcp__files__get_page", RUNS),
    Row("allow mcp__*", "mcp__files__read", ASKS),
    Row("deny mcp__*", "mcp__files__read", DENIED),
    Row("allow mcp__files; deny mcp__files__write", "mcp__files__write", DENIED),
    Row("ask mcp__files__write; allow mcp__files", "mcp__files__write", ASKS),
    Row("deny Agent(reviewer)", "delegate_task reviewer", DENIED),
    Row("deny Task(reviewer)", "delegate_task reviewer", DENIED),
    Row("deny Agent(reviewer)", "delegate_task self", RUNS),
    Row("deny Agent", "delegate_task self", DENIED),
    Row("ask Agent(reviewer)", "delegate_task reviewer", ASKS),
    Row("deny Skill(deploy)", "load_capability deploy", DENIED),
    Row("deny Skill(deploy *)", "load_capability deploy", DENIED),
    Row("deny Skill(deploy)", "load_capability greet", RUNS),
    Row("deny TodoWrite", "write_plan x", DENIED),
]
UNUSABLE = [
    Row("allow Bsh(make:*); allow Bash(npm test:*)", "npm test", RUNS),
    Row(
        "deny Bash(curl; allow Bash(make:*)", "make", RUNS, ASKS, "no allow rule for a tool whose deny rule is unknown"
    ),
    Row("deny Bash(curl; allow Edit(src/**)", "edit_file src/a.py", RUNS),
    Row("deny Bsh(curl:*); allow Edit(src/**)", "edit_file src/a.py", RUNS, ASKS, "its tool cannot be read"),
    Row("ask WebFetch(example.com); allow WebFetch", "web_fetch https://example.com", RUNS, ASKS, "as for deny rules"),
    Row("deny mcp__a b; allow mcp__files", "mcp__files__read", RUNS, ASKS, "as for deny rules"),
    Row("deny PowerShell(rm:*); allow Bash(make:*)", "make", RUNS),
]
ARGUMENTS = {"web_fetch": "url", "web_search": "query", "delegate_task": "agent_name", "load_capability": "id"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place, home = tmp_path / "repo", tmp_path / "home"
    for path in ("src/deep", ".git"):
        (place / path).mkdir(parents=True)
    for path in ("src/a.py", "src/.env", ".env", "key.pem"):
        (place / path).write_text("x")
    (place / "inner").symlink_to(place / "src")
    for file in (home / "notes/a.md", tmp_path / "other/x", tmp_path / "own/keys.json"):
        file.parent.mkdir(parents=True)
        file.write_text("x")
    (home / "notes/link").symlink_to(tmp_path / "other/x")
    return place


@each_case("row", [*SHELL, *FILES, *OTHERS, *UNUSABLE])
def test_a_rule_does_what_is_documented_or_less(row: Row, folder: Path) -> None:
    rules = row.rule.replace("/ROOT", str(folder.parent)).split("; ")
    assert outcome(rules, row.call, folder) == (row.here or row.documented)


def test_the_table_has_sixty_rules_and_a_reason_for_each_difference() -> None:
    rows = [*SHELL, *FILES, *OTHERS, *UNUSABLE]
    assert len({row.rule for row in rows}) >= 60
    assert all(bool(row.here) == bool(row.why) for row in rows)


def outcome(rules: list[str], call: str, folder: Path) -> str:
    """What becomes of a call, which is a command unless it begins with the name of a tool."""
    table: dict[str, list[str]] = {}
    for effect, _, text in (rule.partition(" ") for rule in rules):
        table.setdefault(effect, []).append(text)
    judge = Judge(
        folder=folder, home=folder.parent / "home", environ={"PATH": os.environ["PATH"]}, own=(folder.parent / "own",)
    )
    written = usable_rules(read_permissions(table))
    tool, arguments = parsed(call)
    verdict = judge.verdict(tool, arguments, "ask", written)
    action = {"run": RUNS, "ask": ASKS, "refuse": DENIED}[verdict.action]
    if tool not in READING_TOOLS | CHANGING_TOOLS:
        return action
    named = call.partition(" ")[2]
    real = judge.rules("ask", written).resolve(named)
    assert real is not None
    # The file tools themselves refuse what is outside, unless a rule allows reading it.
    if not real.is_relative_to(folder) and (tool in CHANGING_TOOLS or not judge.outside_reader(written)(real)):
        return DENIED
    return action


def parsed(call: str) -> tuple[str, dict[str, Any]]:
    tool, _, named = call.partition(" ")
    if tool == "edit_files":
        return tool, {"files": [{"path": named}]}
    if tool in READING_TOOLS | CHANGING_TOOLS | {"write_plan"} or tool.startswith("mcp__"):
        return tool, {"path": named}
    return (tool, {ARGUMENTS[tool]: named}) if tool in ARGUMENTS else ("run_command", {"command": call})


def test_what_cannot_be_used_is_named() -> None:
    rules = read_permissions(
        {"allow": ["Bsh(x)", "SlashCommand"], "deny": ["Bash(curl", "Foo(x)"], "ask": ["Edit(src"]}
    )
    assert rule_warnings(each._replace(source="config.toml") for each in rules) == [
        "config.toml: deny 'Bash(curl' is not a rule. Until you fix it, no allow rule for Bash applies.",
        "config.toml: deny 'Foo(x)' is not a rule. Until you fix it, no allow rule applies.",
        "config.toml: ask 'Edit(src' is not a rule. Until you fix it, no allow rule for Edit applies.",
        "config.toml: allow 'Bsh(x)' is not a rule. Ignored.",
        "config.toml: allow 'SlashCommand' has no effect: there is no such tool.",
    ]


def test_a_slash_starts_at_the_folder_of_the_projects_file(folder: Path) -> None:
    judge = Judge(folder=folder / "src", home=folder.parent / "home")
    (rule,) = read_permissions({"deny": ["Read(/.env)"]})
    path = {"path": "../.env"}
    assert judge.verdict("read_file", path, "ask", [rule]).action == "run", "the working directory's own"
    ours = rule._replace(source=str(folder / ".co-tui.toml"))
    assert judge.verdict("read_file", path, "ask", [ours]).action == "refuse"
