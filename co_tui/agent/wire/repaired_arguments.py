"""Repair the arguments of tool calls that are not quite JSON, before anything reads them.

Only faults with one meaning are repaired: single quotes, Python's names for constants, names without quotes, commas at
an end, line breaks in texts, a code fence around it. Texts stay as they are, character by character. The harness's own
repair guesses more and drops blanks at the end of a text, such as the last line break of a file.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pydantic_ai.messages import ModelResponse, ToolCallPart

MOST_CHARS: Final = 1_000_000
_FENCE: Final = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<mark>[{}\[\]:,])|(?P<word>[\w.+-]+))""",
    re.DOTALL,
)
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null"}


def with_repaired_arguments(response: ModelResponse) -> ModelResponse:
    """The response with calls whose arguments can be read; unchanged if they can already.

    Done here and not when a tool is called: so the log, the question and the tool have the same arguments. A reply that
    was cut is left as it is: its last call would be repaired into a shorter one."""
    if response.finish_reason == "length":
        return response
    parts = [_repaired(part) if isinstance(part, ToolCallPart) else part for part in response.parts]
    return replace(response, parts=parts) if parts != response.parts else response


def _repaired(call: ToolCallPart) -> ToolCallPart:
    text = call.args
    if not isinstance(text, str) or not text.strip() or len(text) > MOST_CHARS or _reads(text):
        return call
    fenced = _FENCE.fullmatch(text.strip())
    try:
        found = json.loads("".join(_as_json(fenced[1] if fenced else text.strip())), strict=False)
    except (ValueError, RecursionError):
        return call
    return replace(call, args=json.dumps(found, ensure_ascii=False)) if isinstance(found, dict) and found else call


def _reads(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True  # nested too deeply to be worth it
    except ValueError:
        return False
    return True


def _as_json(text: str) -> Iterator[str]:
    """The text as JSON, token by token. Raises ValueError for what is not a token."""
    at, comma = 0, ""
    while at < len(text):
        if (found := _TOKEN.match(text, at)) is None:
            raise ValueError(text[at : at + 1])
        at = found.end()
        if found["mark"] == ",":
            yield comma
            comma = ","
            continue
        yield ("" if found["mark"] in ("}", "]") else comma) + _token(found)
        comma = ""
    yield comma


def _token(found: "re.Match[str]") -> str:
    if (single := found["single"]) is not None:
        inner = re.sub(
            r"\\(.)|(\")", lambda each: "'" if each[1] == "'" else f"\\{each[1] or each[2]}", single, flags=re.DOTALL
        )
        return f'"{inner}"'
    if (word := found["word"]) is not None and re.match(r"[A-Za-z_]", word):
        constant = _CONSTANTS.get(word, word)
        return constant if constant in ("true", "false", "null") else f'"{word}"'
    return found["text"] or found["mark"] or found["word"]
