"""What is written about settings is what they are."""

from co_tui.settings import GROUPS, about, rules
from tests.config_reference import README, reference, with_reference


def test_the_readme_has_every_setting_as_it_is() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == with_reference(text), "uv run python -m tests.config_reference"


def test_every_setting_says_what_it_is_for_in_one_sentence() -> None:
    for name in rules():
        group, sentence = about(name)
        assert group in GROUPS and sentence.endswith(".") and sentence[0].isupper() and "\n" not in sentence, name
        assert f"`{name}`" in reference()
