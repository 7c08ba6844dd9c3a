"""A question about a change may wait for long: what is shown, and allowed, is the change as it would be made now."""

import asyncio
from pathlib import Path

import pytest

from co_tui.events import ApprovalRequested
from co_tui.session.approvals.asking import CHANGED_SINCE
from co_tui.session.approvals.questions import Approval, ApprovalQuestion
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.approving import YES, Person, left, log_of
from tests.support.environments import facts
from tests.support.waiting import until
from tests.support.working import Working, repository, working_in

FIX = ("edit_file", {"path": "login.py", "replacements": [{"old_text": "helo", "new_text": "hello"}]})
OTHER = "# by somebody else\ndef greeting():\n    return 'helo'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


class Slow(Person):
    """Says yes to everything; before the first answer, someone else changes the file."""

    def __init__(self, file: Path, text: str) -> None:
        super().__init__()
        self._file, self._text = file, text

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        if len(self.asked) == 1:
            self._file.write_text(self._text)
        return YES


async def test_after_resuming_the_diff_is_that_of_the_file_as_it_is_now(folder: Path, home: Path) -> None:
    person = Person()
    environment = working_in(folder, home, Working(FIX), person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("mend it"))
    await until(lambda: person.asked)
    assert "by somebody else" not in person.asked[0].what and not person.asked[0].note
    await session.close()
    await turn
    (folder / "login.py").write_text(OTHER)
    environment.questions = person = Person(YES)
    resumed = await Session.resume(environment, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert " # by somebody else" in person.asked[0].what and person.asked[0].note == CHANGED_SINCE
    logged = facts(log_of(environment, resumed), ApprovalRequested)
    assert logged[-1].what == person.asked[0].what, "what was seen is what the log has"
    assert (folder / "login.py").read_text() == OTHER.replace("helo", "hello")
    await left(environment, resumed)


async def test_a_change_that_is_another_by_the_time_of_the_answer_is_asked_about_again(
    folder: Path, home: Path
) -> None:
    person = Slow(folder / "login.py", OTHER)
    environment = working_in(folder, home, Working(FIX), person)
    session = await Session.start(environment, "scripted")
    assert await session.submit("mend it") is Outcome.DONE
    first, second = person.asked
    assert "somebody" not in first.what and "somebody" in second.what and second.note == CHANGED_SINCE
    assert (folder / "login.py").read_text() == OTHER.replace("helo", "hello")
    await left(environment, session)


async def test_a_change_that_can_no_longer_be_made_says_so(folder: Path, home: Path) -> None:
    person = Person()
    environment = working_in(folder, home, model := Working(FIX), person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("mend it"))
    await until(lambda: person.asked)
    await session.close()
    await turn
    (folder / "login.py").write_text("nothing of it\n")
    environment.questions = person = Person(YES)
    resumed = await Session.resume(environment, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert "no longer possible" in person.asked[0].note and "not found" in person.asked[0].note
    assert "not found" in model.returned[-1] and (folder / "login.py").read_text() == "nothing of it\n"
    await left(environment, resumed)
