"""The example session without a screen."""

import re
from importlib.resources import files

from tests.support.here import Here
from tests.support.provider import Provider, Reply


def test_it_names_no_machine() -> None:
    text = files("co_tui.exchange.intake").joinpath("example.jsonl").read_text(encoding="utf-8").replace("\\n", "\n")
    assert set(re.findall(r"(?<![\w.~*)/-])/(?:home|root|usr|opt|Users|work|tmp)/[\w-]+", text)) == {
        "/home/you", "/tmp/pytest-of-you", "/usr/lib",
    }  # fmt: skip


def test_it_is_copied_and_every_command_about_sessions_works_on_it(here: Here) -> None:
    copied = here("example")
    session_id = copied.out.strip()
    assert copied.code == 0 and f"`co-tui show {session_id}` prints it" in copied.err
    assert here("example").out == copied.out, "nothing was done with it"
    (row,) = here("sessions", "--search", "decimal comma", "--json").objects
    assert row["id"] == session_id and row["messages"] == 100 and row["cwd"] == ""

    shown = here("show", session_id)
    assert shown.code == 0 and "There are only 6 eggs." in shown.out
    (context,) = here("context", session_id, "--json").objects
    assert context["token_limit"] == 32_768 and 0.75 < context["share"] < 0.8
    assert here("lens", session_id).code == 0
    made = here("compact", session_id)
    assert made.code == 0 and "offline" not in made.err, made.err
    assert here("rewind", session_id, "8").code == 0
    assert here("sessions", "--delete", session_id).code == 0 and not here("sessions", "--json").objects
    assert here("example").out.strip() != session_id, "what was used and deleted stays so"


def test_a_fork_of_it_is_not_given_as_a_copy(here: Here) -> None:
    session_id = here("example").out.strip()
    early, late = (here("run", "--resume", session_id, "-p", f"/fork {at}").out.strip() for at in ("56", ""))
    assert early and late and here("compact", session_id).code == 0, "the copy itself was changed"
    copied = here("example").out.strip()
    assert copied not in (session_id, early, late) and here("example").out.strip() == copied


def test_a_prompt_to_it_is_answered_by_the_configured_model(served_here: Here, provider: Provider) -> None:
    provider.window, provider.default = 200_000, Reply(text="With pleasure.")
    session_id = served_here("example").out.strip()
    said = served_here("run", "--resume", session_id, "-p", "Go on")
    assert said.code == 0 and said.out.strip() == "With pleasure.", said.err
    assert "kitchen display" in str(provider.requests[-1])


def test_without_a_model_a_prompt_to_it_is_refused_with_a_sentence(here: Here) -> None:
    here.environ["CO_TUI_MODEL"] = "anthropic:claude-sonnet-5"
    session_id = here("example").out.strip()
    said = here("run", "--resume", session_id, "-p", "Go on")
    assert said.code != 0 and "anthropic:claude-sonnet-5 needs a key." in said.err
