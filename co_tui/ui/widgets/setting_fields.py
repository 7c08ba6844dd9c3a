"""Where settings are filtered, written and chosen: each says what Enter does there."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from co_tui.ui.widgets.field import Field


class FilterField(Field):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "To the list", key_display="enter"),
        Binding("down", "submit", show=False),
    ]


class ValueField(Field):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Keep", key_display="enter")]


class ChoiceList(OptionList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Choose", key_display="enter")]
