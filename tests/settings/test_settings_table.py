"""What is written about settings is what they are."""

from co_tui.settings import GROUPS, about, rules
from tests.help_tables import TABLES, marked
from tests.support.here import Here

LONGEST_LABEL = 28
"""The settings screen has a column for it."""


def table() -> str:
    begin, end = marked("settings")
    return TABLES["settings"][0].read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]


def test_every_setting_says_what_it_is_for_in_one_sentence() -> None:
    written = table()
    for name in rules():
        group, label, sentence = about(name)
        assert label[0].isupper() and len(label) <= LONGEST_LABEL, name
        assert group in GROUPS and sentence.endswith(".") and sentence[0].isupper() and "\n" not in sentence, name
        assert f"`{name}`" in written
    assert len({about(name).label for name in rules()}) == len(rules())


def test_the_defaults_in_the_help_are_what_a_new_user_has(here: Here) -> None:
    rows = [row.replace("\\|", "/").split(" | ") for row in table().splitlines() if row.startswith("| `")]
    written = {name.strip("| `"): default.strip("`") for name, default, *_ in rows}
    shown = [line.split() for line in here("config").out.splitlines()[1:]]
    assert written.keys() == {words[0] for words in shown} and len(written) > 50
    for name, *words in shown:
        assert " ".join(words).startswith(" ".join(written[name].split())), name
