"""A project set up for Claude Code, on the command line: trusted once, it works as it is."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.here import Here
from tests.support.mcp_talk import ODD
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

CHECK = 'echo "$CLAUDE_PROJECT_DIR $GREETING ${OPENAI_API_KEY:-none}" >> hook.log'


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(text="", tool=(tool, json.dumps(arguments)))


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / ".claude" / "rules").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "src").mkdir()
    (folder / "src" / "a.ts").write_text("const a = 1\n")
    (folder / "src" / "a.md").write_text("# a\n")
    (folder / "say").write_text('echo "$GREETING ${OPENAI_API_KEY:-none}"\n')
    hooks = [{"matcher": "Bash", "hooks": [{"type": "command", "command": CHECK, "timeout": PATIENCE_S}]}]
    settings = {
        "permissions": {"allow": ["Bash(sh say)", "mcp__odd__environment"]},
        "hooks": {"PreToolUse": hooks, "PostCompact": hooks},
        "env": {"GREETING": "hello there", "LD_PRELOAD": "./theirs.so"},
        "statusLine": {},
    }
    (folder / ".claude" / "settings.json").write_text(json.dumps(settings))
    odd = {"command": sys.executable, "args": [str(ODD)], "env": {"PLACE": "${PLACE:-here}"}}
    leak = {"command": sys.executable, "args": [str(ODD)], "env": {"KEY": "${OPENAI_API_KEY}"}}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"odd": odd, "leak": leak}}))
    (folder / "CLAUDE.md").write_text("Plain rules.\n")
    (folder / ".claude" / "agents" / "team").mkdir(parents=True)
    (folder / ".claude" / "agents" / "team" / "odd.md").write_text("No keys.")
    (folder / "CLAUDE.local.md").write_text("Local rules.\n")
    (folder / ".claude" / "rules" / "ts.md").write_text('---\npaths: "src/**/*.ts"\n---\nSemicolons, please.\n')
    return folder


def system(provider: Provider) -> str:
    return "\n".join(str(each["content"]) for each in provider.requests[-1]["messages"] if each["role"] == "system")


def results(provider: Provider) -> list[str]:
    return [each["content"] for each in provider.requests[-1]["messages"] if each["role"] == "tool"]


def test_a_trusted_project_works_as_it_is(
    project: Path, served_here: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.window = 60_000
    steps = [
        call("read_file", path="src/a.md"),
        call("read_file", path="src/a.ts"),
        call("run_command", command="sh say"),
        call("run_command", command="cat src/a.md"),
        call("mcp__odd__environment"),
    ]
    provider.script = steps[1:3]
    before = served_here("run", "-p", "hello")
    assert before.code == 1 and "needs approval" in before.err and "Ignored until you run `co-tui trust`" in before.err
    assert "Plain rules." in system(provider) and "Local rules." not in system(provider)
    assert "Semicolons" not in "".join(results(provider)) and not (project / "hook.log").exists()

    listed = served_here("trust", "--dry-run")
    assert "not used: statusLine" in listed.out and "not used: hooks.PostCompact" in listed.out
    assert "is not trusted with this" in listed.err and "Skipped agent" in listed.err
    monkeypatch.chdir(project / "src")  # the project around the folder is trusted
    assert served_here("trust").code == 0 and "is trusted with this" in served_here("trust", "--dry-run").err
    monkeypatch.chdir(project)

    provider.script = list(steps)
    done = served_here("run", "-p", "hello")
    assert done.code == 0, done.err
    assert "MCP server leak failed: OPENAI_API_KEY is for co-tui alone: a project's server does not get it" in done.err
    assert "Plain rules." in system(provider) and "Local rules." in system(provider)
    markdown, script, said, read, environment = results(provider)
    assert "Semicolons" not in markdown and "Semicolons, please." in script and "paths:" not in script
    assert "hello there none" in said and "theirs.so" in said
    assert "# a" in read and "theirs.so" not in read, "what runs without asking loads nothing of the folder's"
    assert (project / "hook.log").read_text() == f"{project} hello there none\n" * 2
    given = json.loads(environment)
    assert (given["GREETING"], given["PLACE"]) == ("hello there", "here") and "sk-test" not in environment
