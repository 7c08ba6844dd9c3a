"""What a meter keeps of a long session."""

from co_tui.context.measure.calibration import Calibration
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
