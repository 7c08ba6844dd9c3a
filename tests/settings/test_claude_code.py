"""What a project has for Claude Code: read as data, listed, and in force once the folder is trusted."""

import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.paths import Paths, locate
from co_tui.settings import (
    Loaded,
    Settings,
    agents_in_force,
    commands_in_force,
    found_own_files,
    instructions_in_force,
    load,
    own_skill_folders,
    project_trust_request,
)
from co_tui.settings.hook_entries import LONGEST_S
from co_tui.settings.trust_texts import trust_lines, unused_text
from co_tui.trust import Trust, TrustRequest

HOOK = {"type": "command", "command": "check", "timeout": 5}
SETTINGS = {
    "$schema": "https://example.com",
    "permissions": {
        "allow": ["Bash(make test:*)"],
        "ask": ["Bash(git push:*)"],
        "deny": ["Read(/private/**)"],
        "additionalDirectories": ["../other"],
        "defaultMode": "acceptEdits",
    },
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [HOOK, {"type": "prompt", "prompt": "ok?"}]}],
        "PostToolUse": [{"hooks": [{**HOOK, "timeout": -1}, {"type": "command", "command": "lint", "async": True}]}],
        "Stop": [{"hooks": [{**HOOK, "if": "Bash(rm *)"}]}],
        "WorktreeCreate": [{"hooks": [HOOK]}],
    },
    "env": {"STAGE": "test", "PORT": 80, "CO_TUI_MODEL": "openai:evil", "ANTHROPIC_API_KEY": "sk-ant-theirs"},
    "statusLine": {"type": "command", "command": "x"},
    "disabledMcpjsonServers": ["old"],
}
SERVERS = {
    "mcpServers": {
        "files": {"command": "./serve", "args": ["${PLACE:-here}"], "env": {"STAGE": "server"}, "timeout": 5000},
        "docs": {"type": "http", "url": "https://example.com/${OPENAI_API_KEY}", "headers": {"A": "${TOKEN}"}},
        "old": {"command": "old"},
        "socket": {"type": "ws", "url": "ws://example.com"},
        "broken": {"command": 5},
        "signed": {"type": "http", "url": "https://example.com/mcp", "oauth": {}},
    }
}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "user"


