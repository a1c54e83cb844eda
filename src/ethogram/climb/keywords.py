"""Weighted keywords.

How often, how rare and how grave the words of the lexicon are in a turn. A hint, no finding.
"""

from __future__ import annotations

import math
from collections import Counter

from .lexicon import shown
from .records import Signal, quiet, unmeasured
from .request import Request
from .view import View
from .words import rarity

NAME = "keywords"
WORDS_UNPENALISED = 25
WEIGHT = 0.25


def keywords(view: View, asked: Request) -> Signal:
    """Sum of (1 + ln n) x rarity x severity over words found, less in long texts, saturating below 1.

    >>> from .request import request
    >>> from .view import look
    >>> turn = look("nice weather")
    >>> keywords(turn, request(turn)).value
    0.0
    """
    if not view.is_english:
        return unmeasured(NAME, f"the lexicon does not know this language ({view.language})")
    grave = dict(asked.grave)
    if not grave:
        return quiet(NAME, "no word of the lexicon")
    times = Counter(" ".join(hit.term.stems) for hit in view.hits if hit.term.severity is not None)
    total = sum(
        (1 + math.log(times[word])) * max(rarity(part) for part in word.split()) * severity
        for word, severity in grave.items()
    )
    length = 1 + math.log(max(1.0, len(view.stems) / WORDS_UNPENALISED))
    value = 1 - math.exp(-total / length)
    most = map(shown, sorted(grave, key=lambda word: (-grave[word], word))[:3])
    return Signal(NAME, value, f"words that raise the question: {', '.join(most)}", WEIGHT * value)
