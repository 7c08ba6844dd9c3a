"""Change a list in TOML, leaving its layout and the comments on other elements as the user wrote them."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'|\#[^\r\n]*|[][{},]|\s+|[^][{},\s\#"']+""",
    re.DOTALL,
)
_COMMENT: Final = re.compile(r"[ \t]*#[^\r\n]*")
_NEW_LINE: Final = re.compile(r"\r?\n[ \t]*\Z")


class _Element(NamedTuple):
    before: str
    """Blanks, and comments on lines of their own."""
    source: str
    gap: str = ""
    """What is before its comma."""
    comment: str = ""
    """On the same line."""


def changed_list(text: str, old: Sequence[object], new: Sequence[object], sources: Sequence[str]) -> str:
    """The text of the list `old`, changed to `new`, whose elements are written as `sources`."""
    elements, tail, ends_in_comma = _read(text[1:-1])
    result: list[_Element] = []
    removed: str | None = None
    steps = SequenceMatcher(None, list(map(repr, old)), list(map(repr, new)), autojunk=False).get_opcodes()
    for step, first, last, start, end in steps:
        kept = min(last - first, end - start)
        for each, source in zip(elements[first:last], sources[start:end], strict=False):
            source = each.source if step == "equal" else source
            result.append(each._replace(before=_following(removed, each.before), source=source))
            removed = None
        for each in elements[first + kept : last]:
            removed = _following(removed, each.before) + each.gap
        for source in sources[start + kept : end]:
            result.append(_Element(_layout(text, elements, result), source))
    if removed is not None and ("#" in removed or (result and result[-1].comment)):  # a comment ends its line
        tail = _following(removed, tail)
    return f"[{_written(result, ends_in_comma=ends_in_comma)}{tail}]"


def _read(inner: str) -> tuple[list[_Element], str, bool]:
    """The elements of a list, the text after the last one, and whether that has a comma."""
    elements: list[_Element] = []
    before = source = gap = ""
    depth = 0
    for token in _TOKEN.findall(inner):
        if depth or not (token == "," or token.isspace() or token.startswith("#")):
            depth += (token in "[{") - (token in "]}")
            source, gap = source + gap + token, ""
        elif token == ",":
            elements.append(_Element(before, source, gap))
            before = source = gap = ""
        elif source:
            gap += token
        elif elements and not elements[-1].comment and (comment := _COMMENT.fullmatch(before + token)):
            elements[-1], before = elements[-1]._replace(comment=comment[0]), ""
        else:
            before += token
    if not source:
        return elements, before, bool(elements)
    comment = _COMMENT.match(gap)
    elements.append(_Element(before, source, comment=comment[0] if comment else ""))
    return elements, gap[comment.end() :] if comment else gap, False


def _following(removed: str | None, before: str) -> str:
    """What comes before an element, with the comments above a removed one."""
    if removed is None:
        return before
    if "\n" not in before:
        return removed
    return (removed.rstrip() if "#" in removed else "") + before


def _layout(text: str, elements: Sequence[_Element], result: Sequence[_Element]) -> str:
    """What comes before a new element: a new line, if the one before it has its own."""
    model = result[-1] if result else elements[0] if elements else None
    if model is None:
        return ""
    line = _NEW_LINE.search(model.before)
    if line is None and result and model.comment:
        return "\r\n  " if "\r\n" in text else "\n  "
    return line[0] if line else " " if result else ""


def _written(elements: Sequence[_Element], *, ends_in_comma: bool) -> str:
    written = ""
    for number, each in enumerate(elements, 1):
        comma = "," if number < len(elements) or ends_in_comma else ""
        written += f"{each.before}{each.source}{each.gap}{comma}{each.comment}"
    return written