@pytest.fixture
def paths(home: Path, user: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(home), "HOME": str(user)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "cloned"
    (folder / ".claude" / "rules" / "api").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


def put(project: Path, name: str, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (project / name).write_text(text)


def loaded(paths: Paths, project: Path) -> Loaded:
    return load(paths=paths, cwd=project, environ={})


def trusted(paths: Paths, project: Path) -> Loaded:
    Trust(paths.trust_file).remember(request(project), trusted=True)
    return loaded(paths, project)


def request(project: Path) -> TrustRequest:
    found = project_trust_request(project)
    assert found is not None
    return found


def test_before_trust_a_project_only_tightens_and_after_it_all_is_in_force(paths: Paths, project: Path) -> None:
    put(project, ".claude/settings.json", SETTINGS)
    put(project, ".mcp.json", SERVERS)
    before = loaded(paths, project)
    plain = load(paths=paths, cwd=paths.data, environ={}).settings
    assert before.problems == () and before.withheld is not None
    assert [str(each.rule) for each in before.settings.permissions] == ["Read(/private/**)", "Bash(git push:*)"]
    assert before.settings == plain.but(permissions=before.settings.permissions)
    warned = "\n".join(before.warnings)
    assert "settings.json wants to set" in warned and ".mcp.json wants to set mcp_servers = files, docs" in warned

    after = trusted(paths, project)
    assert after.withheld is None and after.problems == () and after.warnings == ()
    now = after.settings
    assert now.add_dirs == (str(project.parent / "other"),)
    assert now.mode == "edits" and dict(now.env) == {"STAGE": "test", "PORT": "80"} and now.model == ""
    assert {
        event: [(each.command, each.matcher, each.timeout_s) for each in now.hooks[event]] for event in now.hooks
    } == {
        "preToolUse": [("check", "Bash", 5)],
        "postToolUse": [("lint", "", 600)],
    }
    assert list(now.mcp_servers) == ["files", "docs", "signed"] and now.mcp_servers["files"].timeout_s == 5
    assert now.mcp_servers["files"].is_project and now.mcp_servers["files"].variables == now.env
    (deny,) = [each for each in now.permissions if each.effect == "deny"]
    assert deny.covers(project / "private" / "x", project / "src", paths.data), "`/` is the project's root"


def test_further_folders_begin_at_the_project_and_no_link_in_it_leads_out(paths: Paths, project: Path) -> None:
    for name in ("inner", "src"):
        (project / name).mkdir()
    (project / "way").symlink_to(project.parent)
    put(project, ".claude/settings.json", {"permissions": {"additionalDirectories": ["inner", "../lib", "way/x"]}})
    put(project, ".claude/settings.local.json", {"permissions": {"additionalDirectories": ["../own"]}})
    paths.config.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text('add_dirs = ["~/notes"]\n')
    assert loaded(paths, project).settings.add_dirs == ("~/notes",)
    Trust(paths.trust_file).remember(request(project), trusted=True)
    found = loaded(paths, project / "src")
    around = project.parent
    assert found.settings.add_dirs == (f"{around}/own", f"{project}/inner", f"{around}/lib", "~/notes")
    assert [each.partition(": ")[2] for each in found.folder_problems] == [
        f"{project}/way/x is a link out of the project. Ignored."
    ]


def test_the_list_says_what_each_file_would_do_and_names_each_unused_key(project: Path) -> None:
    put(project, ".claude/settings.json", SETTINGS)
    put(project, ".mcp.json", SERVERS)
    put(project, "CLAUDE.md", "Text.")
    lines = [line.strip() for line in trust_lines(request(project), ["OPENAI_API_KEY"])]
    for used in (
        "allow: Bash(make test:*)",
        "deny (without trust, too): Read(/private/**)",
        "mode = 'edits'",
        "works in further folders: ../other",
        "runs at preToolUse of Bash: check",
        "variables for commands, hooks and servers: STAGE, PORT",
        "starts MCP server files: ./serve ${PLACE:-here} (is given PLACE)",
        "CLAUDE.md",
    ):
        assert used in lines
    unused = [line.removeprefix("not used: ") for line in lines if line.startswith("not used: ")]
    assert [line.split(" ")[0].rstrip(":") for line in unused] == [
        "hooks.PreToolUse.hooks",
        "hooks.PostToolUse.hooks.async",
        "hooks.Stop.hooks.if",
        "hooks.WorktreeCreate",
        "hooks.PostToolUse.hooks.timeout",
        "env.CO_TUI_MODEL",
        "env.ANTHROPIC_API_KEY",
        "statusLine",
        "mcpServers.old",
        "mcpServers.socket",
        "mcpServers.broken",
        "mcpServers.signed.oauth",
    ]
    (docs,) = [line for line in lines if line.startswith("starts MCP server docs")]
    assert docs.endswith("(does not start: it wants OPENAI_API_KEY, which is for co-tui alone)")
    assert "sk-ant-theirs" not in "\n".join(lines)
    assert "statusLine (.claude/settings.json)" in unused_text(request(project).files)


def test_the_stronger_file_switches_the_hooks_of_all_files_off(paths: Paths, project: Path) -> None:
    put(project, ".claude/settings.json", {"hooks": {"Stop": [{"hooks": [HOOK]}]}})
    assert trusted(paths, project).settings.hooks
    for name, switch in ((".claude/settings.json", False), (".claude/settings.local.json", True)):
        found = json.loads((project / name).read_text()) if (project / name).exists() else {}
        put(project, name, {**found, "disableAllHooks": switch})
    assert "  not used: hooks: disableAllHooks is on" in trust_lines(request(project))
    assert trusted(paths, project).settings.hooks == {}


def test_files_below_the_project_s_root_are_named_as_unused(paths: Paths, project: Path) -> None:
    (project / "package" / ".claude").mkdir(parents=True)
    put(project, "package/.claude/settings.json", {"permissions": {"deny": ["Bash(make:*)"]}})
    (sentence,) = loaded(paths, project / "package").warnings
    assert f"{project}/package/.claude is not used: the project is {project}." in sentence
    put(project, "package/.co-tui.toml", "")
    now = loaded(paths, project / "package")
    assert now.warnings == () and [str(each.rule) for each in now.settings.permissions] == ["Bash(make:*)"]


def test_variables_of_other_programs_reach_commands(paths: Paths, project: Path) -> None:
    put(
        project,
        ".claude/settings.json",
        {"env": {"CLAUDE_FLOW_HOOKS": "on", "CLAUDE_CODE_X": "1", "CLAUDE_CONFIG_DIR": "."}},
    )
    assert dict(trusted(paths, project).settings.env) == {"CLAUDE_FLOW_HOOKS": "on"}


def test_no_length_hides_a_part_of_the_list(paths: Paths, project: Path) -> None:
    hook = {"type": "command", "command": f"true {' ' * 20_000}; last", "timeout": 10**400}
    rules = [f"Bash(make target-{number})" for number in range(200)]
    put(project, ".claude/settings.json", {"permissions": {"allow": [*rules, "Bash(last)"]}, "hooks": {"Stop": hook}})
    lines = trust_lines(request(project))
    assert "  runs at stop: true ; last" in lines and any(line.endswith(", Bash(last)") for line in lines)
    assert max(map(len, lines)) < 2_100
    assert trusted(paths, project).settings.hooks["stop"][0].timeout_s == LONGEST_S, "what a clock can count"


@pytest.mark.parametrize(
    ("file", "change"),
    [
        (".claude/settings.json", {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "other"}]}]}}),
        (".claude/settings.local.json", {"env": {"PATH": "/evil"}}),
        (".mcp.json", {"mcpServers": {"more": {"command": "more"}}}),
        (".claude/rules/new.md", "More."),
    ],
)
def test_what_changes_after_trust_is_asked_about_again(paths: Paths, project: Path, file: str, change: Any) -> None:
    put(project, ".claude/settings.json", {"hooks": {"Stop": [{"hooks": [HOOK]}]}, "theme": "dark"})
    assert trusted(paths, project).withheld is None
    put(project, ".claude/settings.json", {"hooks": {"Stop": [{"hooks": [HOOK]}]}, "theme": "light"})
    assert loaded(paths, project).withheld is None, "a key without effect here"
    put(project, file, change)
    now = loaded(paths, project)
    assert now.withheld is not None and now.settings.hooks == {} == dict(now.settings.env)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "line 1: Expecting"),
        (b"[]", "it is not a JSON object"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"\xff\xfe{}", "it is not UTF-8"),
        (b" " * 300_000, "it is over 256,000 bytes"),
    ],
)
def test_a_broken_file_is_one_sentence_and_does_not_stop_the_rest(
    paths: Paths, project: Path, content: bytes, said: str
) -> None:
    put(project, ".claude/settings.json", {"env": {"STAGE": "test"}, "permissions": {"allow": ["Bash(make:*)"]}})
    (project / ".mcp.json").write_bytes(content)
    now = trusted(paths, project)
    (sentence,) = now.folder_problems
    assert said in sentence and sentence.endswith("Ignored.") and now.problems == ()
    assert now.settings.env["STAGE"] == "test"
    (project / ".claude" / "settings.local.json").write_bytes(content)
    assert any(said in each and each.endswith("no allow rule applies.") for each in loaded(paths, project).warnings)


