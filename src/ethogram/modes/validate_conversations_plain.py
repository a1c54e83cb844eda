"""What any detector of conversations must beat: keywords, length, number of turns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..meaning.small import concepts, table
from ..meaning.words import stems
from .talks import Talk

KEYWORDS: Mapping[str, float] = {
    "kill": 0.8, "shoot": 0.6, "explode": 0.9, "poison": 0.9, "germs": 0.4, "nuclear": 0.6, "kidnap": 0.8,
    "rape": 0.8, "suicide": 0.8, "hard_drugs": 0.8, "soft_drugs": 0.5, "break_in_computer": 0.6,
    "malware": 0.8, "steal": 0.7, "swindle": 0.6, "uncaught": 0.5, "dark_market": 0.7, "spy": 0.6,
    "slurs": 0.7, "contempt": 0.4, "swear": 0.4, "bully": 0.6, "terror": 0.9, "minors_sex": 1.0,
    "sex": 0.4, "rules_off": 0.6, "wound": 0.6,
}  # fmt: skip
"""Severity of words by category. The words are those of the small embedder, one by one without context."""


@cache
def _places() -> tuple[tuple[int, str], ...]:
    return tuple((place, name) for place, name in enumerate(table()[0]) if name in KEYWORDS)


def matched(text: str) -> dict[str, float]:
    """How many words of each alarming category a text has."""
    held = concepts(stems(text))
    return {name: held[place] for place, name in _places() if held[place]}


def keyword_risk(text: str) -> float:
    """Severity times count, summed and bounded: the weighted keywords of one turn."""
    return min(1.0, sum(KEYWORDS[name] * count for name, count in matched(text).items()) / 2)


def plain_scores(talk: Talk) -> dict[str, float]:
    """The highest turn by keywords, characters that the user wrote, their turns, and the same turned round.

    `few_turns` is no detector: where attacks are short and harmless talk is long, it says where a
    conversation comes from, and no more.
    """
    said = talk.said
    return {
        "keywords": max(map(keyword_risk, said), default=0.0),
        "length": float(sum(map(len, said))),
        "turns": float(len(said)),
        "few_turns": -float(len(said)),
    }
