"""How grave each harmful word is here: read with what the act is done to."""

from __future__ import annotations

from .lexicon import Hit
from .sections import words_of
from .view import View
from .words import rarity, stem

TO_A_PERSON = 0.65
"""Severity of a grave act, done to a person."""
ROUGHLY = 0.35
"""The same for acts that one may do to a person in a game or a saying: beat, cut off, hit."""
FIGURATIVE = 0.35
"""What is left of an act done to neither a person nor anything that is commonly a target.

Murdering a song.
"""
AMBIGUOUS = 0.35
"""Words up to this severity have an everyday meaning, which their object brings out."""

NEGATED = 0.2
"""What is left of an act that is not to happen: without hurting her, I don't want to kill them."""
SUFFERED = 0.35
"""What is left of an act that is done to whoever asks: he said he would kill me."""

_NOT = frozenset(map(stem, words_of("verbs", "not")))
_ME = frozenset(("me", "us"))
_FIGURATIVE = frozenset(map(stem, words_of("verbs", "figurative")))
_HURTING = frozenset(map(stem, words_of("verbs", "hurting")))
_ROUGH = frozenset(map(stem, words_of("verbs", "rough")))


def severities(view: View) -> dict[str, float]:
    """Severity of each harmful word found, by what it is done to: a person, or what one may well `kill`.

    >>> from .view import look
    >>> severities(look("kill a linux job"))["kill"] < 0.1 < severities(look("kill my boss"))["kill"]
    True
    """
    found: dict[str, float] = {}
    person = _places(view.hits, "person")
    # What is fought in house and garden is listed among the words of protection.
    things = _places(view.hits, "work", "play", "protect")
    grave = person | _places(view.hits, "target")
    grave |= {hit.start for hit in view.hits if hit.term.severity is not None}
    for hit in view.hits:
        if hit.term.severity is not None:
            word = " ".join(hit.term.stems)
            here = _with_object(hit, person, things) * _figurative(hit, view, grave) * _meant(hit, view)
            found[word] = max(found.get(word, 0.0), here)
    return found


def joined(by_word: dict[str, float]) -> float:
    """Severities of different words together.

    The strongest, and a little for each of two more; rare words count more.
    """
    rest, weight = 1.0, 1.0
    for word in sorted(by_word, key=lambda one: -by_word[one])[:3]:
        common = min(1.0, 0.55 + 0.6 * max(rarity(part) for part in word.split()))
        rest *= 1.0 - by_word[word] * weight * common
        weight *= 0.4
    return 1.0 - rest


def _places(hits: tuple[Hit, ...], *labels: str) -> frozenset[int]:
    return frozenset(hit.start for hit in hits if hit.term.label in labels)


def _with_object(hit: Hit, person: frozenset[int], things: frozenset[int]) -> float:
    severity = hit.term.severity or 0.0
    if not _HURTING.isdisjoint(hit.term.stems):
        whom = next((at for at in range(hit.end, hit.end + 4) if at in person), None)
        what = next((at for at in range(hit.end, hit.end + 5) if at in things), None)
        # In `cut my daughter's hair` the hair is the object, in `kill someone with a glass` the person is.
        if whom is not None and (what is None or what > whom + 1):
            return max(severity, ROUGHLY if _ROUGH.issuperset(hit.term.stems) else TO_A_PERSON)
        if what is not None and severity <= AMBIGUOUS:
            return severity * 0.15
    elif severity <= AMBIGUOUS and any(at in things for at in range(hit.end, hit.end + 2)):
        return severity * 0.4
    return severity


def _meant(hit: Hit, view: View) -> float:
    """What is left of an act that hurts by who does it to whom, and whether it is to happen at all."""
    if _HURTING.isdisjoint(hit.term.stems):
        return 1.0
    if not _NOT.isdisjoint(view.stems[max(0, hit.start - 3) : hit.start]):
        return NEGATED
    return SUFFERED if not _ME.isdisjoint(view.stems[hit.end : hit.end + 1]) else 1.0


def _figurative(hit: Hit, view: View, grave: frozenset[int]) -> float:
    """What is left of an act by what it is done to.

    All of it to a person, a common target, or something grave.
    """
    if len(hit.term.stems) > 1 or _FIGURATIVE.isdisjoint(hit.term.stems):
        return 1.0
    after = range(hit.end, min(hit.end + 4, len(view.stems)))
    if any(at in grave for at in after):
        return 1.0
    return FIGURATIVE if any(view.stems[at] in view.about for at in after) else 1.0
