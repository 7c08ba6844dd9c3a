"""Guess the language of a text from its script and its function words. Pure."""

import re
import unicodedata
from collections import Counter
from typing import Final

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
