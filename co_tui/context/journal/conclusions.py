"""What the assistant concluded: sentences of its text that state something, without what it only announced."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern

MOST_CHARS: Final = 300
MOST_SENTENCES: Final = 3
LONGEST_CHARS: Final = MOST_CHARS + 60
"""Of a single sentence that is longer."""
QUESTION_CHARS: Final = 400
FEW_WORDS: Final = 7
CUT_WORDS: Final = 5
"""A sentence without an end that has fewer was cut off."""
GAP: Final = "…"
STRONG: Final = 2
"""A conclusion that finds out or settles something."""
_VAGUE: Final = late_pattern(
    r"(?:good|great|perfect|excellent|actually|now|ok(?:ay)?|yes|hmm|that|this|it|these|those|je|ich)\b", re.IGNORECASE
)
_SAYS_NOTHING: Final = late_pattern(
    r"(?:\b(?:is|are|looks?|seems?)(?: (?:now|very|quite|really))? (?:clear|interesting|promising|strange|odd|weird)"
    r"|\bmakes? sense|\bhave an? \w+ (?:day|trip|flight|time)|\bglad I could help|\banother (?:thought|idea))[.!]*$",
    re.IGNORECASE,
)
_NAMES: Final = late_pattern(r"[`\"“]|\w[_./]\w|\w\(|[a-z][A-Z]|\d")
_NUMBERS: Final = late_pattern(r"\d+")
_WORKS: Final = late_pattern(r"\b(?:pass(?:es|ed|ing)?|works?|working|succeed(?:s|ed)?)\b", re.IGNORECASE)
_FAILS: Final = late_pattern(
    r"\b(?:not|never|\w+n['’]t|cannot|fail(?:s|ed|ing)?|errors?|wrong|missing|broken|incorrect)\b", re.IGNORECASE
)
_GREETS: Final = late_pattern(
    r"\s*(?:/\w+\s+)*(?:(?:hi|hello|hey|bonjour|hola|hallo|ciao|thanks|thank you)\b[\s,.!]*)+", re.IGNORECASE
)
_ENDED: Final = r"(?=\s*(?:[.!?,;:…—–-]|$)| (?:because|since|either|at all|yet|again|though|anymore)\b)"
_SO: Final = (
    rf"(?:it\b(?! (?:is|was)\b)|(?:(?:quite )?right|true|correct)\b{_ENDED}"
    r"|the (?:(?:root|real|actual|main) )?(?:cause|issue|problem|case|reason)\b(?! (?:i|we|you|that|which)\b))"
)
_NOT_SO: Final = (
    rf"(?:no[,.!]? )?(?:that|this|it)(?:(?:['’]s| is| was) (?:not {_SO}|(?:wrong|incorrect)\b{_ENDED})"
    rf"| (?:is|was)n['’]t {_SO})|(?:不对|不是这样|違う)(?=\W|$)"
)
_REJECTS: Final = late_pattern(
    rf"\s*(?:(?:no|nope|oh|wait|hmm+|sorry|actually|but)[,.!…]*\s+)*(?:{_NOT_SO}|wrong[.!,])", re.IGNORECASE
)
_RETRACTS: Final = late_pattern(
    r"(?:oh,? |but |hmm,? |you(?:['’]re| are) (?:absolutely |completely )?right[,.:!]? )*"
    r"(?:wait\s*(?:[,.!:;…—–-](?!\s*(?:also|and|then|can you|could you|let|i should|i need|i forgot|great|nice|good"
    r"|please|for)\b)|$)|wait,? (?:no|that|actually|i was)\b|actually,? no\b"
    r"|no,? (?:wait|actually)\b|nope[,.!]|hold on[,.!…](?! let)|scratch that\b|on second thought\b|but actually\b"
    rf"|{_NOT_SO}|i was wrong\b|等等(?=\W|$))",
    re.IGNORECASE,
)
_READ_CHARS: Final = 8_000
FENCED: Final = late_pattern(r"^[ \t]*+(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CALL: Final = late_pattern(
    r"<(function|execute_\w+|tool_call|command|bash|invoke|function_calls|think(?:ing)?|write_to_file|read_file"
    r"|replace_in_file|execute_command)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
_EDIT_BLOCK: Final = late_pattern(r"^<{5,9} ?SEARCH.*?(?:^>{5,9} ?REPLACE[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_ITEM: Final = late_pattern(r"\s*(?:[-*•+]|\d+[.)])\s+")
_HEADING: Final = late_pattern(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?$|(?:THOUGHT|DISCUSSION)$)")
_LABEL: Final = late_pattern(
    r"(?:\*\*)?(?:THOUGHT|Thought|DISCUSSION|Discussion|Reasoning|Analysis)(?:\*\*)?:(?:\*\*)?\s*"
)
_NOT_PROSE: Final = late_pattern(
    r"\s*(?:[|│⋮<>=`~$]|--|https?:|Traceback |Cost: \$|Tokens: |E  |FAILED |\w+ = |\w+\(.*\)$| {4}\S)"
)
_WIDE: Final = late_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENDS: Final = late_pattern(r"[.!?:…。！？：)\]*`”\"']$")
_SENTENCE: Final = late_pattern(
    r"(?<=[.!?…:])(?:[\"')\]*_”’`]{0,3})\s+"
    r"(?=[\"'(\[*_“`]{0,3}[A-Z0-9À-ÞЀ-Я\u3040-\u9fff\uac00-\ud7af/✅✓✔❌])"
    r"|(?<=[。！？])\s*"
)
_ABBREVIATED: Final = late_pattern(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Ms|Dr|No|approx|resp|incl)\.|\b[A-Z]\.|^\d+[.)])$")
_OPENERS: Final = (
    r"(?:(?:ok(?:ay)?|now|next|then|so|first(?:ly)?|finally|also|and|but|great|good|perfect|alright"
    r"|right|sure|certainly|"
    r"of course|absolutely|excellent|actually|however|no problem|wait|hmm|yes|done|thank you[^,.!]*+|thanks"
    r"|好的?|嗯)[,!.:，。！]?\s*)*"
)
_CHECKS: Final = (
    r"(?:check|look|see|find|read|run|understand|examine|verify|first|be careful|view|search|explore|think|trace|debug"
    r"|consider|make sure)(?! that\b)"
)
_TELLS: Final = r"\b(?:is|are|was|were|has|have|does|did|fail(?:s|ed)|pass(?:es|ed)|shows|works)\b"
"""In what only seems to begin with an order: `Test 4 fails because …`."""
VERBS: Final = (
    "check|run|read|look|create|update|fix|add|test|try|verify|see|find|search|write|edit|view|open"
    "|install|build|continue|"
    "proceed|start|examine|remove|replace|apply|make|do|use|rerun|re-run|compile|commit|move|rename|clean|show|explore|"
    "inspect|modify|implement|tag|push|publish|delete|convert|change|port|refactor|extract|insert|format|lint|restart"
)
"""How an order begins, or what one is about to do."""
_GERUNDS: Final = (
    "scanning|running|checking|looking|reading|searching|creating|updating|fixing|adding|testing|trying|verifying|finding"
    "|writing|editing|viewing|opening|installing|building|continuing|starting|examining|removing|replacing|applying"
    "|making|exploring|inspecting|modifying|implementing|gathering|fetching|analy[sz]ing|reviewing|investigating|listing"
)
_ANNOUNCES: Final = late_pattern(
    rf"{_OPENERS}(?:"
    + "|".join(
        (
            rf"(?:{_GERUNDS})\b(?!.*(?:{_TELLS}|\b(?:see|shows?|found|fixed|can|\w+n['’]t)\b))"
            r"(?!(?<=looking) .*[,:] (?!then\b|and\b|to\b)\S+ \S)",
            r"let(?:['’]s| us| me)\b(?! me know)",
            r"i(?:['’]ll| will|(?:['’]m| am) (?:going to|about to|ready|here to)| want to|(?:['’]d"
            r"| would) (?:like|need|love|be (?:happy|glad)))\b",
            rf"(?:i think )?(?:i|we) (?:need to|should|must|have to)(?: (?:now|also|first))? {_CHECKS}\b",
            rf"(?:i|we) can(?: (?:now|also|first))? (?!see\b(?! (?:if|whether|what)\b)){_CHECKS}\b",
            r"(?:i think )?(?:i (?:just )?(?:see|realized?|noticed|thought of)|there(?:['’]s| is| might be))"
            r" (?:the|an?(?:other)?|something|there might be an?) ?(?:issue|problem|thing)?"
            r"(?: now| here| with (?:my|the) \w+)?[.!:]$",
            r"i can (?:help|assist|look|proceed)\b|i need (?:your|the following|some)\b|i understand\b(?=.{0,40}$)",
            r"we(?:['’]ll| will| can (?:now(?! see)|use|start))\b",
            r"(?:to proceed|going to|time to|here['’]?s|here (?:is|are)|below (?:is|are)|the following)\b",
            r"(?:it (?:looks|seems) like )?you have(?:n['’]t| not) (?:yet )?(?:shared|provided|added|asked)\b",
            r"please\b|feel free\b|(?:if|when|once|should) (?:you|there|so)\b.{0,200}\b(?:please|let me know|feel free"
            r"|assist|help|happy to)\b",
            r"(?:to|since|once|before)\b.{0,120}\b(?:i['’]ll|let me|let['’]s|i can|i need|i would need)\b",
            r"calling\b|this (?:change|modification|update) does the following",
            rf"(?:{VERBS})\b(?!.*{_TELLS})",
        )
    )
    + r")",
    re.IGNORECASE,
)
_NOW_DO: Final = late_pattern(
    r"(?:now|next|then|finally|also|and)\b,? (?!(?:i|we|it|the|this|that|there|you|all|both|everything)\b).*[:：]$",
    re.I,
)
_ANNOUNCES_WIDE: Final = late_pattern(
    r"^(?:(?:好的?|现在|現在|接下来|接下來|首先|然后|然後|下面|那么|那麼|请稍|請稍|嗯|では|まず|次に|それでは|さて)[，,。！、]?)*"
    r"(?:[让讓]我(?:们|們)?|我(?:来|來|先|将|將|会|會|要|需要先|再|去|现在|現在)|我[们們](?:来|來|先)|[请請](?:稍|确认|確認|提供)"
    r"|开始|開始|查看|检查|檢查|运行|執行|看看)"
    r"|^(?:好的?|明白了?|了解|はい|承知しました)[。！，]?$"
    r"|(?:しましょう|してみます|確認します|見てみます|見てみましょう|ていきます|始めます|いたします|実行します)[。！：:]?$"
)
_FILLER: Final = late_pattern(
    r"(?:(?:ok(?:ay)?|perfect|great (?:news|question)|great|good (?:catch|point|question|idea)|good|excellent|done|yes"
    r"|no problem|no|sure|certainly|of course|absolutely|(?:hi|hello) again|hello|hi|hmm"
    r"|(?:thank you|thanks?)(?: for [^.!]*+)?|got it|i see|i understand|understood|alright|right|wait|interesting"
    r"|awesome|nice|wonderful|you'?re welcome|you(?:['’]re| are)(?: absolutely| completely| totally)? (?:right|correct)"
    r"|oh no|oops|my apologies)(?!\w)[\s,.!:…]*+)*+"
    r"(?:(?:i apologi[sz]e|sorry|how (?:can|may) i )[^\n]*|[^\n]{0,80}ready when you are[\s,.!:…]*)?$",
    re.IGNORECASE,
)
_STATES: Final = late_pattern(
    r"\b(?:issue|problem|bug|cause[ds]?|because|since|therefore|means|shows?|confirm(?:s|ed)|found"
    r"|see that|can see|works?|"
    r"working|pass(?:es|ed|ing)?|fail(?:s|ed|ing|ure)?|fix(?:ed|es)?|error|missing|wrong"
    r"|correct(?:ly)?|incorrect|expected|"
    r"instead|already|exists?|not|\w+n't|cannot|implemented|added|removed|updated|changed|created"
    r"|completed?|successfully|"
    r"done|needs?|needed|should|must|so|however|but|only|now|cancell?ed|booked|refund|eligible"
    r"|unfortunately|total|result|"
    r"summary|root|suggests?|seems|likely|conclu\w+)\b"
    r"|问题|原因|因为|所以|已|成功|失败|错误|修复|发现|说明|应该|需要|正确|完成|不|問題|修正|完了|失敗|エラー|ため|ました",
    re.IGNORECASE,
)
_FOUND: Final = late_pattern(
    r"\b(?:root cause|the (?:real |actual |main |core )?(?:issue|problem|bug|cause|culprit|reason|fix|solution"
    r"|answer) (?:is|was|lies)"
    r"|(?:is|was|are) (?:caused|because|due)|caused by|because|turns out|it turned out|that(?:['’]s| is) why"
    r"|the (?:issue|problem|error) (?:occurs|happens|comes|stems)|found (?:it|the)|ruled out|not the (?:cause"
    r"|problem|issue)"
    r"|(?:i|we)(?:['’]ve| have)? (?:fixed|decided|chose|implemented|added|removed|replaced|updated|changed"
    r"|created|verified"
    r"|confirmed|refactored|ported|moved|renamed)|(?:is|are|has been|have been|now) (?:fixed|verified"
    r"|confirmed|resolved|complete|done)"
    r"|fix(?:ed)? (?:is )?work|all (?:\d+ )?(?:the )?tests? pass|(?:tests?|checks?) (?:now )?pass(?:es|ed)?"
    r"|works (?:now|correctly|as expected)"
    r"|successfully|decided to|instead of|cannot|must (?:not|be)|does(?:n['’]t| not) (?:support|exist|work"
    r"|have|handle))\b"
    r"|根本原因|原因是|问题是|問題は|問題是|是因为|是因為|因为|因為|已修复|已修復|修复了|修復了|已完成|测试通过|測試通過|解决了|解決了|決定",
    re.IGNORECASE,
)
"""A cause found, a fix made, something verified, decided or ruled out."""
_UNSURE: Final = late_pattern(
    r"\b(?:might|maybe|perhaps|seems?|could be|probably|i think|i bet|not sure|wait|hmm"
    r"|(?:should|will)(?: now)? (?:help|ensure|allow|make|correctly|resolve|fix|work))\b",
    re.IGNORECASE,
)


_TURNS: Final = late_pattern(r"(?:but|however|yet|except that|unfortunately)\b|但是?|不过|不過|しかし|ただし", re.I)
"""How a sentence begins that restricts the one before it, which would mislead alone."""


_REFERS: Final = late_pattern(
    r"(?:but|however|so|then|and|also|yet|it(?:['’]s|['’]ll)?|this|that(?:['’]s)?|these|those|they(?:['’]re)?|which"
    r"|instead|otherwise|therefore|thus|both|neither)\b"
    r"|但是?|不过|不過|所以|因此|这|這|那|它|しかし|ただし|これ|それ|そのため",
    re.IGNORECASE,
)
"""How a sentence begins that says little without the one before it."""


class _Sentence(NamedTuple):
    text: str
    is_item: bool
    """Of a list."""
    at: int
    """Its number in the text."""


def concluded(text: str) -> str:
    """One to three sentences of a reply that state something, in its own words, with `…` where others were between
    them; empty if it only announced."""
    found = [each for each in _standing(_sentences(text)) if _says_something(each.text)]
    prose = [each for each in found if not each.is_item]
    if len(prose) > 1:
        prose = [each for each in prose if not each.text.endswith((":", "："))] or prose
    items = [each for each in found if each.is_item]
    if not prose or (len(prose) == 1 and prose[0].text.endswith((":", "：")) and items):
        listed = "; ".join(each.text for each in _best(items))
        return one_line(" ".join((*(each.text for each in prose), listed)).strip(), LONGEST_CHARS)
    return one_line(_joined(_best(prose)), LONGEST_CHARS)


def _standing(sentences: list[_Sentence]) -> list[_Sentence]:
    """The sentences after the last one that takes back what was said, if they say something; else those before it,
    without the one that was taken back."""
    turns = [at for at, each in enumerate(sentences) if retracts(each.text)]
    if not turns:
        return sentences
    after = sentences[turns[-1] :]
    if any(_says_something(each.text) for each in after):
        return after
    taken_back = {at - 1 for at in turns}
    return [each for at, each in enumerate(sentences) if at not in taken_back]


def _joined(sentences: Sequence[_Sentence]) -> str:
    pieces = [sentences[0].text]
    for before, each in pairwise(sentences):
        pieces += [each.text] if each.at == before.at + 1 else [GAP, each.text]
    return " ".join(pieces)


@lru_cache(maxsize=8_192)
def strength_of(conclusion: str) -> int:
    """How much a conclusion finds out or settles. Cached: each compaction of a long session asks it of all."""
    return (
        2 * (_FOUND.search(conclusion) is not None)
        + bool(_STATES.search(conclusion))
        - bool(_UNSURE.search(conclusion))
    )


def says_little(conclusion: str) -> bool:
    """Whether a conclusion is a few words about nothing that has a name, or ends before it says something."""
    if conclusion.endswith((":", "：")):
        return True
    if conclusion.count(" ") >= FEW_WORDS:
        return False
    is_vague = _VAGUE.match(conclusion) and not _NAMES.search(conclusion) and strength_of(conclusion) < STRONG
    return bool(is_vague or _SAYS_NOTHING.search(conclusion))


def only_says_it_works(conclusion: str) -> bool:
    """Whether it says that tests pass or that it works, and of nothing else: true until the next change."""
    return _WORKS.search(conclusion) is not None and names_nothing(conclusion)


def only_says_it_fails(conclusion: str) -> bool:
    """Whether it says in a few words that something is not as it should be, not why: true until it is mended."""
    is_short = conclusion.count(" ") <= FEW_WORDS and strength_of(conclusion) < STRONG
    return is_short and _FAILS.search(conclusion) is not None


def greets(prompt: str) -> bool:
    """Whether a prompt is no more than a greeting, so that the reply to it settles nothing."""
    return _GREETS.fullmatch(prompt) is not None


def names_nothing(conclusion: str) -> bool:
    """Whether it has no name of the code, so that it is about how the work stood then."""
    return not _NAMES.search(_NUMBERS.sub("", conclusion))


def retracts(text: str) -> bool:
    """Whether a text begins by taking back what was said before it."""
    return _RETRACTS.match(text.lstrip("*_ \n")) is not None


def rejects(text: str) -> bool:
    """Whether a text begins by saying that what was said before it is not so."""
    return _REJECTS.match(text) is not None


def repeats(line: str, conclusion: str) -> bool:
    """Whether a line is in a conclusion, or has a sentence of it."""
    bare = _LABEL.sub("", _ITEM.sub("", line.strip(), count=1)).strip()
    return bare in conclusion or any(each in line for each in _split(conclusion))


def announces(line: str) -> bool:
    """Whether a line only says what comes next, or nothing at all."""
    sentences = _split(_LABEL.sub("", _ITEM.sub("", line, count=1)).strip())
    return bool(sentences) and all(_is_announcement(each) for each in sentences)


def announcement(text: str) -> str:
    """The first sentence of a text that says what is about to be done; empty without one."""
    return next((each.text for each in _sentences(text) if _is_announcement(each.text) and _says_enough(each.text)), "")


def last_question(text: str) -> str:
    """The question that a text ends with; empty without one."""
    lines = text.rstrip()[-QUESTION_CHARS:].splitlines()
    sentences = _split(lines[-1].strip()) if lines else []
    last = sentences[-1].strip("*_ ") if sentences else ""
    return last if last.rstrip(")").endswith(("?", "？")) else ""


def _says_enough(sentence: str) -> bool:
    return (sentence.count(" ") >= FEW_WORDS or bool(_WIDE.search(sentence))) and not _FILLER.match(sentence)


def _is_announcement(sentence: str) -> bool:
    bare = sentence.lstrip("*_ ")
    return bool(_FILLER.match(bare) or _ANNOUNCES_WIDE.search(bare) or _ANNOUNCES.match(bare) or _NOW_DO.match(bare))


def _best(sentences: list[_Sentence]) -> list[_Sentence]:
    """Those that state most, in their order: the first and the last of a text weigh more. One that refers to what was
    said before it is not among them without that, nor one that the next restricts without this."""
    if len(sentences) <= MOST_SENTENCES and sum(len(each.text) + 1 for each in sentences) <= MOST_CHARS:
        return sentences
    last = len(sentences) - 1
    turned = {at - 1 for at, each in enumerate(sentences) if _TURNS.match(each.text)}
    weights = {
        at: 2 * (bool(_STATES.search(text)) - (at in turned)) + (at == 0) + (at == last) / 2
        - text.endswith((":", "：")) - at / 50
        for at, text in enumerate(each.text for each in sentences)
    }  # fmt: skip
    chosen: set[int] = set()
    for at in sorted(weights, key=lambda each: -weights[each]):
        first = at
        while first and _REFERS.match(sentences[first].text) and sentences[first - 1].at == sentences[first].at - 1:
            first -= 1
        if first and _REFERS.match(sentences[first].text):
            continue  # to something that is no statement
        behind = at + 1
        while behind - 1 in turned:
            behind += 1
        wanted = chosen.union(range(first, behind))
        if (not chosen and behind == at + 1) or _fit([sentences[each] for each in wanted]):
            chosen = wanted
    return [sentences[at] for at in sorted(chosen)] or sentences[-1:]


def _fit(sentences: Sequence[_Sentence]) -> bool:
    return len(sentences) <= MOST_SENTENCES and sum(len(each.text) + 1 for each in sentences) <= MOST_CHARS


def _sentences(text: str) -> list[_Sentence]:
    """The sentences of the prose in a text; code, calls, tables and headings are left out."""
    prose = text[:_READ_CHARS]
    for block in (_EDIT_BLOCK, FENCED, _CALL):
        prose = block.sub("\n", prose)
    is_one_line = "\n" not in text.strip()
    found: list[_Sentence] = []
    for line in prose.splitlines():
        item = _ITEM.match(line)
        if _HEADING.match(line) or (not item and _NOT_PROSE.match(line)):
            continue
        stated = _LABEL.sub("", line[item.end() :] if item else line, count=1).strip()
        if item or _ENDS.search(stated) or _WIDE.search(stated) or is_one_line:
            found += [_Sentence(each, item is not None, at) for at, each in enumerate(_split(stated), len(found))]
    return found


def _split(line: str) -> list[str]:
    found: list[str] = []
    for piece in _SENTENCE.split(line):
        if found and (_ABBREVIATED.search(found[-1]) or found[-1].count("`") % 2):  # the other one is behind
            found[-1] += f" {piece}"
        elif piece and piece.strip():
            found.append(piece.strip())
    return found


def _says_something(sentence: str) -> bool:
    is_wide = _WIDE.search(sentence) is not None
    if sentence.endswith(("?", "？")) or len(sentence) < (5 if is_wide else 12) or "\t" in sentence:
        return False
    if is_wide:
        return _ANNOUNCES_WIDE.search(sentence) is None
    bare = sentence.lstrip("*_ ")
    is_piece = bare.count(" ") < (2 if _ENDS.search(bare) else CUT_WORDS)
    if is_piece or bare[:1].islower() or _FILLER.match(bare):
        return False
    return not _ANNOUNCES.match(bare) and not _NOW_DO.match(bare)
