"""A session that was killed at a delegate's question, taken up again on the command line."""

from pathlib import Path

from co_tui.events import ApprovalRequested, SessionFork
from co_tui.store.session_ids import new_session_id
from tests.headless.test_working import call
from tests.headless.test_working import folder as folder
from tests.headless.test_working import here as here
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.stores import store_in, stored_events


def test_a_new_prompt_ends_it_and_every_command_says_so(
    here: Here, home: Path, folder: Path, provider: Provider
) -> None:
    provider.script = [
        call("delegate_task", agent_name="self", task="Write it"),
        call("write_file", path="new.txt", content="x"),
    ]
    (*_, last) = here("run", "-p", "Have it written.", "--yes", "--json").objects
    source, killed = last["session_id"], new_session_id()
    events = stored_events(home, source)
    asked = next(event.seq for event in events if isinstance(event.fact, ApprovalRequested))
    store = store_in(home)
    store.writing().fork(source, killed, asked, SessionFork(source_session_id=source, source_seq=asked)).result()
    store.close()
    (folder / "new.txt").unlink()

    provider.script = [Reply("Then not.")]
    done = here("run", "--session", killed, "-p", "Leave it.", "--json")
    assert done.code == 0
    logged = [each for each in done.objects if each["seq"] is not None]
    kinds = [each["type"] for each in logged if not each["type"].startswith("session.")]
    assert kinds[:4] == ["approval.decided", "message", "delegation.end", "message"]
    (decided,) = [each["payload"] for each in logged if each["type"] == "approval.decided"]
    assert (decided["approved"], decided["by"], decided["agent"]) == (False, "nobody", "self 1")
    (end,) = [each["payload"] for each in logged if each["type"] == "delegation.end"]
    assert (end["outcome"], end["error"]) == ("interrupted", "you sent another prompt instead of answering")
    sent = [each["content"] for each in provider.requests[-1]["messages"] if each["role"] == "tool"]
    assert sent == ["Interrupted by user."] and not (folder / "new.txt").exists()

    shown = here("show", killed, "--json").objects
    calls, returned = ([part for each in shown for part in _parts(each, kind)] for kind in ("tool-call", "tool-return"))
    assert len(calls) == len(returned) == 2, "each is answered once"
    assert "self 1 ended" in here("export", killed, "--format", "html").out
    assert here("export", killed).out.count("Interrupted by user.") == 2


def _parts(shown: dict, kind: str) -> list[dict]:
    return [part for part in shown["message"]["parts"] if part["part_kind"] == kind]
