"""The child process that turns a page into Markdown. A hostile page can take its time and memory, not the app's.

Reads from standard input a line with address and charset as a JSON list, then the page; prints one JSON object: title,
date and text.
"""

import json
import re
import sys
from contextlib import suppress
from html import unescape
from typing import Any, Final

MOST_MEMORY_BYTES: Final = 2 * 1024**3
MOST_CPU_S: Final = 60
SHORT_CHARS: Final = 300
"""A shorter article may be all that was recognised of a page that is no article."""
TITLE_CHARS: Final = 300
_NOT_SHOWN: Final = re.compile(r"<(script|style|template|noscript|svg)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_CHARSET: Final = re.compile(
    r"(?:utf|us_ascii|ascii|latin|iso|windows|cp|koi8|gb|big5|euc|shift|sjis|ms|mac|tis|hz|ks|x_)[a-z0-9_]{0,30}"
)
"""Of pages. Python has others that are not for texts, and take hours for a large one."""


def main() -> None:
    limit_process()
    url, charset = json.loads(sys.stdin.buffer.readline())
    html = decoded(sys.stdin.buffer.read(), charset)
    sys.stdout.write(json.dumps(converted(html, url)))


def limit_process() -> None:
    with suppress(ImportError, ValueError, OSError):  # best effort: the parent also limits the time
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))


def decoded(page: bytes, charset: str) -> str | bytes:
    """The text in the charset that the server names; else the bytes, whose own hints are read later."""
    with suppress(LookupError, UnicodeError):
        return page.decode(charset) if is_charset(charset) else page
    return page


def is_charset(name: str) -> bool:
    """Whether a server's name for a charset is one that pages have."""
    return _CHARSET.fullmatch(re.sub(r"[-. ]", "_", name.lower())) is not None


def converted(html: str | bytes, url: str) -> dict[str, str]:
    """Title, date and text of a page, whatever it is made of."""
    try:
        found = _extracted(html, url)
    except Exception:  # a page can break any of the parsers in many ways; its plain text always remains
        found = {"title": "", "date": "", "text": ""}
    return found if found["text"] else {**found, "text": plain_text(html)}


def _extracted(html: str | bytes, url: str) -> dict[str, str]:
    import trafilatura

    document: Any = trafilatura.extract_with_metadata(
        html,
        url=url,
        output_format="markdown",
        favor_recall=True,
        include_comments=False,
        include_formatting=True,
        include_links=True,
        date_extraction_params={"extensive_search": False, "original_date": True},
    )
    text = _without_header(document.text or "") if document is not None else ""
    if len(text) < SHORT_CHARS:
        whole = trafilatura.html2txt(html)
        text = whole if len(whole) > 3 * len(text) else text
    title = (document.title or "") if document is not None else ""
    return {
        "title": " ".join(title.split())[:TITLE_CHARS],
        "date": str(document.date or "") if document is not None else "",
        "text": text.strip(),
    }


def _without_header(text: str) -> str:
    """The text without the title, date and so on that the library puts before it."""
    return text.split("---\n", 2)[-1] if text.startswith("---\n") else text


def plain_text(html: str | bytes) -> str:
    """What is left without the tags."""
    text = html if isinstance(html, str) else html.decode(errors="replace")
    lines = (" ".join(line.split()) for line in unescape(_TAG.sub(" ", _NOT_SHOWN.sub(" ", text))).splitlines())
    return "\n".join(filter(None, lines))


if __name__ == "__main__":
    main()
