"""What the assistant concluded: sentences of its text that state something, without what it only announced."""

import re
from typing import Final

from co_tui.inert import one_line

MOST_CHARS: Final = 300
MOST_SENTENCES: Final = 3
_READ_CHARS: Final = 6_000
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED: Final = re.compile(
    r"<(function|execute_\w+|tool_call|command|bash|invoke|function_calls|thinking|think|write_to_file|read_file|replace_in_file)\b"
    r"[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
_EDIT_BLOCK: Final = re.compile(r"^<{5,9} ?SEARCH.*?(?:^>{5,9} ?REPLACE[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARK: Final = re.compile(r"^\s*(?:#{1,6}\s+|[-*•>+]\s+|\d+[.)]\s+)+")
_LABEL: Final = re.compile(
    r"^(?:\*\*)?(?:THOUGHT|Thought|DISCUSSION|Discussion|Reasoning|Analysis)(?:\*\*)?:(?:\*\*)?\s*"
)
_SENTENCE: Final = re.compile(
    r"(?<=[.!?…:])(?:[\"')\]*_”’`]{0,3})\s+(?=[\"'(\[*_“`]{0,3}[A-Z0-9À-Þ\u0400-\u042f\u3040-\u9fff\uac00-\ud7af/])|(?<=[。！？])\s*"
)
_ABBREVIATED: Final = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Ms|Dr|No|approx|resp|incl)\.|\b[A-Z]\.|^\d+[.)])$")
_ANNOUNCES: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|now|next|then|so|first(?:ly)?|finally|also|and|but|great|good|perfect|alright|right|sure|certainly|of course|"
    r"absolutely|excellent|let me first|actually|no problem|thank you(?: for [^,.!]*)?)[,!.:]?\s+)*"
    r"(?:let(?:'s|’s| us| me)\b|i(?:'ll|’ll| will| am going to|'m going to|’m going to| am about to| want to| need to (?:check|look|see|find|read|run|understand|first)"
    r"| should (?:check|look|see|find|read|run|first)|'d like to| would like to| can (?:help|assist|look up))\b|we(?:'ll|’ll| will| can (?:now|use|start)| should (?:now|first|check))\b"
    r"|to proceed\b|here(?:'s|’s| is| are)\b|going to\b|time to\b|please (?:confirm|provide|let|wait|hold)|"
    r"(?:check|run|read|look|create|update|fix|add|test|try|verify|see|find|search|write|edit|view|open|install|build|continue|proceed|start|examine|"
    r"remove|replace|apply|make|do|use|rerun|re-run|compile|commit|move|rename|clean|show|explore|inspect|modify|implement|the changes?:?$|where)\b(?=.*[:.]?$)(?!.*\b(?:is|are|was|were|has|have|does|did)\b))",
    re.IGNORECASE,
)
_ANNOUNCES_WIDE: Final = re.compile(
    r"^(?:好的?[，,。！]?|现在|接下来|首先|然后|下面|那么|请稍|嗯[，,]?|では[、,]?|まず[、,]?|次に[、,]?|それでは[、,]?)*"
    r"(?:让我(?:们)?|我(?:来|先|将|会|要|需要先|再|去|现在)|我们(?:来|先)|接下来|现在(?:开始|来|我)|请(?:稍|确认|提供)|好的?[。！，]?$)"
    r"|(?:しましょう|してみます|確認します|見てみます|見てみましょう|ていきます|始めます|いたします)[。！：:]?$"
)
_FILLER: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|perfect|great|good|excellent|done|yes|no|sure|certainly|of course|absolutely|hello|hi|hmm|thanks?|thank you|got it|i see|"
    r"i understand|understood|alright|right|wait|interesting|awesome|nice|wonderful|you'?re welcome|good (?:catch|point|question|idea)|oh no|oops|"
    r"no problem|my apologies|i apologi[sz]e.*|sorry.*|hi again|hello again|great (?:news|question)|how (?:can|may) i .*|好的?|完成|明白了?|了解|はい)\s*[,.!:…。！]*\s*)+$",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"\b(?:issue|problem|bug|cause[ds]?|because|since|therefore|means|shows?|confirm(?:s|ed)|found|see that|can see|now (?:works?|passes|pass)|works?|working|"
    r"pass(?:es|ed|ing)?|fail(?:s|ed|ing|ure)?|fix(?:ed|es)?|error|missing|wrong|correct(?:ly)?|incorrect|expected|instead|already|exists?|not|n't|cannot|"
    r"implemented|added|removed|updated|changed|created|completed?|successfully|done|need(?:s|ed)? to|should|must|so\b|however|but|only|"
    r"cancell?ed|booked|refund|eligible|unfortunately|total|result|conclu|summary|root)\b"
    r"|问题|原因|因为|所以|已经|已|成功|失败|错误|修复|发现|说明|应该|需要|正确|完成|不|問題|修正|完了|成功|失敗|エラー|ため|ました",
    re.IGNORECASE,
)


