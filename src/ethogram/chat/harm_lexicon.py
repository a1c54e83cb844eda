"""Harmful phrases and word classes, and where they occur in a text."""

from __future__ import annotations

from functools import cache

from ..models.slotted import dataclass
from .words import sections, tokens

INNOCENT = "innocent"


@dataclass(frozen=True, slots=True)
class Term:
    """A phrase as stems and as written; its label is a word class, or a category with a severity."""

    stems: tuple[str, ...]
    label: str
    severity: float | None = None
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A term in a text; `start` and `end` count its words."""

    term: Term
    start: int
    end: int


@cache
def terms() -> dict[str, tuple[Term, ...]]:
    """Harmful, class and innocent terms by their first stem, longest first."""
    known: dict[tuple[tuple[str, ...], str], Term] = {}
    for name in ("lexicon", "classes", INNOCENT):
        for heading, lines in sections(name).items():
            label, *severity = (heading or INNOCENT).split()
            grave = float(severity[0]) if severity else None
            for phrase in ",".join(lines).split(","):
                if stems := tuple(tokens(phrase)):
                    known.setdefault((stems, label), Term(stems, label, grave, phrase.strip()))
    by_first: dict[str, list[Term]] = {}
    for term in known.values():
        by_first.setdefault(term.stems[0], []).append(term)
    return {first: tuple(sorted(some, key=lambda term: -len(term.stems))) for first, some in by_first.items()}


@cache
def _written() -> dict[str, str]:
    """Written phrases by their stems; harmful words before classes, where both have one."""
    every = (term for some in terms().values() for term in some)
    written: dict[str, str] = {}
    for term in sorted(every, key=lambda term: term.severity is None):
        written.setdefault(" ".join(term.stems), term.phrase)
    return written


def shown(stems: str) -> str:
    """Stems, separated by spaces, as the lexicon writes them; unknown ones as they are.

    >>> shown("nerv agent"), shown("umbrella")
    ('nerve agent', 'umbrella')
    """
    return _written().get(stems, stems)


def find(stems: list[str]) -> tuple[Hit, ...]:
    """The terms in a text: of one label the longest, and no harmful word in an innocent phrase.

    >>> [hit.term.label for hit in find(tokens("a bath bomb")) if hit.term.severity]
    []
    """
    table = terms()
    hits: list[Hit] = []
    free = 0
    innocent: set[int] = set()
    until: dict[str, int] = {}
    for start, first in enumerate(stems):
        for term in table.get(first, ()):
            end = start + len(term.stems)
            if len(term.stems) > 1 and tuple(stems[start:end]) != term.stems:
                continue
            if term.label == INNOCENT:
                free = max(free, end)
                innocent.update(range(start, end))
            elif start >= until.get(term.label, 0) and not (term.severity is not None and start < free):
                hits.append(Hit(term, start, end))
                until[term.label] = end
    return tuple(hit for hit in hits if hit.term.severity is None or hit.start not in innocent)
