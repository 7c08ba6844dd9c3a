"""The first line: as much as there is room for, and the conversation's name among it."""

from pathlib import Path

import pytest

from co_tui.ui.chat.title_line import TitleFacts, folder_name, title_line

FACTS = TitleFacts("Why does test_login fail on CI but not here?", "anthropic:claude-sonnet-5", "balanced", "main")


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (98, "co-tui · Why does test_login fail on CI but not here?  anthropic:claude-sonnet-5 · balanced · main"),
        (78, "co-tui · Why does test_login fai…  anthropic:claude-sonnet-5 · balanced · main"),
        (70, "co-tui · Why does test_login fail …  claude-sonnet-5 · balanced · main"),
        (58, "co-tui · Why does test_login …  claude-sonnet-5 · balanced"),
        (47, "co-tui · Why does test_login …  claude-sonnet-5"),
    ],
)
def test_the_conversation_has_its_name_however_narrow_it_is(room: int, line: str) -> None:
    shown = str(title_line(FACTS, room))
    assert shown == line and len(shown) == room


def test_what_waits_and_what_is_safe_stays() -> None:
    told = str(title_line(FACTS._replace(questions=2, sandboxed=True, private=True), 70))
    assert "2 approvals pending · private · claude-sonnet-5 · sandboxed" in told and "balanced" not in told
    for room, unpushed in ((100, " · 2 sessions not pushed yet"), (60, "claude-sonnet-5 · not pushed")):
        assert unpushed in str(title_line(FACTS._replace(unpushed="2 sessions not pushed yet"), room))
    assert str(title_line(TitleFacts(model="embedded"), 58)).split() == ["co-tui", "embedded"]


@pytest.mark.parametrize(
    ("room", "end"),
    [
        (98, "anthropic:claude-sonnet-5 · high effort · balanced · main"),
        (84, "  claude-sonnet-5 · high effort · balanced · main"),
        (72, "  claude-sonnet-5 · high effort · balanced"),
        (56, "  claude-sonnet-5"),
    ],
)
def test_it_names_the_effort_while_there_is_room_for_the_policy(room: int, end: str) -> None:
    assert str(title_line(FACTS._replace(effort="high"), room)).endswith(end)


@pytest.mark.parametrize(("room", "expected"), [(120, "me@box:/srv/app"), (60, "me@box · claude")])
def test_it_says_on_which_host_the_session_works(room: int, expected: str) -> None:
    assert expected in str(title_line(FACTS._replace(where="me@box:/srv/app"), room))


@pytest.mark.parametrize(
    ("room", "end"),
    [
        (110, "anthropic:claude-sonnet-5 · balanced · shop/ · main"),
        (76, "  claude-sonnet-5 · balanced · shop/ · main"),
        (66, "  claude-sonnet-5 · balanced · shop/"),
        (58, "  claude-sonnet-5 · balanced"),
    ],
)
def test_it_says_in_which_folder_the_session_works(room: int, end: str) -> None:
    assert str(title_line(FACTS._replace(folder=folder_name(Path("/srv/shop"))), room)).endswith(end)
    assert folder_name(Path.home()) == "~"
