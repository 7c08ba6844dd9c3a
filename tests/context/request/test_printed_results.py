"""What commands print is sent as a terminal shows it in the end; the log keeps what was printed."""

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.policy import policy_of
from co_tui.context.request.stages import Stages
from co_tui.events.stored_messages import COMMAND
from co_tui.settings import Settings

PRINTED = "\x1b[31m10%\x1b[0m\r50%\r100%\nred \x1b[1;32mgreen\x1b[0m\n" * 40
SHOWN = "100%\nred green\n" * 40


def called(tool: str, call_id: str) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(f"prompt {call_id}")]),
        ModelResponse(parts=[ToolCallPart(tool, {}, tool_call_id=call_id)]),
        ModelRequest(parts=[ToolReturnPart(tool, PRINTED, tool_call_id=call_id)]),
    ]


def test_only_what_commands_print_is_changed_and_each_message_once() -> None:
    own = ModelRequest(parts=[UserPromptPart(PRINTED)], metadata={COMMAND: "make"})
    history = [
        *called("run_command", "a"),
        *called("read_file", "b"),
        own,
        ModelRequest(parts=[UserPromptPart(PRINTED)]),
    ]
    stages = Stages(policy_of(Settings(tool_output_trim_chars=0)))
    live = stages.run(history, lineage := object()).live
    contents = [message.parts[0].content for message in (live[2], live[5], live[6], live[7])]
    assert contents == [SHOWN, PRINTED, SHOWN, PRINTED]
    assert history[2].parts[0].content == PRINTED, "the message of the log is as it was"
    again = stages.run([*history, *called("run_command", "c")], lineage).live
    assert all(one is other for one, other in zip(live, again, strict=False)), "the provider's cache holds"


def test_a_reference_is_made_for_the_result_as_it_is_logged() -> None:
    kept: list[ToolReturnPart] = []

    def keep(part: ToolReturnPart, text: str) -> str:
        kept.append(part)
        return "a reference"

    history = [*called("run_command", "a"), *called("run_command", "b")]
    stages = Stages(policy_of(Settings(archive_over_chars=100)), keep)
    assert stages.run(history).request[2].parts[0].content == "a reference"
    assert len(kept) == 1 and kept[0] is history[2].parts[0]
    stages.release(history)
    stages.run(history)
    assert all(part is history[2].parts[0] for part in kept)
