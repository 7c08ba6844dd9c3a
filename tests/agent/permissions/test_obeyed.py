"""Which paths of a folder make other programs run things, however they are written."""

from pathlib import Path

import pytest

from co_tui.agent.permissions.obeyed import obeyed_name

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


@pytest.mark.parametrize(
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