def concluded(text: str) -> str:
    """One to three sentences of a reply that state something, in its own words; empty if it only announced."""
    sentences = [each for each in _sentences(text) if _says_something(each)]
    if len(sentences) > MOST_SENTENCES or sum(map(len, sentences)) > MOST_CHARS:
        sentences = _best(sentences)
    return one_line(" ".join(sentences), MOST_CHARS + 60)


def announces(line: str) -> bool:
    """Whether a line only says what comes next, or nothing at all."""
    sentences = _split(_LABEL.sub("", _MARK.sub("", line)).strip())
    return bool(sentences) and all(_is_announcement(each) for each in sentences)


def _is_announcement(sentence: str) -> bool:
    bare = sentence.lstrip("*_ ")
    return bool(_FILLER.match(bare) or _ANNOUNCES_WIDE.search(bare) or _ANNOUNCES.match(bare))


def _best(sentences: list[str]) -> list[str]:
    """Those that state most, in their order: the first and the last of a text weigh more."""
    last = len(sentences) - 1
    weights = {
        at: 2 * bool(_STATES.search(sentence)) + (at == 0) + 0.5 * (at == last) - 0.02 * at
        for at, sentence in enumerate(sentences)
    }
    chosen: list[int] = []
    length = 0
    for at in sorted(weights, key=lambda each: -weights[each]):
        size = len(sentences[at]) + 1
        if len(chosen) < MOST_SENTENCES and (not chosen or length + size <= MOST_CHARS):
            chosen.append(at)
            length += size
    return [sentences[at] for at in sorted(chosen)]


def _sentences(text: str) -> list[str]:
    """The sentences of the prose in a text; code, calls and tables are left out."""
    prose = text[:_READ_CHARS]
    for block in (_EDIT_BLOCK, _FENCE, _TAGGED):
        prose = block.sub("\n", prose)
    found: list[str] = []
    for line in prose.splitlines():
        if line.lstrip().startswith(("|", "---", "===", "<<<", ">>>", "```", "http")) or "\t" in line.strip():
            continue
        found += _split(_LABEL.sub("", _MARK.sub("", line)).strip())
    return found


def _split(line: str) -> list[str]:
    found: list[str] = []
    for piece in _SENTENCE.split(line):
        if found and _ABBREVIATED.search(found[-1]):
            found[-1] += f" {piece}"
        elif piece and piece.strip():
            found.append(piece.strip())
    return found


def _says_something(sentence: str) -> bool:
    is_wide = bool(re.search(r"[\u3040-\u9fff\uac00-\ud7af]", sentence))
    if len(sentence) < (5 if is_wide else 15) or sentence.endswith(("?", "？")):
        return False
    if not is_wide and sentence.count(" ") < 2:
        return False
    if _FILLER.match(sentence) or _ANNOUNCES_WIDE.search(sentence):
        return False
    return not _ANNOUNCES.match(sentence.lstrip("*_ "))
