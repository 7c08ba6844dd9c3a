"""Check whether a summary can replace its source (C3). Pure."""

import math
import re
import unicodedata
import zlib
from collections import Counter
from typing import Final, NamedTuple

from co_tui.context.measure.count import estimate_text

LEAST_JUDGED_CHARS: Final = 240
"""Shorter summaries are not checked for repetition."""
LEAST_DIFFERENT: Final = 0.3
"""Of the three-word groups in a summary, this share must be distinct."""
LEAST_DENSE: Final = 0.12
"""A text that compresses below this share of its length is repetitive."""

LEAST_JUDGED_WORDS: Final = 12
"""With fewer content words, the topic cannot be judged."""
LEAST_JUDGED_NAMES: Final = 3
LEAST_FAMILIAR: Final = 0.25
"""Of the content words, at least this share occurs in the source; a paraphrase may share no more."""
LEAST_NAMED: Final = 0.34
"""A summary that shares this many of its names with the source is about it, however worded."""

STEM_CHARS: Final = 5
_WORD: Final = re.compile(r"[^\W\d_]+")
_TOKEN: Final = re.compile(r"[\w./@-]+")
_NAME: Final = re.compile(r"[^\W\d_][_/.]\w|\d\d|[a-z][A-Z]")
"""Paths, identifiers and numbers, which are the same in every language and wording."""
_HEADING: Final = re.compile(r"^#.*$", re.MULTILINE)
_FIRST_IDEOGRAM: Final = "\u2e80"

SAMPLE_CHARS: Final = 20_000
LEAST_FUNCTION_WORDS: Final = 3
"""Fewer function words may occur in any text, as names or by chance."""
LEAST_KANA: Final = 0.1
"""Of the letters: above this share the text is Japanese, however many ideograms it has."""

_FUNCTION_WORDS: Final = {
    "cs": "že byl jsou není aby pro jako také který nebo když bylo",
    "da": "og ikke det til med af som blev eller også på er",
    "de": "und der die das nicht ist mit auf für wurde wird auch von eine sich dem",
    "en": "the and of to was with that for this from were has which are not when",
    "es": "el los las una que con para por fue del como pero está también más",
    "fi": "ja ei että oli sekä kun mutta ovat tämä myös joka",
    "fr": "le les des une est que dans pour avec pas qui sur été aux elle sont",
    "hu": "és nem hogy egy volt meg csak még vagy ezt lett",
    "id": "dan yang untuk dengan tidak ini dari pada telah akan sudah",
    "it": "il gli della che non per con una sono stato nel dei anche più",
    "nl": "het een niet van zijn voor met werd ook maar wordt aan naar dat",
    "pl": "nie jest się że dla jako przez został oraz aby tylko było",
    "pt": "uma não que com para foi dos das mais como pelo também são",
    "ro": "și nu care pentru este din sau fost mai dacă prin",
    "sv": "och inte att det för med som är på var eller också",
    "tr": "ve bir bu için ile değil olarak daha çok olan gibi",
    "vi": "và của không được cho các một trong đã là với để",
}
_LANGUAGES: Final = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}


def objection(
    summary: str, replaced_tokens: float, source: str = "", ratio: float = 1.0, most_tokens: float = math.inf
) -> str:
    """Why the summary cannot be used, as the end of a sentence; empty if it can. `most_tokens` is its room."""
    text = summary.strip()
    if not re.search(r"\w", text):
        return "it is empty"
    if is_degenerate(text):
        return "it repeats one phrase"
    if ratio * estimate_text(text) >= replaced_tokens:
        return "it is no smaller than what it would replace"
    if ratio * estimate_text(text) > most_tokens:
        return "it is too long for the room there is"
    if source and is_off_topic(text, source):
        return "it speaks of something else"
    return ""


def is_off_topic(text: str, source: str) -> bool:
    """Whether the summary is about something other than its source.

    A summary may paraphrase, be short or be in another language. But it shares names with the source, and in the
    same language at least some words.
    """
    prose = _HEADING.sub("", text)
    own, known = _vocabulary(prose), _vocabulary(source)
    if own.names and _share(own.names, known.names) >= LEAST_NAMED:
        return False
    unfamiliar = _share(own.words, known.words) < LEAST_FAMILIAR
    if len(own.names) >= LEAST_JUDGED_NAMES and not own.names & known.names:
        return unfamiliar
    return unfamiliar and len(own.words) >= LEAST_JUDGED_WORDS and _comparable(language(prose), language(source))


def _comparable(own: str, known: str) -> bool:
    """Whether the words can be compared: false only if the languages are known and differ."""
    return own == known or not own or not known


class _Vocabulary(NamedTuple):
    """The words and names of a text."""

    words: set[str]
    """Stems of longer words; in scripts without spaces, each pair of characters."""
    names: set[str]


def _vocabulary(text: str) -> _Vocabulary:
    words: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word >= _FIRST_IDEOGRAM:
            words.update(word[start : start + 2] for start in range(len(word) - 1))
        elif len(word) >= STEM_CHARS:
            words.add(word[:STEM_CHARS])
    names = {token.strip("./@-").lower() for token in _TOKEN.findall(text) if _NAME.search(token)}
    return _Vocabulary(words, names)


def _share(own: set[str], known: set[str]) -> float:
    """The share of `own` that is in `known`."""
    return len(own & known) / max(1, len(own))


def is_degenerate(text: str) -> bool:
    """Whether the text repeats one phrase."""
    if len(text) < LEAST_JUDGED_CHARS:
        return False
    words = re.findall(r"\w+", text.lower())
    groups = [tuple(words[n : n + 3]) for n in range(len(words) - 2)]
    if groups and len(set(groups)) < LEAST_DIFFERENT * len(groups):
        return True
    packed = text.encode(errors="replace")
    return len(zlib.compress(packed)) < LEAST_DENSE * len(packed)


def language(text: str) -> str:
    """The language of a text in Latin script, otherwise its script; empty if there is too little text."""
    sample = text[:SAMPLE_CHARS].lower()
    script = _script(sample)
    if script != "latin":
        return script
    words = Counter(re.findall(r"[^\W\d_]+", sample))
    found = {name: sum(words[word] for word in known) for name, known in _LANGUAGES.items()}
    best = max(found, key=lambda name: found[name])
    return best if found[best] >= LEAST_FUNCTION_WORDS else ""


def _script(text: str) -> str:
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0].lower() for letter in text if letter.isalpha())
    if not scripts:
        return ""
    if scripts["hiragana"] >= LEAST_KANA * scripts.total():
        return "japanese"
    return scripts.most_common(1)[0][0]
