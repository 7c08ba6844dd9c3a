"""`co-tui lens`, as scripts and people see it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.session.session import Session
from tests.headless.test_compact import talked
from tests.support.here import Here
from tests.support.provider import Provider

OPENAI_TALK = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello \x1b]52;c;eA==\x07 [bold]there[/] 漢字漢字漢字"},
        {"role": "assistant", "content": "Hello."},
    ]
}


def seen(here: Here, session: str, *options: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    done = here("lens", session, *options, "--json")
    assert done.code == 0, done.err
    *messages, total = done.objects
    return messages, total


def test_the_lens_adds_up_to_what_context_says_and_to_the_log(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider)
    messages, total = seen(served_here, session)
    (figures,) = served_here("context", session, "--json").objects
    assert total["total_tokens"] == figures["current_tokens"] == sum(each["tokens"] for each in messages)
    kinds = ("system_tokens", "tool_definition_tokens", "conversation_tokens")
    assert [total[kind] for kind in kinds] == [figures[kind] for kind in kinds]
    assert total["limit_tokens"] == figures["token_limit"] and total["messages"] == 6
    assert sum(total["tokens_by_kind"].values()) == total["total_tokens"]
    roles = [each["role"] for each in messages if each["kind"] in ("user", "assistant")]
    assert roles == ["user", "assistant"] * 3
    assert {"role", "tokens", "fate", "text", "kind", "why"} <= messages[0].keys()
    said = [each["text"] for each in messages if each["seq"]]
    sent = provider.requests[-1]["messages"]
    # The provider got them all but the last reply, and the instructions first.
    assert (messages[0]["role"], messages[0]["text"]) == ("system", sent[0]["content"])
    assert said[:-1] == [each["content"] for each in sent if each["role"] != "system"]


def test_it_is_shown_as_if_another_policy_governed(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider, turns=12)
    own, off = seen(served_here, session), seen(served_here, session, "--policy", "off")
    other = seen(served_here, session, "--policy", "cowagent")
    assert (own[1]["policy"], off[1]["policy"]) == ("balanced", "off")
    assert {each["fate"] for each in off[0]} == {"kept"}
    assert "to be summarised" in {each["fate"] for each in other[0]}
    assert own[1]["total_tokens"] == off[1]["total_tokens"], "nothing is left out or made smaller by either"
    assert served_here("context", session, "--json").objects[0]["policy"] == "balanced", "nothing was changed"


def test_people_get_a_table_as_wide_as_their_terminal(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider, turns=2)
    for columns in (60, 100):
        served_here.environ["COLUMNS"] = str(columns)
        lines = served_here("lens", session).out.splitlines()
        assert lines[0].split() == ["TOKENS", "KIND", "FATE", "TEXT"]
        assert max(map(len, lines[: lines.index("")])) <= columns
        assert any("user" in line and "kept" in line and "Question 1" in line for line in lines)
    assert " of 100,000 tokens (" in "\n".join(lines) and "under balanced" in "\n".join(lines)


def test_what_was_never_measured_is_and_its_text_is_inert(here: Here) -> None:
    file = Path(here.cwd / "talk.jsonl")
    file.write_text(json.dumps(OPENAI_TALK))
    imported = here("import", str(file), "--json")
    session = next(each["session_id"] for each in imported.objects if "session_id" in each)
    messages, total = seen(here, session)
    (figures,) = here("context", session, "--json").objects
    assert total["total_tokens"] == figures["current_tokens"] == sum(each["tokens"] for each in messages) > 0
    assert total["measured"] == "estimate"
    assert ("system", "Be brief.") in [(each["kind"], each["text"]) for each in messages]
    table = here("lens", session).out
    assert "\x1b" not in table and "\x07" not in table and "[bold]there[/]" in table


@pytest.mark.parametrize("settings", [{"CO_TUI_CONTEXT_WINDOW": "9000"}, {"CO_TUI_POLICY": "cowagent"}, {}])
def test_context_says_what_the_lens_says_whatever_the_settings_are_now(
    served_here: Here, provider: Provider, settings: dict[str, str]
) -> None:
    served_here.environ.update(settings if "CO_TUI_POLICY" in settings else {})
    session = talked(served_here, provider, turns=5)
    served_here.environ.update(settings)
    _, total = seen(served_here, session)
    (figures,) = served_here("context", session, "--json").objects
    kinds = ("system_tokens", "tool_definition_tokens", "conversation_tokens", "measured", "limit_known")
    assert [total[kind] for kind in kinds] == [figures[kind] for kind in kinds]
    assert (total["total_tokens"], total["limit_tokens"]) == (figures["current_tokens"], figures["token_limit"])
    assert figures["token_limit"] == int(settings.get("CO_TUI_CONTEXT_WINDOW", 100_000))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["lens"], 2, "ID"),
        (["lens", "nope"], 1, "No session 'nope'"),
        (["lens", "\udcff"], 1, "No session"),
        (["lens", "nope", "--policy", "made-up"], 2, "made-up"),
    ],
)
def test_bad_input_is_a_sentence(here: Here, arguments: list[str], code: int, words: str) -> None:
    done = here(*arguments)
    assert (done.code, done.out) == (code, "") and words in done.err


def test_an_empty_context_is_said(served_here: Here, provider: Provider) -> None:
    session = talked(served_here, provider, turns=1)
    from tests.support.talks import served_environment

    async def cleared() -> None:
        environment = served_environment(served_here.home, provider)
        opened = await Session.resume(environment, session)
        await opened.edits.clear()
        # Another process looks while this one has it open.
        done = await asyncio.to_thread(served_here, "lens", session, "--json")
        assert done.code == 0 and "is empty" in done.err
        assert (
            done.objects[-1]["messages"] == 0 and [each["why"] for each in done.objects[-1]["left"]] == ["cleared"] * 2
        )
        assert done.objects[-1]["total_tokens"] == opened.state.usage.current_tokens  # type: ignore[union-attr]
        await opened.close()
        environment.store.close()

    asyncio.run(cleared())


def test_where_a_policy_compacts_for_each_model(here: Here) -> None:
    rows = {row["model"]: row for row in here("context", "--models", "--policy", "inkeep", "--json").objects}
    assert len(rows) > 100 and all(row["policy"] == "inkeep" for row in rows.values())
    assert all(row["conversation_share"] == 0.5 for row in rows.values())
    assert all(0.75 <= row["delegation_share"] <= 0.91 for row in rows.values())
    large, small = rows["anthropic:claude-sonnet-5"], rows["embedded"]
    assert (large["window_tokens"], large["delegation_tokens"]) == (1_000_000, 910_000)
    assert small["window_tokens"] == 8_192 and round(small["delegation_share"], 2) == 0.75
    assert not rows["mistral:mistral-large-latest"]["window_known"], "no one has recorded it"
    shown = here("context", "--models", "--policy", "inkeep").out
    assert shown.startswith("MODEL ") and "1,000,000          50 %  500,000    91 %  910,000" in shown
    assert "128,000 (assumed)" in shown
    assert here("context", "some", "--models").code == here("context").code == 2
    config = here.home / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("context_window = 20_000\n")
    windows = {row["window_tokens"] for row in here("context", "--models", "--json").objects}
    assert windows == {20_000}, "the setting counts for every model"
