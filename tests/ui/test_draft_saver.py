"""What is being written is kept beside the screen, and never goes back to what it was before."""

from collections.abc import Callable

from co_tui.store.in_memory.store import InMemoryPromptDrafts
from co_tui.ui.prompting.draft_saver import DraftSaver


class Host:
    """Runs what is beside the screen when it is told to."""

    def __init__(self) -> None:
        self.beside: list[Callable[[], None]] = []

    def run_worker(self, work: Callable[[], None], **_: object) -> None:
        self.beside.append(work)


def test_a_slow_write_does_not_take_the_place_of_a_newer_one() -> None:
    host, drafts, text, session = Host(), InMemoryPromptDrafts(), "", ""
    saver = DraftSaver(host, drafts, lambda: session, lambda: text)  # type: ignore[arg-type]  # all it needs of an app
    text = "half"
    saver.save_beside()
    text = "half a prompt"
    saver.save_beside()
    assert drafts.read("") == "", "nothing is written on the way of a key"
    for write in reversed(host.beside):
        write()
    assert drafts.read("") == "half a prompt"

    host.beside.clear()
    text = "said by now"
    saver.save_beside()
    saver.forget_next()
    session, text = "a", "in a session"
    saver.save_beside()
    text = "in a session, left"
    saver.save()
    for write in host.beside:
        write()
    assert (drafts.read(""), drafts.read("a")) == ("", "in a session, left")
