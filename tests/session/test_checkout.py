"""Which repository and branch a folder belongs to, found without running anything of it."""

import subprocess
from pathlib import Path

from co_tui.session.checkout import repository_branch_of


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_worktrees_share_their_repository_and_strangers_do_not(tmp_path: Path) -> None:
    shop, stranger = tmp_path / "shop", tmp_path / "stranger"
    shop.mkdir()
    git(shop, "init")
    git(shop, "commit", "--allow-empty", "-m", "first")
    git(shop, "worktree", "add", "-b", "feature/x", str(tmp_path / "tree"))
    (shop / "src").mkdir()
    assert repository_branch_of(shop / "src") == (str(shop), "main")
    assert repository_branch_of(tmp_path / "tree") == (str(shop), "feature/x")
    git(shop, "checkout", "--detach")
    assert repository_branch_of(shop) == (str(shop), "HEAD")
    assert repository_branch_of(tmp_path) == (str(tmp_path), "")
    inner = shop / "lib" / "inner"
    (shop / ".git" / "modules" / "lib" / "modules" / "inner").mkdir(parents=True)
    inner.mkdir(parents=True)
    (inner / ".git").write_text("gitdir: ../../.git/modules/lib/modules/inner\n")
    (shop / ".git" / "modules" / "lib" / "modules" / "inner" / "HEAD").write_text("ref: refs/heads/v2\n")
    assert repository_branch_of(inner) == (str(inner), "v2")
    # A folder that names another's repository as its own, in each way it could.
    stranger.mkdir()
    own = shop / ".git" / "worktrees" / "tree"
    made = stranger / "made"
    made.mkdir()
    (made / "commondir").write_text(str(shop / ".git"))
    (made / "gitdir").write_text(str(stranger / ".git"))
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    for named in (own, shop / ".git", made):
        (stranger / ".git").write_text(f"gitdir: {named}\n")
        assert repository_branch_of(stranger).repository == str(stranger), named
    (stranger / ".git").unlink()
    (stranger / ".git").symlink_to(shop / ".git")
    assert repository_branch_of(stranger).repository == str(stranger)
