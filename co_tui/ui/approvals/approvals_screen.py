"""The approval rules in force: where each is written, and how to add or revoke one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from co_tui.events.wording import mode_line
from co_tui.inert import one_line
from co_tui.session.slash.applying import NOW
from co_tui.session.slash.command_host import CommandHost
from co_tui.session.slash.work_commands import standing_approvals
from co_tui.settings import SettingsError, quoted
from co_tui.settings.permission_rules import FORMS, Effect, RuleInForce, parse_rule
from co_tui.settings.writing import add_permission
from co_tui.ui.approvals.choices import Choice, ChoiceBox, Choices
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import Dialog, show_rows
from co_tui.ui.formatting import folder
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

if TYPE_CHECKING:
    from co_tui.session.approvals.standing_approvals import StandingRule

RULE_CHARS: Final = 200
WIDEST_RULE: Final = 50
WIDTH: Final = 100
AROUND_CELLS: Final = 16
"""The widest box, and the cells of a row besides the rule and its source."""
LEAST_SOURCE: Final = 14
LIST_KEYS: Final = (("a", "add"), ("d", "revoke"), ("escape", "back"))
NOTHING: Final = (
    "No rules yet. Reading in this folder is allowed; what the mode does not allow asks first. "
    "Answer a question with s or p to keep a rule, or press a to add one."
)
_STYLES: Final = {"allow": "bold $success", "ask": "bold $warning", "deny": "bold $error"}
EFFECT_CHOICES: "Final[Mapping[str, tuple[Effect, str]]]" = {
    "1": ("allow", "Allow without asking"),
    "2": ("ask", "Always ask"),
    "3": ("deny", "Deny without asking"),
}
WRITING_KEYS: Final = (("enter", "next"), ("escape", "back"))
CHOOSING_KEYS: Final = (("up down enter", "choose"), ("escape", "back"))


class ApprovalEditor:
    """Lists, adds and revokes approval rules; a change applies to the open session, too."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    def rules(self) -> "list[StandingRule]":
        return standing_approvals(self._host).all()

    async def add(self, effect: "Effect", rule: str) -> str:
        """Write a rule to the user's file; returns when it takes effect. Raises `SettingsError`."""
        launch = self._host.launch
        added = add_permission(effect, rule, launch.paths)
        holds = await self._reload()
        return f"Added: {effect} {added.rule}{f', applies {holds}' if holds != NOW else ''} (saved)"

    async def revoke(self, rule: "RuleInForce") -> str:
        """Raises `SettingsError`."""
        try:
            await standing_approvals(self._host).revoke(rule)
        except OSError as error:
            raise SettingsError(f"Not revoked: cannot write {error.filename} ({error.strerror}).") from None
        if rule.source == str(self._host.launch.paths.config_file):
            await self._reload()
        return f"Revoked {rule.rule.shown}."

    async def _reload(self) -> str:
        changed = self._host.launch.reloaded(written="permissions")
        for problem in changed.problems:
            self._host.fail(problem)
        return await self._host.apply("permissions", changed)


