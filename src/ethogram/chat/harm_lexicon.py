"""The lexicon and the word classes, and where their phrases stand in a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .words import sections, tokens

INNOCENT = "innocent"


@dataclass(frozen=True, slots=True)
class Term:
    """One phrase by its stems: a word class, or a category of the lexicon with its severity.

    `phrase` is how it is written there, for people.
    """

    stems: tuple[str, ...]
    label: str
    severity: float | None = None
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A term found: `start` and `end` count words of the text."""

    term: Term
    start: int
    end: int


def _phrases() -> Iterator[tuple[str, str]]:
    """Every phrase with the heading it stands under; innocent ones have none of their own."""
    for name in ("lexicon", "classes", INNOCENT):
        for heading, lines in sections(name).items():
            for line in lines:
                yield from ((heading or INNOCENT, phrase) for phrase in line.split(",") if phrase.strip())


@cache
def terms() -> dict[str, tuple[Term, ...]]:
    """Every term by its first stem, longest first; harmful words, classes and innocent phrases together."""
    record: dict[tuple[tuple[str, ...], str], Term] = {}
    for heading, phrase in _phrases():
        label, *severity = heading.split()
        stems = tuple(tokens(phrase))
        if stems:
            grave = float(severity[0]) if severity else None
            record.setdefault((stems, label), Term(stems, label, grave, phrase.strip()))
    by_first: dict[str, list[Term]] = {}
    for term in record.values():
        by_first.setdefault(term.stems[0], []).append(term)
    return {first: tuple(sorted(some, key=lambda term: -len(term.stems))) for first, some in by_first.items()}


@cache
def _written() -> dict[str, str]:
    """How phrases are written, by their stems; harmful words before classes, where both have one."""
    known = sorted(
        (term for some in terms().values() for term in some), key=lambda term: term.severity is None
    )
    record: dict[str, str] = {}
    for term in known:
        record.setdefault(" ".join(term.stems), term.phrase)
    return record


def shown(stems: str) -> str:
    """Stems with a space between them as the words that the lexicon has for them; others as they are.

    >>> shown("nerv agent"), shown("umbrella")
    ('nerve agent', 'umbrella')
    """
    return _written().get(stems, stems)


def find(stems: list[str]) -> tuple[Hit, ...]:
    """Every term in the text, of one label the longest, and no harmful word in an innocent phrase.

    >>> [hit.term.label for hit in find(tokens("a bath bomb")) if hit.term.severity]
    []
    """
    table = terms()
    hits: list[Hit] = []
    free = 0
    until: dict[str, int] = {}
    for start, first in enumerate(stems):
        for term in table.get(first, ()):
            end = start + len(term.stems)
            if len(term.stems) > 1 and tuple(stems[start:end]) != term.stems:
                continue
            if term.label == INNOCENT:
                free = max(free, end)
            elif start >= until.get(term.label, 0) and not (term.severity is not None and start < free):
                hits.append(Hit(term, start, end))
                until[term.label] = end
    if not free:
        return tuple(hits)
    return _outside_innocent(stems, hits)


def _outside_innocent(stems: list[str], hits: list[Hit]) -> tuple[Hit, ...]:
    """The hits without harmful words that an innocent phrase covers, wherever in it they begin."""
    covered: set[int] = set()
    for start, first in enumerate(stems):
        for term in terms().get(first, ()):
            end = start + len(term.stems)
            if term.label == INNOCENT and tuple(stems[start:end]) == term.stems:
                covered.update(range(start, end))
    return tuple(hit for hit in hits if hit.term.severity is None or hit.start not in covered)
