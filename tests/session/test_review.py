"""What `/review` sends: the session's edits, or else the branch's changes; git runs nothing that the folder names."""

import os
import subprocess
from pathlib import Path

import pytest

from co_tui.session.approvals.questions import Unattended
from co_tui.session.review import REVIEW, branch_review
from co_tui.session.session import Session
from co_tui.session.workplace import branch_changes
from co_tui.session.workplace.branch_changes import ReviewRefused
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import Settings
from co_tui.settings.all_settings import check
from tests.support.approving import left
from tests.support.working import Working, working_in

ENVIRON = {"PATH": os.environ["PATH"]}


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    """A branch with a commit, an uncommitted change and a new file."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("one\n")
    (folder / ".env").write_text("KEY=old\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    git(folder, "checkout", "-qb", "work")
    (folder / "a.py").write_text("two\n")
    git(folder, "commit", "-qam", "second")
    (folder / "a.py").write_text("three\n")
    (folder / ".env").write_text("KEY=secret\n")
    (folder / "new.py").write_text("x")
    return folder


async def test_a_session_reviews_its_own_edits(folder: Path, home: Path) -> None:
    (folder / "a.py").write_text("one\n")
    model = Working(("edit_file", {"path": "a.py", "old_text": "one", "new_text": "two"}))
    environment = working_in(folder, home, model, Unattended(yes=True))
    session = await Session.start(environment, "scripted")
    await session.submit("edit")
    prompt, changes = await session.review("names")
    await session.submit(prompt, files=[changes])
    await left(environment, session)
    assert prompt == f"{REVIEW} Focus on: names"
    sent = str(model.requests[-1][-1].parts)
    assert "Attached diff: the edits of this session" in sent and "-one" in sent and "+two" in sent


def test_without_edits_the_whole_branch_is_reviewed(branch: Path) -> None:
    _, changes = branch_review(LocalWorkplace(branch), ENVIRON, Settings())
    text = (changes.data or b"").decode()
    assert changes.name == "all changes since the branch left main"
    assert "-one\n+three" in text and "new, not in git yet: new.py" in text


def test_a_file_that_may_not_be_read_is_not_in_the_review(branch: Path) -> None:
    hidden = Settings().but(permissions=check("permissions", {"deny": ["Read(.env)"]}))
    assert b"secret" in (branch_review(LocalWorkplace(branch), ENVIRON, Settings())[1].data or b"")
    assert b"secret" not in (branch_review(LocalWorkplace(branch), ENVIRON, hidden)[1].data or b"")


def test_a_file_that_may_not_be_read_is_not_in_the_review_under_a_new_name_or_through_a_link(
    branch: Path, tmp_path: Path
) -> None:
    (branch / ".env").write_text("".join(f"KEY{number}=secret\n" for number in range(20)))
    git(branch, "commit", "-qam", "third")
    git(branch, "branch", "-f", "main", "HEAD")
    git(branch, "mv", ".env", "other")
    (branch / "other").write_text((branch / "other").read_text() + "x\n")
    linked = tmp_path / "linked"
    linked.symlink_to(branch)
    hidden = Settings().but(permissions=check("permissions", {"deny": ["Read(/.env)"]}))
    for folder in (branch, linked):
        text = (branch_review(LocalWorkplace(folder), ENVIRON, hidden)[1].data or b"").decode()
        assert "a/.env" not in text and "-KEY" not in text


def test_too_many_hidden_files_are_not_guessed(branch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = Settings().but(permissions=check("permissions", {"deny": ["Read(.env)"]}))
    monkeypatch.setattr(branch_changes, "MOST_NAMES_BYTES", 4)
    with pytest.raises(ReviewRefused, match="Too many files"):
        branch_review(LocalWorkplace(branch), ENVIRON, hidden)


def test_a_repository_that_names_programs_is_not_read(branch: Path) -> None:
    git(branch, "config", "filter.x.clean", "touch broken; cat")
    (branch / ".gitattributes").write_text("*.py filter=x\n")
    with pytest.raises(ReviewRefused, match="could run programs"):
        branch_review(LocalWorkplace(branch), ENVIRON, Settings())
    assert not (branch / "broken").exists()


def test_nothing_to_review_is_one_sentence(branch: Path, tmp_path: Path) -> None:
    git(branch, "stash", "-qu")
    git(branch, "checkout", "-q", "main")
    with pytest.raises(ReviewRefused, match="no changes on this branch"):
        branch_review(LocalWorkplace(branch), ENVIRON, Settings())
    with pytest.raises(ReviewRefused, match="not in a git repository"):
        branch_review(LocalWorkplace(tmp_path), ENVIRON, Settings())