class ApprovalsScreen(Dialog[None]):
    """Lists the rules; keys add and revoke."""

    DEFAULT_CSS = """
    ApprovalsScreen #said { height: auto; color: $muted; margin-top: 1; display: none; }
    ApprovalsScreen #said.-said { display: block; }
    ApprovalsScreen #said.-bad { color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("a", "add", "Add"),
        Binding("d,delete", "revoke", "Revoke"),
    ]

    def __init__(self, editor: ApprovalEditor, mode: str = "", words: str = "") -> None:
        """`mode` is the one in force, which allows more than the rules; the first rule with the `words` is chosen."""
        super().__init__(wide=True)
        self._editor, self._mode, self._words = editor, mode, words.lower()
        self._shown: Sequence[StandingRule] = ()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Approvals"
            box.border_subtitle = Text(f"mode {mode_line(self._mode)}") if self._mode else ""
            yield SafeList(classes="-filling")
            yield Static(id="said", markup=False)
            yield KeyHints(*LIST_KEYS)

    def on_mount(self) -> None:
        texts = [f"{each.rule.rule} {each.rule.rule.shown}".lower() for each in self._editor.rules()]
        self._fill(next((place for place, text in enumerate(texts) if self._words in text), 0))
        self.query_one(OptionList).focus()

    def _fill(self, highlighted: int) -> None:
        self._shown = self._editor.rules()
        widest = min(max((cell_len(_rule(each)) for each in self._shown), default=0), WIDEST_RULE)
        room = min(WIDTH, int(self.size.width * 0.95)) - AROUND_CELLS - widest
        rows = [_option(each, widest, max(LEAST_SOURCE, room)) for each in self._shown]
        show_rows(self.query_one(OptionList), rows, NOTHING, highlighted)
        self.query_one(KeyHints).show(*(LIST_KEYS if self._shown else (LIST_KEYS[0], LIST_KEYS[-1])))

    def on_resize(self) -> None:
        self._fill(self.query_one(OptionList).highlighted or 0)

    def _say(self, text: str, *, bad: bool = False) -> None:
        said = self.query_one("#said", Static)
        said.update(Text(text))
        said.set_class(bool(text), "-said").set_class(bad, "-bad")

    async def action_revoke(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is None or at >= len(self._shown):
            return
        each = self._shown[at]
        if not each.revocable:
            self._say(f"This rule is in {_source(each)}. Edit it there.", bad=True)
            return
        try:
            self._say(await self._editor.revoke(each.rule))
        except SettingsError as error:
            self._say(str(error), bad=True)
        self._fill(at)

    def action_add(self) -> None:
        self.app.push_screen(AddRuleScreen(self._editor.add), self._added)

    def _added(self, said: str | None) -> None:
        if said is not None:
            self._say(said)
            self._fill(len(self._editor.rules()) - 1)


class AddRuleScreen(Dialog[str]):
    """Asks for a rule, then for its effect, and writes it; answers with a sentence about it."""

    DEFAULT_CSS = """
    AddRuleScreen Static { height: auto; color: $muted; }
    AddRuleScreen Static.-bad { color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, add: "Callable[[Effect, str], Awaitable[str]]") -> None:
        super().__init__(wide=True)
        self._add = add

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Add a rule"
            yield Static(f"Examples: {FORMS}.", markup=False)
            yield Field()
            choices = ChoiceBox(Choices(Choice(key, label) for key, (_, label) in EFFECT_CHOICES.items()), self._chosen)
            choices.display = False
            yield choices
            yield KeyHints(*WRITING_KEYS)

    def on_mount(self) -> None:
        self.query_one(Field).focus()

    @property
    def has_unsaved_text(self) -> bool:
        return bool(self.query_one(Field).value)

    @on(Input.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        try:
            parse_rule(event.value)
        except ValueError:
            self._refuse(f"{quoted(event.value)} is not a rule. Examples: {FORMS}.")
        else:
            self._show_effects(True)

    def _show_effects(self, shown: bool) -> None:
        choices = self.query_one(ChoiceBox)
        choices.display = shown
        (choices if shown else self.query_one(Field)).focus()
        self.query_one(KeyHints).show(*(CHOOSING_KEYS if shown else WRITING_KEYS))

    def _chosen(self, key: str) -> None:
        effect = EFFECT_CHOICES[key][0]
        run_in_background(self, "Adding the rule", lambda: self._write(effect), group="rule", latest=True)

    async def _write(self, effect: Effect) -> None:
        try:
            self.answer(await self._add(effect, self.query_one(Field).value))
        except SettingsError as error:
            self._refuse(str(error))

    def _refuse(self, why: str) -> None:
        message = self.query_one(Static)
        message.update(Text(why))
        message.add_class("-bad")
        self._show_effects(False)


def _rule(each: "StandingRule") -> str:
    text = one_line(each.rule.rule.shown, RULE_CHARS)
    return text if each.rule.rule.tool else f"{text} (not a rule)"


def _source(each: "StandingRule", limit: int = RULE_CHARS) -> str:
    return folder(each.rule.source, limit) or "the settings"


def _option(each: "StandingRule", width: int, source_width: int) -> Option:
    rule = _rule(each)
    return Option(
        Content.assemble(
            (f"{each.rule.effect:<5}  ", _STYLES[each.rule.effect]),
            rule + " " * max(0, width - cell_len(rule)),
            (f"  {_source(each, source_width)}", "$muted"),
        )
    )
