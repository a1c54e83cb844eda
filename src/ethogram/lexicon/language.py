"""Whether a text is in a language of the lexicon, which is English.

A text with two of the commonest English words is English. Another Latin text counts as English unless small
words of other languages outnumber the English ones. A text in another script is not English, unless its
letters are look-alikes and its small words English.
"""

from __future__ import annotations

import re

from ..data import DATA
from .normalize import Folded

SAMPLE = 400  # characters that decide
MORE_FOREIGN = 2  # least number of small words of other languages that make a text foreign

_ENGLISH, _OTHERS = (
    # Others: frequent words of other languages that are none in English.
    frozenset((DATA / "lexicon" / f"{name}_words.txt").read_bytes().split())
    for name in ("english", "foreign")
)
_SURELY_ENGLISH = (b" the ", b" and ", b" you ", b" that ", b" with ", b" this ")
_WORDS = bytes.maketrans(b'.,;:!?()[]{}"|#/<>=+&%`', b"                       ")
# Letters of scripts other than Latin, without fullwidth and mathematical forms.
_FOREIGN = (
    "[\u0370-\u03ff\u0400-\u052f\u0530-\u1cff\u2c00-\u2c5f\u2d00-\u2ddf\u3040-\u30ff\u3100-\u9fff"
    "\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufb1d-\ufdff\ufe70-\ufeff\U00020000-\U0003ffff]"
)


def language_of(folded: Folded) -> str | None:
    """'en', or None for a language that the lexicon does not know; short Latin texts count as English.

    >>> from .normalize import fold
    >>> language_of(fold("Act now!")), language_of(fold("¿Por qué no lo dices con tu nombre, para todos?"))
    ('en', None)
    """
    sample = folded.text[:SAMPLE]
    # A quick check that decides for most texts.
    surely = 0
    for word in _SURELY_ENGLISH:
        if word in sample:
            surely += 1
            if surely == 2:
                return "en"
    words = sample.translate(_WORDS).split()
    english = sum(map(_ENGLISH.__contains__, words))
    if 4 * english >= len(words) and words:
        return "en"
    if 6 * english < len(words) and _is_foreign(folded.original[:SAMPLE], words):
        return None
    others = sum(map(_OTHERS.__contains__, words))
    return None if others >= MORE_FOREIGN and others > english else "en"


def _is_foreign(sample: str, words: list[bytes]) -> bool:
    """Whether letters of other scripts prevail."""
    foreign = 0 if sample.isascii() else len(re.findall(_FOREIGN, sample))
    # Scripts without spaces write a word in two or three letters, Latin ones in five.
    return foreign > 0 and 2 * foreign > sum(map(len, words)) - foreign
