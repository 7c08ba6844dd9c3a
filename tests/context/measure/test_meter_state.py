"""What a meter keeps of a long session, and what it believes."""

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

from co_tui.context.measure.calibration import Calibration
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.measure.meter import Meter
from co_tui.context.measure.meter_state import MOST_REPORTS, MeterState, Report


def test_only_the_latest_reports_are_kept() -> None:
    calibration = Calibration()
    state = MeterState(calibration, calibration.line())
    for number in range(MOST_REPORTS):
        state = state.with_report(Report(number, number, 1))
    before = state
    state = state.with_report(Report(0, 0, 2))  # again: now it is the latest
    assert len(state.reports) == MOST_REPORTS
    state = state.with_report(Report(MOST_REPORTS, MOST_REPORTS, 1))
    assert len(state.reports) == MOST_REPORTS
    assert state.reports[0, 0] == Report(0, 0, 2) and (1, 1) not in state.reports
    assert before.reports[0, 0] == Report(0, 0, 1) and (1, 1) in before.reports


@pytest.mark.parametrize(("output_tokens", "is_believed"), [(20, False), (9_000, True), (40_000, True)])
def test_a_count_far_below_what_a_reply_must_take_is_not_believed(output_tokens: int, is_believed: bool) -> None:
    meter, scaffold, window = Meter(), Scaffold(), Window(tokens=100_000, known=True)
    request = [ModelRequest(parts=[UserPromptPart("Write the table.")])]
    meter.sent(request, scaffold)
    usage = RequestUsage(input_tokens=100, output_tokens=output_tokens)
    reply = ModelResponse(parts=[ToolCallPart("write_file", {"text": "one row of it, " * 5_000}, "c1")], usage=usage)
    assert meter.reported(reply)
    reading = meter.read_reply(reply, scaffold, window)
    assert (reading.current_tokens == 100 + output_tokens) is is_believed
    assert (reading.measured == "provider") is is_believed and reading.current_tokens > 5_000
