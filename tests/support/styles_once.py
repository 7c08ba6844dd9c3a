"""Styles of a node that was styled before in the same situation are taken from then, by all apps of a process.

The situation is all that a selector can ask: the rules themselves, and of the node and of each node above it the
class, the id, the classes and the pseudo classes. Where the order of siblings matters, Textual looks itself.
"""

from collections.abc import Hashable
from typing import Any

from textual.css.model import RuleSet
from textual.css.styles import RenderStyles
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

_apply = Stylesheet.apply
_FLAGS = "_has_hover_style", "_has_focus_within", "_has_order_style", "_has_odd_or_even"
_KEPT = "_styled_before"
_SAME_IN_AN_APP = frozenset({"dark", "light", "inline", "ansi", "nocolor"})


class _Styled:
    """What was found under the same rules."""

    def __init__(self, rules: tuple[Any, ...]) -> None:
        named = {name for rule in rules for name in rule.pseudo_classes}
        self.asked = tuple(sorted(named - Stylesheet._EXCLUDE_PSEUDO_CLASSES_FROM_CACHE))
        self.asked_below = tuple([name for name in self.asked if name not in _SAME_IN_AN_APP])
        self.rules = rules
        """Kept, so that no other rules get their identity."""
        self.found: dict[Hashable, tuple[Any, tuple[bool, ...]]] = {}
        self.first: dict[Hashable, dict[str, Any]] = {}
        """What the rules come to on a node that had none."""
        self.components: dict[Hashable, dict[str, Any]] = {}

    def situation(self, node: DOMNode) -> Hashable:
        app, *below = node.css_path_nodes
        return _state(app, self.asked), *[_state(each, self.asked_below) for each in below]


def _state(node: DOMNode, asked: tuple[str, ...]) -> Hashable:
    checks = node._PSEUDO_CLASSES
    pseudo_classes = tuple([name for name in asked if name in checks and checks[name](node)])
    return type(node), node._id, node.classes, pseudo_classes


_by_rules: dict[tuple[int, ...], _Styled] = {}


def style_once() -> None:
    RuleSet.__hash__ = object.__hash__  # it is the identity, too: every rule is looked up for each new situation
    Stylesheet.apply = _apply_once
    Stylesheet._process_component_classes = _style_components_once


def _styled_under(sheet: Stylesheet) -> _Styled:
    rules = sheet.rules
    kept = vars(sheet).get(_KEPT)
    if kept is None or kept[0] is not rules:
        key = tuple(map(id, rules))
        if key not in _by_rules:
            _by_rules[key] = _Styled(tuple(rules))
        kept = vars(sheet)[_KEPT] = rules, _by_rules[key]
    styled: _Styled = kept[1]
    return styled


def _apply_once(sheet: Stylesheet, node: DOMNode, *, animate: bool = False, cache: Any = None) -> None:
    styled = _styled_under(sheet)
    situation = styled.situation(node)
    known = styled.found.get(situation)
    if known is None:
        found: dict[Any, Any] = {}
        _apply(sheet, node, animate=animate, cache=found)
        if found:
            [rules] = found.values()
            styled.found[situation] = rules, tuple([getattr(node, flag) for flag in _FLAGS])
        return
    rules, flags = known
    for flag, value in zip(_FLAGS, flags, strict=True):
        setattr(node, flag, value)
    base = node.styles.base
    animate = animate and bool(rules.get("transitions"))
    if not (animate or base._rules or node._is_mounted):
        if situation in styled.first:
            base.merge_rules(styled.first[situation])
            node.notify_style_update()
        else:
            sheet.replace_rules(node, rules)
            styled.first[situation] = dict(base._rules)
    elif animate or base._rules != rules:
        sheet.replace_rules(node, rules, animate=animate)
    else:
        node.notify_style_update()
    sheet._process_component_classes(node)


def _style_components_once(sheet: Stylesheet, node: DOMNode) -> None:
    """Only those components that were asked for can have been drawn: if one of them changes, the node is."""
    if not node._get_component_classes():
        return
    before = node._component_styles
    node._component_styles = now = _Components(sheet, node)
    if not isinstance(before, _Components) or any(before[name] != now[name] for name in before):
        node.refresh()


class _Components(dict[str, RenderStyles]):
    """The styles of a node's components, each made when it is first asked for: few ever are."""

    def __init__(self, sheet: Stylesheet, node: DOMNode) -> None:
        super().__init__()
        self._sheet, self._node, self._names = sheet, node, node._get_component_classes()

    def __contains__(self, component: object) -> bool:
        return component in self._names

    def __missing__(self, component: str) -> RenderStyles:
        """The nodes that stand for components differ only in their class."""
        styled = _styled_under(self._sheet)
        situation = styled.situation(self._node), component
        part = DOMNode(classes=component)
        part._attach(self._node)
        if (rules := styled.components.get(situation)) is None:
            found: dict[Any, Any] = {}
            _apply(self._sheet, part, cache=found)
            if found:
                styled.components[situation] = dict(part.styles.base._rules)
        else:
            part.styles.base._rules.update(rules)
        self[component] = part.styles
        return part.styles

    def clear(self) -> None:
        super().clear()
        self._names = frozenset()
