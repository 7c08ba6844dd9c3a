"""Which paths of a folder make other programs run things, however they are written."""

from pathlib import Path

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.obeyed import obeyed_name
from co_tui.settings.permission_rules import RuleInForce, parse_rule
from tests.support.cases import each_case
from tests.support.ways_to_run import AT_HOME, JOBS, WAYS, write

HOME = Path("/home/me")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "dot").mkdir()
    (folder / "githooks").mkdir()
    (folder / "sub").mkdir()
    (folder / "to-git").symlink_to(".git")
    (folder / ".claude").symlink_to("dot")
    (folder / "sub" / ".git").mkdir()
    (folder / "sub" / ".git" / "hooks").symlink_to("../../sub/scripts")
    (folder / "config").symlink_to(".git/config")
    (folder / "outside").symlink_to(tmp_path / "other")
    return folder


@each_case(
    ("path", "name"),
    [
        (".git", ".git"),
        (".git/hooks/pre-commit", ".git"),
        (".git/objects/ab/cd", ".git"),
        ("src/../.git/config", ".git"),
        ("src/.git", ".git"),
        ("a/b/c/.mcp.json", ".mcp.json"),
        (".MCP.json", ".mcp.json"),
        (".Git/config", ".git"),
        (".g\u200cit/config", ".git"),
        (".git./config", ".git"),
        ("GIT~1/config", ".git"),
        (".git::$INDEX_ALLOCATION/config", ".git"),
        ("to-git/hooks/x", ".git"),
        ("config", ".git"),
        (".claude/settings.json", ".claude"),
        ("dot/settings.json", ".claude"),
        ("sub/scripts/pre-commit", ".git"),
        ("outside/.codex/config.toml", ".codex"),
        (".gitmodules", ".gitmodules"),
        (".co-tui.toml", ".co-tui.toml"),
        (".agents/skills/x/SKILL.md", ".agents"),
        ("src/main.py", None),
        (".gitignore", None),
        (".gitattributes", None),
        ("git/config", None),
        ("claude.md", None),
        (".mcp.json.bak", None),
        ("githooks/x", None),
        (".", None),
        ("", None),
        ("src/../README.md", None),
    ],
)
def test_a_path_is_protected_by_what_it_leads_to(folder: Path, path: str, name: str | None) -> None:
    assert obeyed_name(path, folder, HOME) == name
    assert obeyed_name(folder / path, folder, HOME) == name


def test_what_is_above_the_folder_does_not_count(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "worktrees" / "x"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    assert obeyed_name("main.py", folder, HOME) is None
    assert obeyed_name("main.py", tmp_path / "link", HOME) is None
    assert obeyed_name(folder / "main.py", tmp_path / "link", HOME) is None
    assert obeyed_name(folder / ".git", tmp_path / "link", HOME) == ".git"


def asked(folder: Path, path: str, mode: str, *allowed: str, home: Path = HOME) -> bool:
    rules = [RuleInForce("allow", parse_rule(each), "test") for each in allowed]
    found = Judge(folder=folder, home=home).verdict("write_file", {"path": path}, mode, rules)
    assert found.protected is (found.action == "ask")
    return found.protected


@pytest.mark.parametrize("mode", ["edits", "auto"])
@pytest.mark.parametrize("way", WAYS)
def test_file_tools_ask_about_what_makes_programs_run(tmp_path: Path, mode: str, way: str) -> None:
    """Judged one after the other, as each is written, and all at once, as several agents could write them."""
    assert any(asked(tmp_path, name, mode) for name in WAYS[way])
    for name, text in WAYS[way].items():
        if not asked(tmp_path, name, mode, "Edit"):
            write(tmp_path, {name: text})
    assert any(not (tmp_path / name).exists() for name in WAYS[way])


@pytest.mark.parametrize("mode", ["edits", "auto"])
def test_file_tools_ask_about_nothing_else(tmp_path: Path, mode: str) -> None:
    write(tmp_path, {".git/HEAD": "", "src/a.py": ""})
    assert [name for names in JOBS.values() for name in names if asked(tmp_path, name, mode)] == []


@pytest.mark.parametrize("present", [("HEAD",), ("HEAD", "refs"), ("HEAD", "objects", "refs"), ("objects", "refs")])
def test_a_part_of_a_git_folder_counts_with_what_is_there(tmp_path: Path, present: tuple[str, ...]) -> None:
    write(tmp_path, {f"src/{name}" if name == "HEAD" else f"src/{name}/x": "" for name in present})
    is_whole, has_head = len(present) == 3, "HEAD" in present
    found = {name: asked(tmp_path, f"src/{name}", "edits") for name in ("HEAD", "objects/y", "refs/y", "commondir")}
    assert found == {"HEAD": True, "objects/y": has_head, "refs/y": has_head, "commondir": has_head}
    assert asked(tmp_path, "src/config", "edits") is asked(tmp_path, "src/hooks/x", "edits") is is_whole
    assert not asked(tmp_path, "src/a.py", "edits") and not asked(tmp_path, "config", "edits")
    named = obeyed_name("src/HEAD", tmp_path, HOME)  # a word of a command, as in `git diff HEAD`
    assert (named is not None) is ({"objects", "refs"} <= set(present))


@pytest.mark.parametrize("name", AT_HOME)
def test_what_a_home_obeys_is_asked_about_whatever_rules_allow(tmp_path: Path, name: str) -> None:
    folder = tmp_path / Path(name).parts[0] if "/" in name else tmp_path / "dotfiles"
    folder.mkdir()
    assert asked(folder, str(tmp_path / name), "edits", "Edit(//**)", home=tmp_path)
    assert not asked(folder, str(tmp_path / "notes" / name.replace(".", "")), "edits", "Edit(//**)", home=tmp_path)


def test_a_link_in_the_home_leads_to_what_it_obeys(tmp_path: Path) -> None:
    write(tmp_path, {"dotfiles/bashrc": "", "dotfiles/fish/config.fish": "", "dotfiles/README.md": ""})
    (tmp_path / ".config").mkdir()
    (tmp_path / ".bashrc").symlink_to("dotfiles/bashrc")
    (tmp_path / ".config/fish").symlink_to("../dotfiles/fish")
    names = ("bashrc", "fish/config.fish", "fish/functions/new.fish", "README.md")
    found = [asked(tmp_path / "dotfiles", name, "edits", home=tmp_path) for name in names]
    assert found == [True, True, True, False]


def test_what_git_is_configured_to_obey_is_asked_about(tmp_path: Path) -> None:
    config = "[core]\n\thooksPath = .husky/_\n[include]\n\tpath = ../team.gitconfig\n\tpath = ~nobody-there/x\n"
    write(tmp_path, {".git/config": config, ".husky/_/pre-commit": ""})
    names = (".husky/_/pre-commit", ".husky/_/new", "team.gitconfig", ".husky/pre-commit", "src/.husky/_/x")
    assert [asked(tmp_path, name, "edits") for name in names] == [True, True, True, False, False]
    write(tmp_path, {".vscode/a": ""})
    assert asked(tmp_path / ".vscode", "tasks.json", "edits"), "also where one works in that folder"
    assert asked(tmp_path / "src", "../team.gitconfig", "edits", "Edit(//**)")
