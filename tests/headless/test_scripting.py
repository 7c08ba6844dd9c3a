"""`co-tui run` under scripts that were written for Claude Code: its options, and the lines it reads and prints."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from co_tui.cli.arguments import parse
from co_tui.headless.printing import Output
from co_tui.headless.scripting.control import Control
from co_tui.headless.scripting.prompt_lines import GivenPrompt, read_line
from co_tui.headless.scripting.result_lines import ResultLines
from co_tui.headless.scripting.script_questions import ScriptQuestions
from co_tui.session.approvals.questions import Approval, ApprovalQuestion, ModelQuestion
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.command import CliCommand
from tests.support.foreign_programs import PICTURE
from tests.support.here import Here
from tests.support.loaded import LoadedProcess
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S, wait_until

STREAM = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
LIST = ("list_directory", json.dumps({"path": "."}))
WRITE = ("write_file", json.dumps({"path": "a.txt", "content": "one\n"}))
BIRDS = {"question": "Which bird?", "header": "Bird", "options": [{"label": "heron"}, {"label": "crane"}]}
ASK = ("ask_user_question", json.dumps({"questions": [BIRDS]}))
NO_IMAGE = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}


@pytest.fixture
def served(served: CliCommand) -> CliCommand:
    """With a window that has room for the tools."""
    served.environ["CO_TUI_CONTEXT_WINDOW"] = "32000"
    return served


def prompt_line(content: object) -> str:
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n"


class Conversation:
    """A script that writes a prompt, and reads lines until its result. It answers what the run asks."""

    answers: Iterator[dict[str, Any]] = iter(())

    def __init__(self, writing: int, reading: int) -> None:
        self._writing, self._reading = open(writing, "w", encoding="utf-8"), open(reading, encoding="utf-8")

    def say(self, content: object) -> list[dict[str, Any]]:
        self.write(prompt_line(content))
        return self.read("result")

    def write(self, line: str) -> None:
        self._writing.write(line)
        self._writing.flush()

    def read(self, kind: str) -> list[dict[str, Any]]:
        """The lines up to the first of a type."""
        lines: list[dict[str, Any]] = []
        while not lines or lines[-1]["type"] != kind:
            lines.append(json.loads(self._reading.readline()))
            if lines[-1]["type"] == "control_request":
                answer = {"subtype": "success", "request_id": lines[-1]["request_id"], "response": next(self.answers)}
                self.write(json.dumps({"type": "control_response", "response": answer}) + "\n")
        return lines

    def ask(self, subtype: str, **given: object) -> dict[str, Any]:
        """The answer to a request, whatever comes before it."""
        request = {"subtype": subtype, **given}
        self.write(json.dumps({"type": "control_request", "request_id": "7", "request": request}) + "\n")
        response = self.read("control_response")[-1]["response"]
        assert response.pop("request_id") == "7"
        return dict(response)

    def end(self) -> str:
        self._writing.close()
        with self._reading:
            return self._reading.read()


@contextmanager
def conversation(command: CliCommand, *arguments: str) -> Iterator[Conversation]:
    given, writing = os.pipe()
    reading, taken = os.pipe()
    process = command.fork((given, taken, None), "run", "-p", *STREAM, *arguments)
    os.close(given)
    os.close(taken)
    spoken = Conversation(writing, reading)
    try:
        yield spoken
    finally:
        rest = spoken.end()
    assert rest == ""
    _, errors = process.communicate(PATIENCE_S)
    assert (process.wait(), errors) == (0, "")


def test_a_conversation_of_five_turns_in_one_process(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text=f"Answer {n}.", prompt_tokens=100) for n in range(1, 5)]
    provider.script += [Reply(text="Look.", tool=LIST, prompt_tokens=100), Reply(text="Answer 5.", prompt_tokens=150)]
    with conversation(served) as script:
        turns = [script.say(f"Question {n}") for n in range(1, 5)]
        turns.append(script.say([{"type": "text", "text": "Question 5"}]))
    init, reply, result = turns[0]
    assert (init["type"], init["subtype"], init["cwd"]) == ("system", "init", str(served.cwd))
    assert {"Bash", "Read", "Edit"} <= set(init["tools"]) and init["permissionMode"] == "default"
    assert reply["message"]["role"] == "assistant"
    assert reply["message"]["content"] == [{"type": "text", "text": "Answer 1. "}]
    assert (result["subtype"], result["is_error"], result["num_turns"]) == ("success", False, 1)
    assert [turn[-1]["result"] for turn in turns] == [f"Answer {n}. " for n in range(1, 6)]
    assert [turn[-1]["num_turns"] for turn in turns] == [1, 1, 1, 1, 2]
    assert [line["type"] for line in turns[4]] == ["assistant", "user", "assistant", "result"]
    call, listed = turns[4][0]["message"]["content"][1], turns[4][1]["message"]["content"][0]
    assert (call["type"], call["name"], listed["type"]) == ("tool_use", "LS", "tool_result")
    assert listed["tool_use_id"] == call["id"] and turns[4][1]["parent_tool_use_id"] is None
    assert turns[4][-1]["usage"]["input_tokens"] == 250 and turns[4][-1]["usage"]["output_tokens"] > 0
    assert len({line["session_id"] for turn in turns for line in turn}) == 1
    asked = [each["content"] for each in provider.requests[-1]["messages"] if each["role"] == "user"]
    assert asked == [f"Question {n}" for n in range(1, 6)]


def test_a_script_controls_its_run_and_answers_its_questions(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="", tool=WRITE), Reply(text="No."), Reply(text="", tool=WRITE), Reply(text="Yes.")]
    provider.script += [Reply(text="", tool=ASK), Reply(text="A heron."), Reply(text="Half of it", open_end=True)]
    provider.script += [Reply(text="And on.")]
    with conversation(served, "--permission-prompt-tool", "stdio") as script:
        known = script.ask("initialize", hooks=None)
        assert known["subtype"] == "success" and {"name", "description", "argumentHint"} == {
            *known["response"]["commands"][0]
        }
        question = {"questions": [{"question": "Which bird?"}], "answers": {"Which bird?": "heron"}}
        script.answers = iter(
            [
                {"behavior": "deny", "message": "Not today."},
                {"behavior": "allow"},
                {"behavior": "allow", "updatedInput": question},
            ]
        )
        assert script.say("Write")[-1]["permission_denials"][0]["tool_name"] == "Write"
        assert not (served.cwd / "a.txt").exists()
        asked = next(line["request"] for line in script.say("Write") if line["type"] == "control_request")
        assert (asked["subtype"], asked["tool_name"], asked["input"]["content"]) == ("can_use_tool", "Write", "one\n")
        assert (served.cwd / "a.txt").read_text() == "one\n"
        script.say("Ask")
        assert '{"Bird":["heron"]}' in [each["content"] for each in provider.requests[-1]["messages"]]
        script.write(prompt_line("Long"))
        wait_until(lambda: len(provider.requests) == 7)
        assert script.ask("interrupt") == {"subtype": "success", "response": {}}
        assert script.read("result")[-1]["errors"] == ["Interrupted."]  # with what had arrived, if anything
        assert script.ask("set_permission_mode", mode="acceptEdits")["subtype"] == "success"
        assert script.ask("set_model", model="nope:x")["error"].startswith("Unknown model")
        assert script.ask("rewind_files")["error"].startswith("rewind_files is not supported. Use one of initialize,")
        assert script.say("Go on")[-1]["result"] == "And on. "


async def test_requests_that_would_be_dropped_are_refused_and_questions_to_a_script_that_left_too() -> None:
    printed: list[Any] = []
    control = Control()
    control.use(
        cast("Session", SimpleNamespace()),
        cast("Output", SimpleNamespace(put=lambda piece: printed.append(piece.text))),
    )
    control.take({"type": "keep_alive"})
    guard = {"subtype": "initialize", "hooks": {"PreToolUse": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]}}
    control.take({"type": "control_request", "request_id": "1", "request": guard})
    await control.settle()
    (refused,) = map(json.loads, printed)
    assert refused["response"]["subtype"] == "error" and "Hooks of a script" in refused["response"]["error"]
    questions = ScriptQuestions(control, Path("/nowhere"))
    question = ApprovalQuestion(tool="write_file", arguments={"path": "a"}, what="")
    asking = asyncio.create_task(questions.approve(question))
    await asyncio.sleep(0)
    changed = {"behavior": "allow", "updatedInput": {"path": "b"}}
    number = json.loads(printed[-1])["request_id"]
    answer = {"subtype": "success", "request_id": number, "response": changed}
    control.take({"type": "control_response", "response": answer})
    assert "changed the input" in (await asking).reason
    asking = asyncio.create_task(questions.approve(question))
    await asyncio.sleep(0)
    control.end()
    assert (await asking) == Approval(approved=False, by="script", reason="The script closed standard input.")
    assert (await questions.ask(ModelQuestion(question="Which?"))).declined


def test_one_result_with_what_was_denied_and_a_limit_on_replies(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="", tool=WRITE), Reply(text="I may not.")]
    denied = served("run", "-p", "Write", "--output-format", "json", "--disallowedTools", "Edit,Bash(git push:*)")
    (result,) = denied.objects
    assert (result["type"], result["subtype"], result["result"]) == ("result", "success", "I may not. ")
    assert not (served.cwd / "a.txt").exists()
    provider.script = [Reply(text="", tool=WRITE), Reply(text="Written.")]
    allowed = served("run", "-p", "Write", "--output-format", "json", "--allowedTools", "Edit", "Bash(git log:*)")
    (result,) = allowed.objects
    assert (allowed.code, result["result"], result["permission_denials"]) == (0, "Written. ", [])
    assert (served.cwd / "a.txt").read_text() == "one\n" and result["total_cost_usd"] is None
    provider.script = [Reply(text="", tool=LIST), Reply(text="", tool=LIST)]
    asked = len(provider.requests)
    stopped = served(
        *("run", "-p", "List", "--output-format", "json", "--max-turns", "1"),
        *("--append-system-prompt", "Be a heron.", "--system-prompt", "You are a bird."),
    )
    (result,) = stopped.objects
    assert (stopped.code, result["subtype"], result["is_error"]) == (1, "error_max_turns", True)
    assert result["num_turns"] == 1 and len(provider.requests) == asked + 1
    instructions = provider.requests[-1]["messages"][0]["content"]
    assert instructions.startswith("You are a bird.") and "Be a heron." in instructions
    provider.script = [Reply(text="", tool=WRITE), Reply(text="No.")]
    unanswered = served("run", "-p", "Write", "--output-format", "json")
    (result,) = unanswered.objects
    assert unanswered.code == 1
    ((denial),) = result["permission_denials"]
    assert (denial["tool_name"], denial["tool_input"]["file_path"]) == ("Write", str(served.cwd / "a.txt"))


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (("--input-format", "stream-json"), "", "--input-format stream-json needs --output-format stream-json."),
        ((*STREAM, "-p", "Hi"), "", "prompts come from standard input"),
        (STREAM, "", "Standard input has no prompt."),
        (STREAM, "\nhello\n", "Line 2 of standard input: it is not JSON."),
        (STREAM, '{"type": "user"}', "Line 1 of standard input: it is not a prompt."),
        (STREAM, '{"type": []}', "Line 1 of standard input: it is not a prompt."),
        (STREAM, prompt_line([{"type": "audio"}]), "blocks of type text and image"),
        (("-p", "Hi", "--allowed-tools", "Bash(git"), "", "Bash(git"),
        (("-p", "Hi", "--max-turns", "0"), "", "is not a whole number"),
    ],
)
def test_bad_input_is_one_sentence(
    served: CliCommand, provider: Provider, arguments: tuple[str, ...], stdin: str, sentence: str
) -> None:
    refused = served("run", *arguments, stdin=stdin)
    assert refused.code == 2 and sentence in refused.err and not provider.requests
    results = [line["is_error"] for line in refused.objects if line["type"] == "result"]
    assert results == ([True] if arguments == STREAM else [])
    assert len([line for line in refused.err.splitlines() if line]) == 1


def test_the_sdk_starts_its_program_without_run_and_names_modes_as_claude_code_does() -> None:
    given = ["--verbose", "--permission-mode", "acceptEdits", "--setting-sources=user,project"]
    options = parse(["--output-format", "stream-json", *given])
    assert (options.command, options.mode, options.yes) == ("run", "edits", False)
    assert parse(["run", "-p", "Hi", "--permission-mode", "bypassPermissions"]).yes
    options = parse(["run", "--print", "Hi", "--dangerously-skip-permissions"])
    assert (options.prompt, options.yes) == ("Hi", True)


def test_a_prompt_may_be_an_image_alone() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    prompt = read_line(prompt_line([image, image]).encode())
    assert isinstance(prompt, GivenPrompt) and (prompt.text, len(prompt.files)) == ("See the attached files.", 2)


def test_a_signal_ends_a_conversation_that_waits_for_its_next_prompt(served: CliCommand, provider: Provider) -> None:
    process, writing, reading = started(served)
    script = Conversation(writing, reading)
    assert script.say("One")[-1]["subtype"] == "success"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(PATIENCE_S)
    assert process.wait() == 130 and errors.startswith("co-tui: Interrupted; what was said is saved in session ")
    assert script.end() == ""


def test_each_line_has_its_result_also_one_that_is_not_a_prompt(served: CliCommand, provider: Provider) -> None:
    unread = prompt_line([{"type": "text", "text": "See"}, {"type": "image", "source": NO_IMAGE}])
    unknown = '{"type": "weather"}\n'
    lines = [prompt_line("One"), prompt_line("/nope"), unknown, prompt_line("Two"), unread]
    ran = served("run", *STREAM, stdin="".join(lines))
    results = [line for line in ran.objects if line["type"] == "result"]
    assert [line["is_error"] for line in results] == [False, True, False, True]
    assert "Unknown command /nope" in results[1]["result"] and "Line 5" in results[3]["errors"][0]
    assert "Line 3 of standard input: messages of type 'weather' are not known. Ignored." in ran.err
    assert (ran.code, len(provider.requests)) == (2, 2)


def test_the_first_failure_is_the_exit_code(served_here: Here) -> None:
    ran = served_here("run", *STREAM, stdin=prompt_line("/nope") + prompt_line("Two"))
    results = [line["is_error"] for line in ran.objects if line["type"] == "result"]
    assert (ran.code, results) == (2, [True, False])


def started(command: CliCommand, *prompts: str) -> tuple[LoadedProcess, int, int]:
    """A conversation with these prompts, and its pipes."""
    given, writing = os.pipe()
    reading, taken = os.pipe()
    process = command.fork((given, taken, None), "run", *STREAM)
    os.close(given)
    os.close(taken)
    os.write(writing, "".join(map(prompt_line, prompts)).encode())
    return process, writing, reading


def test_a_signal_ends_it_before_its_next_prompt_though_no_one_reads(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="x" * 200_000), Reply(text="Half of it", open_end=True)]
    process, writing, reading = started(served, "One", "Two", "Three")
    wait_until(lambda: len(provider.requests) == 2)
    process.send_signal(signal.SIGINT)
    process.communicate(PATIENCE_S)
    assert (process.wait(), len(provider.requests)) == (130, 2)
    os.close(writing)
    os.close(reading)


def test_it_fails_when_its_script_has_left(served: CliCommand, provider: Provider) -> None:
    process, writing, reading = started(served, "One", "Two")
    os.close(reading)
    _, errors = process.communicate(PATIENCE_S)
    assert process.wait() == 1 and errors.endswith("The script that reads the results is gone.\n")
    assert len(provider.requests) <= 1 and "Traceback" not in errors
    os.close(writing)


def test_the_cost_of_a_run_is_unknown_if_only_what_it_continues_had_a_price() -> None:
    session: Any = SimpleNamespace(id="s", state=SimpleNamespace(total_cost=0.5))
    lines = ResultLines(streams=False)
    lines.use(session)
    assert lines.result(Outcome.DONE)["total_cost_usd"] is None
    session.state.total_cost = 0.75
    assert lines.result(Outcome.DONE)["total_cost_usd"] == 0.25
