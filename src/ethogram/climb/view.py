"""A turn as the signals see it.

Words, what they are about, terms found, language and disguise. Made once a turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from .disguise import Disguise, undisguise
from .language import language_of
from .lexicon import Hit, find
from .sections import words_of
from .words import clipped, content, rarity, stem, tokens

TELLING = 0.5
"""Rarity from which a word names a topic."""

_POINTING = frozenset(map(stem, words_of("verbs", "pointing")))
_ORDER = frozenset(map(stem, words_of("verbs", "order")))
_QUESTION = frozenset(map(stem, words_of("verbs", "question")))
_FORM = (
    "doing",
    "make",
    "exact",
    "evade",
    "push",
    "learn",
    "persona",
    "override",
    "fiction",
    "assemble",
    "protect",
)
_CONTINUES = (
    "and ",
    "but ",
    "so ",
    "then ",
    "also ",
    "now ",
    "what about",
    "how about",
    "ok",
    "great",
    "thanks",
)


@dataclass(frozen=True, slots=True)
class View:
    """`about` are stems of content words; `own` those of them that are not the form of a request."""

    text: str
    stems: tuple[str, ...]
    about: frozenset[str]
    own: frozenset[str]
    hits: tuple[Hit, ...]
    classes: frozenset[str]
    language: str | None
    disguise: Disguise
    points: bool
    is_question: bool

    @property
    def is_english(self) -> bool:
        """Whether the lexicon can be asked; texts too short to tell are taken for English."""
        return self.language in (None, "en")

    @property
    def is_asking(self) -> bool:
        """Whether it asks or orders anything, rather than states."""
        return self.wants or self.has("exact", "learn")

    @property
    def wants(self) -> bool:
        """Whether it has the form of a question or an order, or says what somebody is out to do."""
        return self.is_question or self.has("doing") or not _ORDER.isdisjoint(self.stems[:6])

    def has(self, *labels: str) -> bool:
        """Whether a word of one of these classes is in the turn."""
        return not self.classes.isdisjoint(labels)


def look(text: str) -> View:
    """The view of a text; a very long one by its two ends."""
    disguise = undisguise(clipped(text))
    stems = tokens(disguise.plain)
    hits = find(stems)
    about = content(stems)
    form = {stems[at] for hit in hits if hit.term.label in _FORM for at in range(hit.start, hit.end)}
    return View(
        text=disguise.plain,
        stems=tuple(stems),
        about=about,
        own=about - form,
        hits=hits,
        classes=frozenset(hit.term.label for hit in hits if hit.term.severity is None),
        language=language_of(disguise.plain),
        disguise=disguise,
        points=not _POINTING.isdisjoint(stems) or disguise.plain.lower().startswith(_CONTINUES),
        is_question="?" in text or (bool(stems) and stems[0] in _QUESTION),
    )


def telling(view: View) -> frozenset[str]:
    """The words of a turn that are rare enough to name a topic."""
    return frozenset(word for word in view.own if rarity(word) >= TELLING)
