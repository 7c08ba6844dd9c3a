"""Where settings are filtered, written and chosen: each says what Enter does there."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.steady_list import SteadyList


class FilterField(Field):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "To the list", key_display="enter"),
        Binding("down", "submit", show=False),
    ]


class ValueField(Field):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Keep", key_display="enter")]


class ChoiceList(SteadyList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Choose", key_display="enter")]
