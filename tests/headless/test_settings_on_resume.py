"""Which settings a resumed session gets (K2), and the events a change on resume writes (E8)."""

import pytest

from tests.headless.test_resuming import stored
from tests.support.here import Here
from tests.support.provider import Provider
from tests.support.stores import listed

OWN = "openai-chat:scripted"
OTHER = "openai-chat:other"


def resumed(here: Here, *more: str) -> dict[str, list[dict[str, str]]]:
    """The events of a resume, by type."""
    done = here("run", "--session", "s-1", "-p", "again", "--json", *more)
    assert done.code == 0, done.err
    found: dict[str, list[dict[str, str]]] = {}
    for event in done.objects:
        found.setdefault(event["type"], []).append(event["payload"])
    return found


@pytest.fixture
def session(served_here: Here, monkeypatch: pytest.MonkeyPatch) -> Here:
    """A stored session with a model and a policy of its own; the user's and the project's files want others."""
    monkeypatch.delenv("CO_TUI_MODEL")
    stored(served_here.home, model=OWN, policy="copilot")
    config = served_here.home / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'model = "{OTHER}"\npolicy = "inkeep"\n')
    (served_here.cwd / ".co-tui.toml").write_text('policy = "co-cli"\n')
    return served_here


def test_what_the_session_chose_is_stronger_than_files(session: Here) -> None:
    events = resumed(session)
    assert "session.policy_change" not in events and "session.model_change" not in events
    assert [(row.model, row.policy) for row in listed(session.home)] == [(OWN, "copilot")]


@pytest.mark.parametrize("by", ["environment", "command line"])
def test_environment_and_command_line_are_stronger_than_the_session(
    session: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    more: tuple[str, ...] = ("--policy", "cowagent", "--model", OTHER)
    if by == "environment":
        monkeypatch.setenv("CO_TUI_POLICY", "cowagent")
        monkeypatch.setenv("CO_TUI_MODEL", OTHER)
        more = ()
    events = resumed(session, *more)
    (policy,), (model,) = events["session.policy_change"], events["session.model_change"]
    assert (policy["from"], policy["to"]) == ("copilot", "cowagent")
    assert policy["window_before"] and policy["window_after"]
    assert (model["from"], model["to"]) == (OWN, OTHER)
    assert events["session.resume"][0]["policy"] == "copilot", "what it was before the change"
    assert provider.requests[-1]["model"] == "other"
    assert [(row.model, row.policy) for row in listed(session.home)] == [(OTHER, "cowagent")]
    assert "session.policy_change" not in resumed(session, *more), "only once"


def test_the_policy_of_the_command_line_is_stronger_than_that_of_the_environment(
    session: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CO_TUI_POLICY", "cowagent")
    (change,) = resumed(session, "--policy", "balanced")["session.policy_change"]
    assert change["to"] == "balanced"


def test_a_policy_that_is_gone_gives_way_to_the_files(session: Here) -> None:
    stored(session.home, model=OWN, policy="long-gone", name="s-2")
    done = session("run", "--session", "s-2", "-p", "again", "--json")
    assert done.code == 0
    (change,) = [event["payload"] for event in done.objects if event["type"] == "session.policy_change"]
    assert (change["from"], change["to"]) == ("long-gone", "co-cli")
    assert "The policy of this session, 'long-gone', no longer exists. Using co-cli." in done.err


def test_a_policy_by_path_is_named_again_on_resuming(session: Here) -> None:
    (session.cwd / "mine.py").write_text("def decide(context):\n    return None\n")
    path = str(session.cwd / "mine.py")
    first = resumed(session, "--policy", "mine.py")["session.policy_change"]
    assert [change["to"] for change in first] == [path]
    without = session("run", "--session", "s-1", "-p", "again", "--json")
    assert without.code == 0 and f"name it again with --policy {path} to use it. Using co-cli." in without.err
    assert [change["to"] for change in resumed(session, "--policy", path)["session.policy_change"]] == [path]


def test_config_names_bad_values_of_the_project_as_run_does(session: Here) -> None:
    (session.cwd / ".co-tui.toml").write_text('summary_share = "lots"\ncolour = 1\n')
    ran = session("run", "-p", "hi").err
    shown, one = session("config"), session("config", "policy")
    assert shown.code == one.code == 0
    for told in ("summary_share = 'lots'", "colour"):
        assert told in ran and told in shown.err and told in one.err


def test_config_names_bad_values_of_your_own_file(session: Here) -> None:
    (session.home / "config" / "config.toml").write_text("retention_days = -4\n")
    assert "retention_days = -4" in session("config").err
    assert session("config", "retention_days", "30").code == 0
    assert session("config").err == ""


@pytest.mark.parametrize("by", ["nobody", "the environment"])
def test_the_next_request_is_measured_for_the_model_that_gets_it(
    session: Here, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    assert session("run", "--session", "s-1", "-p", "again").code == 0
    own = session("context", "s-1", "--json").objects[0]
    assert (own["model"], own["token_limit"], own["measured"]) == (OWN, 4096, "provider")
    if by == "the environment":
        monkeypatch.setenv("CO_TUI_MODEL", "anthropic:claude-sonnet-4-5")
    figures, total = session("context", "s-1", "--json").objects[0], session("lens", "s-1", "--json").objects[-1]
    expected = (OWN, 4096) if by == "nobody" else ("anthropic:claude-sonnet-4-5", 200_000)
    assert (figures["model"], figures["token_limit"]) == (total["model"], total["limit_tokens"]) == expected
    assert figures["current_tokens"] == total["total_tokens"]
    assert figures["measured"] == total["measured"] == ("provider" if by == "nobody" else "estimate")
    assert [row.model for row in listed(session.home)] == [OWN], "measuring changes nothing"
