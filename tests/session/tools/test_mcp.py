"""Tools of MCP servers: asked about, used, bounded; and servers that misbehave hold nothing up."""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic_ai.toolsets import WrapperToolset

from co_tui.agent.mcp import child_server, servers
from co_tui.agent.mcp.connection import Connection
from co_tui.agent.mcp.server_tools import ServerTools
from co_tui.agent.mcp.tool_results import MOST_IMAGES
from co_tui.events import ArtifactStored, ToolActivity
from co_tui.session.approvals.questions import Approval
from co_tui.session.session import Session
from co_tui.session.tools.kept_output import KeptOutputs
from co_tui.session.turns.turn import Outcome
from co_tui.settings.mcp_servers import McpServer, VariableRefused
from co_tui.settings.permission_rules import Rule, RuleInForce
from tests.support.approving import Person
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.mcp_talk import Talk, calls, lives, odd
from tests.support.stores import stored_events
from tests.support.waiting import PATIENCE_S, next_fact, until

TIME = McpServer(
    command=sys.executable,
    args=("-m", "mcp_server_time", "--local-timezone", "UTC"),
    start_timeout_s=PATIENCE_S,
    timeout_s=PATIENCE_S,
)
NOON = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}


def test_no_variable_of_a_project_hides_that_its_server_would_get_a_key_of_ours(folder: Path) -> None:
    environ = {"OPENAI_API_KEY": "real-12345678", "COPIED": "real-12345678"}
    theirs = McpServer(command="x", env={"A": "${COPIED}"}, is_project=True, variables={"OPENAI_API_KEY": "other-123"})
    with pytest.raises(VariableRefused):
        Connection("odd", theirs, folder, environ, MagicMock(), MagicMock())


@only_in_a_long_run
async def test_a_real_server_is_asked_about_and_used(folder: Path, home: Path) -> None:
    person = Person(Approval(approved=True, by="user", scope="session", rules=("mcp__time__convert_time",)))
    step = ("mcp__time__convert_time", NOON)
    async with Talk(folder, home, step, step, person=person, mcp_servers={"time": TIME}) as talk:
        assert await talk.say("when?") is Outcome.DONE
        assert {"mcp__time__convert_time", "mcp__time__get_current_time", "read_file"} <= set(talk.model.offered)
    (asked,) = person.asked  # once for this session
    assert asked.tool == "mcp__time__convert_time" and asked.rules == (asked.tool,)
    assert asked.what == (
        "convert_time of MCP server time\nsource_timezone: Europe/Berlin\ntime: 12:00\ntarget_timezone: Asia/Tokyo"
    )
    assert len(talk.model.returned) == 2
    assert json.loads(talk.model.returned[0])["target"]["timezone"] == "Asia/Tokyo"


async def test_what_was_allowed_for_the_project_is_one_tool_of_one_server(folder: Path, home: Path) -> None:
    kept = Approval(approved=True, by="user", scope="project", rules=("mcp__odd__echo",))
    person, server = Person(kept), {"odd": odd()}
    async with Talk(folder, home, *calls("echo"), person=person, mcp_servers=server) as talk:
        assert await talk.say("echo") is Outcome.DONE
    assert person.asked[0].rules == ("mcp__odd__echo",)
    no = Person(Approval(approved=False, by="user"))
    async with Talk(folder, home, *calls("echo", "fail"), person=no, mcp_servers=server) as later:
        assert await later.say("again") is Outcome.DONE
    assert [question.tool for question in no.asked] == ["mcp__odd__fail"]


async def test_what_is_not_allowed_does_not_reach_the_server(folder: Path, home: Path) -> None:
    no = Approval(approved=False, by="user", reason="not today")
    async with Talk(folder, home, *calls("die"), person=Person(no), mcp_servers={"odd": odd()}) as talk:
        assert await talk.say("die") is Outcome.DONE
        assert "not today" in talk.model.returned[0]
        assert talk.environment.mcp_servers.reports[0].stage == "running"


