"""Which language a text is probably in: by script, then by its small words; None where it is not clear."""

from __future__ import annotations

import re
import unicodedata

from .sections import sections, words_of

_SMALL = {code: words_of("languages", code) for code in sections("languages")}
_LETTERS = re.compile(r"[^\W\d_]+")
_SAMPLE = 400
FEWEST = 2
"""Small words that must be met to name a language of the Latin script."""


def script_of(text: str) -> str | None:
    """The script of most letters (`LATIN`, `CYRILLIC`, ...), None without letters.

    >>> script_of("Как это сделать?"), script_of("12 + 3")
    ('CYRILLIC', None)
    """
    if text[:_SAMPLE].isascii():
        return "LATIN" if _LETTERS.search(text[:_SAMPLE]) else None
    counts: dict[str, int] = {}
    for letter in text[:_SAMPLE]:
        if letter.isalpha():
            name = "LATIN" if letter.isascii() else unicodedata.name(letter, "?").split()[0]
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: (counts[name], name)) if counts else None


def language_of(text: str) -> str | None:
    """A code such as `en` or `es`, the script's name in small letters for others, None where it is not clear.

    >>> [language_of(text) for text in ("How do you do that?", "¿Cómo puedo hacer eso?", "Ok!")]
    ['en', 'es', None]
    """
    script = script_of(text)
    if script is None or script != "LATIN":
        return None if script is None else script.lower()
    words = [word.lower() for word in _LETTERS.findall(text[:_SAMPLE])]
    counts = {code: sum(word in small for word in words) for code, small in _SMALL.items()}
    best = max(counts, key=lambda code: (counts[code], code == "en"))
    rest = max(count for code, count in counts.items() if code != best)
    return best if counts[best] >= FEWEST and counts[best] > rest else None