def test_links_out_of_the_project_are_not_followed(paths: Paths, project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    put(elsewhere, "secret.json", {"env": {"STAGE": "leaked"}})
    put(elsewhere, "secret.md", "leaked")
    (project / ".claude" / "settings.json").symlink_to(elsewhere / "secret.json")
    (project / "CLAUDE.local.md").symlink_to(elsewhere / "secret.md")
    (project / ".claude" / "rules" / "linked").symlink_to(elsewhere)
    (project / ".claude" / "rules" / "one.md").symlink_to(elsewhere / "secret.md")
    now = loaded(paths, project)
    assert dict(now.settings.env) == {} and now.withheld is None
    assert len([each for each in now.warnings if "it is a link out of the project" in each]) == 3
    assert instructions_in_force(paths, project, now.settings) == ()


def test_instructions_count_once_trusted_and_rules_name_their_files(paths: Paths, project: Path) -> None:
    put(project, ".claude/CLAUDE.md", "Main.")
    put(project, "CLAUDE.local.md", "Mine.")
    put(project, ".claude/rules/api/rest.md", '---\npaths: ["src/**/*.{ts,tsx}", lib/*.py]\n---\nUse REST.\n')
    put(project, ".claude/rules/list.md", "---\npaths:\n  - 'a/{b,c}.md'\n  - d\n---\nList.")
    put(project, ".claude/rules/line.md", "---\nA line across, no keys.")
    (project / ".claude" / "rules" / "odd.md").write_bytes(b"\xff")
    now = loaded(paths, project)
    assert now.withheld is not None and "5 instruction files" in "\n".join(now.warnings)
    assert "odd.md: it is not UTF-8" in "\n".join(now.warnings)
    assert instructions_in_force(paths, project, now.settings) == ()
    trusted(paths, project)
    put(project, "CLAUDE.local.md", "Changed.")
    found = instructions_in_force(paths, project / ".claude", now.settings)
    assert {each.name: (each.text, each.patterns) for each in found} == {
        ".claude/CLAUDE.md": ("Main.", ()),
        ".claude/rules/line.md": ("---\nA line across, no keys.", ()),
        ".claude/rules/list.md": ("List.", ("a/{b,c}.md", "d")),
        ".claude/rules/api/rest.md": ("Use REST.", ("src/**/*.{ts,tsx}", "lib/*.py")),
        "CLAUDE.local.md": ("Changed.", ()),
    }


def test_the_user_s_own_files_for_other_agents_are_used_when_the_user_says_so(
    paths: Paths, user: Path, tmp_path: Path
) -> None:
    for name in (".claude/commands", ".claude/agents", ".claude/skills/pdf", ".codex"):
        (user / name).mkdir(parents=True)
    put(user, ".claude/CLAUDE.md", "Be brief.")
    put(user, ".codex/AGENTS.md", "Be exact.")
    put(user, ".claude/commands/say.md", "Say it.")
    put(user, ".claude/agents/reader.md", "---\nname: reader\n---\nRead.")
    put(user, ".claude/skills/pdf/SKILL.md", "x")
    found = found_own_files(paths)
    assert found[2:] == ["1 command", "1 agent", "1 skill"] and found[0].endswith("AGENTS.md")
    for answer, used in (("ask", False), ("off", False), ("on", True)):
        settings = Settings(files_of_other_agents=answer)
        assert [each.name for each in agents_in_force(paths, tmp_path, settings).agents] == ["reader"] * used
        assert [each.name for each in commands_in_force(paths, tmp_path, settings).commands] == ["say", "pdf"][
            : 2 * used
        ]
        texts = [each.text for each in instructions_in_force(paths, tmp_path, settings)]
        assert texts == ["Be exact.", "Be brief."] * used
        assert own_skill_folders(paths, settings)[1:] == (user / ".claude" / "skills",) * used
    (tmp_path / ".co-tui.toml").write_text('files_of_other_agents = "on"\n')
    assert loaded(paths, tmp_path).settings.files_of_other_agents == "ask", "no project can say so"


def test_an_unknown_event_in_one_s_own_settings_is_named_and_the_rest_runs(paths: Paths, project: Path) -> None:
    paths.config.mkdir(parents=True)
    paths.config_file.write_text('[hooks]\nstop = "mine"\nworktreeCreate = "x"\n')
    now = loaded(paths, project)
    assert now.problems == () and [each.command for each in now.settings.hooks["stop"]] == ["mine"]
    assert now.unknown == (f"{paths.config_file}: hooks.worktreeCreate: there is no such event. Ignored.",)