async def test_plan_mode_uses_tools_that_a_rule_allows_and_the_server_marks_as_read_only(
    folder: Path, home: Path
) -> None:
    allowed = tuple(RuleInForce("allow", Rule(f"mcp__odd__{tool}"), "test") for tool in ("plain", "change"))
    look = RuleInForce("allow", Rule("mcp__odd__look"), "test")
    for rules in (allowed, (*allowed, look)):
        steps, server = calls("look", "plain", "change"), {"odd": odd("marked")}
        async with Talk(folder, home, *steps, mode="plan", permissions=rules, mcp_servers=server) as talk:
            assert await talk.say("look") is Outcome.DONE
        looked, plain, change = talk.model.returned
        assert "does not mark it as read-only" in plain and "does not mark it as read-only" in change
        assert looked.startswith("echo") if look in rules else "no rule allows mcp__odd__look" in looked


async def test_its_process_has_no_key_but_its_own_and_writes_nowhere(
    folder: Path, home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1234567890")
    server = odd(env={"OWN_KEY": "${MY}", "SHOWN": "as it is"})
    async with Talk(folder, home, *calls("environment", "fail", "echo"), mcp_servers={"odd": server}) as talk:
        assert await talk.say("tell") is Outcome.DONE
    environment, refusal, echo = talk.model.returned
    told = json.loads(environment)
    assert set(told) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {"PATH", "OWN_KEY", "SHOWN"}
    assert told["SHOWN"] == "as it is" and told["OWN_KEY"] == "[hidden]"
    assert "no, [hidden]" in refusal
    assert "key-0123456789" not in str(talk.model.requests) and "echo" in echo
    assert capfd.readouterr() == ("", "")


async def test_a_missing_variable_is_named(folder: Path, home: Path) -> None:
    async with Talk(folder, home, mcp_servers={"odd": odd(env={"A": "${NOT_THERE}"})}) as talk:
        assert await talk.say("hello") is Outcome.DONE
    (error,) = talk.errors
    assert error.what == "MCP server odd failed: environment variable NOT_THERE is not set."
    assert error.kind == "mcp" and error.outcome == "odd no tools"


UNUSABLE = {
    "silent": (odd("silent", start_timeout_s=0.5), "no answer within 0.5 s"),
    "rubbish": (odd("rubbish"), "its output is not MCP"),
    "chatty": (odd("chatty"), "it sent 500 unsolicited messages"),
    "missing": (McpServer(command="no-such-program"), "cannot use no-such-program: no such file or directory"),
    "ends": (McpServer(command="sh", args=("-c", "echo no weather >&2; exit 3")), "exit code 3: no weather"),
    "floods": (McpServer(command="head", args=("-c", "9000000", "/dev/zero")), "it sent a message over 8 MB"),
    "away": (McpServer(url="http://127.0.0.1:9/mcp"), "All connection attempts failed"),
}


async def test_those_that_do_not_start_are_reported_once_each_and_another_works(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_server, "MOST_UNSOLICITED", 500)
    named = {**{name: server for name, (server, _) in UNUSABLE.items()}, "odd": odd()}
    async with Talk(folder, home, *calls("echo", "echo"), mcp_servers=named) as talk:
        assert await talk.say("echo") is Outcome.DONE
        assert {name.split("__")[1] for name in talk.model.offered if name.startswith("mcp__")} == {"odd"}
    assert len(talk.model.returned) == 2
    said = [error.what for error in talk.errors]
    for name, (_, why) in UNUSABLE.items():
        (own,) = [each for each in said if name in each.partition(":")[0]]
        assert why in own
    assert len(said) == len(UNUSABLE)


async def test_a_slow_one_is_not_waited_for(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "START_WAIT_S", 0.3)
    async with Talk(folder, home, mcp_servers={"odd": odd("silent")}) as talk:
        assert await asyncio.wait_for(talk.session.submit("hello"), PATIENCE_S) is Outcome.DONE
        assert talk.environment.mcp_servers.reports[0].stage == "starting"
        assert await asyncio.wait_for(talk.session.submit("again"), PATIENCE_S) is Outcome.DONE
    (error,) = talk.errors
    assert error.what == "MCP server odd is still starting; its tools are not in this request."
    assert error.kind == "mcp_missing"


async def test_definitions_are_bounded_and_named_as_providers_take_them_and_those_left_out_are_said_once(
    folder: Path, home: Path
) -> None:
    both = {"many": odd("many"), "large": odd("large")}
    async with Talk(folder, home, ("read_file", {"path": "x"}), window=200_000, mcp_servers=both) as talk:
        assert await talk.say("hello") is Outcome.DONE
        many, large = talk.environment.mcp_servers.reports
    offered = [name for name in talk.model.offered if name.startswith("mcp__")]
    assert len([name for name in offered if name.startswith("mcp__many__")]) == 64
    assert offered[64:] == ["mcp__large__small", "mcp__large__odd_n_me_x"]
    assert many.text == "running, 64 tools; 936 more are too many or too large"
    assert large.text == "running, 2 tools; 2 more are too many or too large"
    assert [error.what for error in talk.errors] == [
        "936 tools of MCP server many are left out: too many or too large.",
        "2 tools of MCP server large are left out: too many or too large.",
    ]


async def test_tools_beyond_what_providers_take_are_said(folder: Path, home: Path) -> None:
    both = {"many": odd("many"), "more": odd("many")}
    async with Talk(folder, home, window=400_000, mcp_servers=both) as talk:
        assert await talk.say("hello") is Outcome.DONE
    assert talk.errors[-1].what == "28 tools of MCP servers are left out: at most 100 tools are sent."


async def test_a_server_that_does_not_list_its_tools_is_said(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = WrapperToolset.get_tools

    async def get_tools(self: WrapperToolset[Any], ctx: Any) -> Any:
        if isinstance(self, ServerTools):
            raise ConnectionError("gone")
        return await listed(self, ctx)

    monkeypatch.setattr(WrapperToolset, "get_tools", get_tools)
    async with Talk(folder, home, mcp_servers={"odd": odd()}) as talk:
        assert await talk.say("hello") is Outcome.DONE
    (error,) = talk.errors
    assert error.what == "MCP server odd did not list its tools; they are not in this request."


async def test_stopping_the_turn_stops_the_wait_for_a_slow_one(folder: Path, home: Path) -> None:
    async with Talk(folder, home, mcp_servers={"odd": odd("silent")}) as talk:
        said = asyncio.create_task(talk.say("hello"))
        await until(lambda: talk.environment.mcp_servers.reports)
        talk.session.interrupt()
        assert await asyncio.wait_for(said, PATIENCE_S) is Outcome.INTERRUPTED
        assert not talk.model.requests


async def test_one_that_dies_in_a_call_is_reported_and_started_again(folder: Path, home: Path) -> None:
    async with Talk(folder, home, *calls("die", "echo"), mcp_servers={"odd": odd()}) as talk:
        assert await talk.say("die") is Outcome.DONE
    died, echo = talk.model.returned
    assert "odd" in died or "losed" in died
    assert echo.startswith("echo")
    (error,) = talk.errors
    assert error.what == "MCP server odd failed: its process exited with exit code 7: I am ␛[31mlost."


async def test_one_that_dies_again_and_again_is_given_up(folder: Path, home: Path) -> None:
    steps = calls(*["die"] * (servers.MOST_RESTARTS + 1), "echo")
    async with Talk(folder, home, *steps, mcp_servers={"odd": odd()}) as talk:
        assert await talk.say("die") is Outcome.DONE
        assert talk.environment.mcp_servers.reports[0].stage == "failed"
        assert not [name for name in talk.model.offered if name.startswith("mcp__")]
    assert len(talk.errors) == servers.MOST_RESTARTS + 1 and talk.errors[-1].outcome == "odd no tools"


async def test_results_are_bounded_and_only_images_that_can_be_seen_are_sent(folder: Path, home: Path) -> None:
    steps = calls("long", "picture", "pictures", "echo")
    async with Talk(folder, home, *steps, mcp_servers={"odd": odd()}) as talk:
        assert await talk.say("all of it") is Outcome.DONE
    whole, picture, pictures, _ = [part["content"] for part in _returns(talk)]
    (stored,) = (event.fact for event in stored_events(home, talk.session.id) if isinstance(event.fact, ArtifactStored))
    assert len(whole) < 51_000 and f"read_artifact({stored.where!r}) reads all 2,000,000 bytes in parts" in whole
    kept = KeptOutputs(talk.environment.paths.session(talk.session.id), MagicMock(), MagicMock(), private=False)
    assert dict(kept.all())[stored.where].read_text() == "a" * 2_000_000, "the log names all of it"
    assert picture == "see\n[image/jpeg, 108 bytes: it cannot be shown here]", "it is damaged"
    assert [each["media_type"] for each in pictures[1:]] == ["image/png"] * MOST_IMAGES, "as their bytes tell"
    assert pictures[0].startswith("see\n[image/jpeg, ") and pictures[0].count("cannot be shown here") == 3


async def test_a_long_error_of_a_tool_is_kept_whole(folder: Path, home: Path) -> None:
    async with Talk(folder, home, *calls("fail"), mcp_servers={"odd": odd("wordy")}) as talk:
        assert await talk.say("all of it") is Outcome.DONE
    (failed,) = _returns(talk)
    (stored,) = (event.fact for event in stored_events(home, talk.session.id) if isinstance(event.fact, ArtifactStored))
    assert failed["outcome"] == "failed" and len(failed["content"]) < 51_000
    assert f"read_artifact({stored.where!r}) reads all 120,013 bytes in parts" in failed["content"]
    kept = KeptOutputs(talk.environment.paths.session(talk.session.id), MagicMock(), MagicMock(), private=False)
    assert "in the middle" in dict(kept.all())[stored.where].read_text()


async def test_a_result_that_is_far_too_long_ends_the_server_not_the_turn(folder: Path, home: Path) -> None:
    async with Talk(folder, home, *calls("long", "echo"), mcp_servers={"odd": odd("flood")}) as talk:
        assert await talk.say("all of it") is Outcome.DONE
    (error,) = talk.errors
    assert "it sent a message over 8 MB" in error.what and len(talk.model.returned[0]) < 1_000
    assert error.outcome == "odd restarting" and talk.model.returned[1].startswith("echo")


async def test_a_call_that_takes_too_long_is_given_up(folder: Path, home: Path) -> None:
    async with Talk(folder, home, *calls("hang"), mcp_servers={"odd": odd(timeout_s=0.3)}) as talk:
        assert await talk.say("hang") is Outcome.DONE
    assert "odd did not answer within 0.3 s" in talk.model.returned[0]


async def test_stopping_the_turn_stops_the_call_and_not_the_server(folder: Path, home: Path) -> None:
    async with Talk(folder, home, *calls("hang"), mcp_servers={"odd": odd()}) as talk:
        listener = talk.session.events()
        said = asyncio.create_task(talk.say("hang"))
        await next_fact(listener, ToolActivity)
        talk.session.interrupt()
        assert await asyncio.wait_for(said, PATIENCE_S) is Outcome.INTERRUPTED
        assert talk.environment.mcp_servers.reports[0].stage == "running"


async def test_definitions_leave_room_in_the_window(folder: Path, home: Path) -> None:
    both = {"many": odd("many"), "more": odd("many")}
    async with Talk(folder, home, window=16_000, mcp_servers=both) as talk:
        assert await talk.say("hello") is Outcome.DONE
        usage = talk.session.state.usage
        assert usage is not None and usage.tool_definition_tokens < 8_000
        assert all(0 < report.tools < 150 and report.left_out for report in talk.environment.mcp_servers.reports)


async def test_a_call_that_waited_for_its_answer_runs_when_the_session_is_resumed(folder: Path, home: Path) -> None:
    talk = Talk(folder, home, *calls("echo"), person=Person(), mcp_servers={"odd": odd()})
    session = await Session.start(talk.environment, "scripted")
    said = asyncio.create_task(session.submit("echo"))
    await until(lambda: session.state.pending)
    await session.close()
    await said
    await talk.environment.mcp_servers.close()
    talk.environment.questions = Person(Approval(approved=True, by="user"))
    talk.session = await Session.resume(talk.environment, session.id)
    assert await talk.session.ask_pending() is Outcome.DONE
    await talk.__aexit__()
    assert talk.model.returned[0].startswith("echo")


async def test_an_agent_that_is_asked_for_a_part_of_the_work_has_them_too(folder: Path, home: Path) -> None:
    person = Person(Approval(approved=True, by="user"))
    steps = (("delegate_task", {"agent_name": "self", "task": "make an echo"}), *calls("echo"))
    async with Talk(folder, home, *steps, person=person, mcp_servers={"odd": odd()}) as talk:
        assert await talk.say("let another one do it") is Outcome.DONE
        (delegated,) = talk.session.state.delegations.values()
    assert [(question.tool, question.agent) for question in person.asked] == [("mcp__odd__echo", "self 1")]
    assert "echo" in str([entry.message for entry in delegated.history][-2])


async def test_a_model_that_calls_no_tools_starts_no_server(folder: Path, home: Path) -> None:
    talk = Talk(folder, home, mcp_servers={"odd": odd()})
    talk.model.takes_tools = False
    async with talk:
        assert await talk.say("hello") is Outcome.DONE
        assert not talk.environment.mcp_servers.reports and not talk.model.offered


async def test_it_ends_with_all_it_started_however_stubborn(folder: Path, home: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    async with Talk(folder, home, *calls("echo"), mcp_servers={"odd": odd("stubborn", str(pid_file))}) as talk:
        assert await talk.say("echo") is Outcome.DONE
        child = int(pid_file.read_text())
        assert lives(child)
    await until(lambda: not lives(child))


@pytest.mark.parametrize("settings", [{"tools": ("files",)}, {"mcp_servers": {"odd": odd().but(enabled=False)}}])
async def test_what_is_switched_off_is_not_started(folder: Path, home: Path, settings: dict[str, Any]) -> None:
    async with Talk(folder, home, **{"mcp_servers": {"odd": odd()}, **settings}) as talk:
        assert await talk.say("hello") is Outcome.DONE
        assert not [name for name in talk.model.offered if name.startswith("mcp__")]
        assert not [report for report in talk.environment.mcp_servers.reports if report.stage != "off"]


async def test_settings_that_change_hold_from_the_next_turn(folder: Path, home: Path) -> None:
    async with Talk(folder, home, mcp_servers={"odd": odd()}) as talk:
        await talk.say("hello")
        await talk.session.switcher.apply_settings(talk.environment.settings.but(mcp_servers={"other": odd()}))
        await talk.say("again")
        assert [report.name for report in talk.environment.mcp_servers.reports] == ["other"]
        assert "mcp__other__echo" in talk.model.offered and "mcp__odd__echo" not in talk.model.offered


def _returns(talk: Talk) -> list[dict[str, Any]]:
    parts = [part for entry in talk.session.state.history for part in entry.message["parts"]]
    return [part for part in parts if part["part_kind"] == "tool-return"]


async def test_a_tool_with_a_deep_schema_loses_only_itself(folder: Path, home: Path) -> None:
    deep = {f"odd{depth}": odd(f"deep{depth}") for depth in also_in_a_long_run([3_000], [40, 150, 400])}
    steps = [(f"mcp__{name}__small", {}) for name in deep]
    async with Talk(folder, home, *steps, mcp_servers={**deep, "other": odd()}) as talk:
        assert await talk.say("go") is Outcome.DONE
    assert {"mcp__other__echo", *(name for name, _ in steps)} <= set(talk.model.offered)
    assert not {f"mcp__{name}__deep" for name in deep} & set(talk.model.offered)
    assert len(talk.model.returned) == len(deep) and all(each.startswith("echo") for each in talk.model.returned)


async def test_texts_of_a_server_have_no_control_characters(folder: Path, home: Path) -> None:
    seen: list[str] = []
    async with Talk(folder, home, mcp_servers={"odd": odd("controls")}) as talk:
        script = talk.model.script

        async def looking(messages: Any, info: Any) -> Any:
            seen.append(f"{info.function_tools} {info.instructions}")
            async for piece in script(messages, info):
                yield piece

        talk.model.script = looking
        await talk.say("go")
        scaffold = str(talk.session.history.scaffold)
    for text in (*seen, scaffold):
        assert "Says it." in text and "Obey me." in text and "owned" in text
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]|\\\\x1b|\\\\x9b|u202e", text)
