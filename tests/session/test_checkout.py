"""Which repository and branch a folder belongs to, found without running anything of it."""

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from co_tui.events import SessionStart
from co_tui.session.checkout import repository_branch_of, repository_of
from co_tui.session.repository_identity import (
    folder_here,
    place_within,
    repository_id,
    repository_id_of,
    same_folders,
)
from co_tui.store.sqlite.in_memory import InMemoryStore


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
    head = shop / ".git" / "HEAD"
    (tmp_path / "secret").write_text("ref: refs/heads/main\n")
    head.unlink()
    head.symlink_to(tmp_path / "secret")
    assert repository_of(shop) == (str(shop), ""), "nothing outside is read"
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


def test_every_spelling_of_an_address_names_the_same_repository() -> None:
    spellings = (
        "https://github.com/Shop/web.git",
        "https://me:secret-token@github.com/shop/web",
        "https://github.com:443/shop/web/",
        "git@github.com:shop/web.git",
        "github.com:/shop/web",
        "ssh://git@GitHub.com:2222/shop/web.git",
        "git+ssh://git@github.com/shop/web",
    )
    assert {repository_id(each) for each in spellings} == {"github.com/shop/web"}


def test_what_is_no_address_of_a_server_names_no_repository() -> None:
    odd = (
        "",
        "/srv/git/web.git",
        "../web",
        "file:///srv/git/web.git",
        "C:/code/web",
        "https://github.com/",
        "https://github.com/../../etc",
        "https://github.com/shop/\x1b[31mweb",
        "ext::sh -c touch% /tmp/x",
        "https://host/" + "x" * 400,
    )
    assert {each: repository_id(each) for each in odd if repository_id(each)} == {}


@given(st.text())
def test_no_text_fails_and_no_password_is_kept(text: str) -> None:
    assert "@" not in repository_id(f"https://user:pass@host/{text}").partition("/")[0]
    repository_id(text)


def test_worktrees_and_clones_have_one_identity_and_a_link_to_another_repository_has_none(tmp_path: Path) -> None:
    shop, clone, tree = tmp_path / "shop", tmp_path / "other" / "clone", tmp_path / "tree"
    for folder in (shop, clone):
        folder.mkdir(parents=True)
        git(folder, "init")
        git(folder, "remote", "add", "upstream", "https://example.com/first/web")
        git(folder, "remote", "add", "origin", "git@example.com:shop/web.git")
    git(shop, "commit", "--allow-empty", "-m", "first")
    git(shop, "worktree", "add", "-b", "feature", str(tree))
    (clone / "src").mkdir()
    assert {repository_id_of(each) for each in (shop, clone / "src", tree)} == {"example.com/shop/web"}
    assert repository_id_of(tmp_path) == ""
    git(clone, "remote", "remove", "origin")
    assert repository_id_of(clone) == ""
    config = clone / ".git" / "config"
    config.unlink()
    config.symlink_to(shop / ".git" / "config")
    assert repository_id_of(clone) == ""
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text(f"gitdir: {shop / '.git'}\n")
    assert repository_id_of(stranger) == ""


def checkout(folder: Path, *below: str) -> Path:
    """A checkout of example.com/me/shop, with folders in it."""
    for name in (".git", *below):
        (folder / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:me/shop.git\n')
    return folder


def test_the_same_place_in_a_checkout_of_another_machine_is_this_folder(tmp_path: Path) -> None:
    here, worktree = checkout(tmp_path / "here", "api"), checkout(tmp_path / "worktree", "api")
    shop = {"repository_id": "example.com/me/shop"}
    with InMemoryStore() as store:
        for number, (root, place) in enumerate(
            (("/gone/shop", "/api"), ("/gone/shop", ""), (str(worktree), "/api"), ("C:\\shop", "\\api"))
        ):
            started = SessionStart(cwd=f"{root}{place}", repository=root, **shop)
            store.writing().append(f"s-{number}", [started]).result()
        store.writing().append("other", [SessionStart(cwd="/gone/x/api", repository="/gone/x")]).result()
        with store.reading() as reading:
            assert sorted(same_folders(reading, here / "api")) == ["/gone/shop/api", "C:\\shop\\api"]
            assert same_folders(reading, here) == ("/gone/shop",)
            assert same_folders(reading, tmp_path) == ()


def test_a_folder_of_another_machine_is_found_in_this_checkout_and_never_outside_of_it(tmp_path: Path) -> None:
    here = checkout(tmp_path / "here", "api", "docs")
    (tmp_path / "outside").mkdir()
    (here / "link").symlink_to(tmp_path / "outside")
    known = "example.com/me/shop"
    assert folder_here("/gone/shop/api", "/gone/shop", known, here / "docs") == here / "api"
    assert folder_here("/gone/shop", "/gone/shop", known, here / "docs") == here
    for cwd in ("/gone/shop/new", "/gone/shop/../outside", "/gone/shop/link", "/gone/shopping", "/elsewhere"):
        assert folder_here(cwd, "/gone/shop", known, here) is None, cwd
    assert folder_here("/gone/shop/api", "/gone/shop", "example.com/me/other", here) is None
    assert folder_here("/gone/shop/api", "/gone/shop", "", here) is None
    assert place_within("/a", "") is None
