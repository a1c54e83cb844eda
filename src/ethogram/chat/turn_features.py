"""Features of a turn: words, topic, terms, language and obfuscation; extracted once a turn."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from ..models.slotted import dataclass
from .harm_lexicon import Hit, find
from .obfuscation import Disguise, undisguise
from .words import clipped, content, language_of, lines_of, rarity, stem, stems_of, tokens

TELLING = 0.5  # rarity from which a word names a topic

_POINTING, _ORDER, _QUESTION = (stems_of("verbs", name) for name in ("pointing", "order", "question"))
_FORM = (
    "doing", "make", "exact", "evade", "push", "learn", "persona", "override", "fiction", "assemble",
    "protect",
)  # fmt: skip
_CONTINUES = (
    "and ", "but ", "so ", "then ", "also ", "now ", "what about", "how about", "ok", "great", "thanks",
)  # fmt: skip


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
        """Whether the lexicon applies; texts too short to tell count as English."""
        return self.language in (None, "en")

    @property
    def is_asking(self) -> bool:
        """Whether it asks or orders, rather than states."""
        return self.wants or self.has("exact", "learn")

    @property
    def wants(self) -> bool:
        """Whether it is a question or an order, or says what somebody is about to do."""
        return self.is_question or self.has("doing") or not _ORDER.isdisjoint(self.stems[:6])

    def has(self, *labels: str) -> bool:
        """Whether a word of one of these classes is in the turn."""
        return not self.classes.isdisjoint(labels)


def look(text: str) -> View:
    """The features of a text; of a very long one, of its two ends."""
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


@cache
def _groups() -> dict[str, str]:
    """The first word of the group of each word."""
    groups: dict[str, str] = {}
    for line in lines_of("concepts"):
        first, *_ = words = [stem(word) for word in line.split()]
        for word in words:
            groups.setdefault(word, first)
    return groups


@lru_cache(maxsize=1 << 14)
def concept(word: str) -> str:
    """The stem that stands for a group of words for one thing."""
    return _groups().get(word, word)


def same_request(texts: Iterable[str], other: Iterable[str]) -> float:
    """How far two sets of stems name the same things, 0..1: shared rarity over that of the smaller set.

    Over the smaller one, since a request wrapped in a story is still the request.

    >>> same_request({"pick", "lock"}, {"open", "door", "key"}) > 0.3
    True
    """
    a, b = frozenset(map(concept, texts)), frozenset(map(concept, other))
    if not a or not b:
        return 0.0
    shared = sum(map(_weight, a & b))
    return min(1.0, shared / max(1e-9, min(sum(map(_weight, a)), sum(map(_weight, b)))))


def _weight(word: str) -> float:
    return 0.2 + rarity(word)


def near_equal(texts: Iterable[str], other: Iterable[str]) -> float:
    """The Jaccard similarity of two sets of stems."""
    a, b = frozenset(texts), frozenset(other)
    return len(a & b) / len(a | b) if a or b else 0.0
