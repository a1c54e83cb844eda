"""The cues by which a text that wants to steer its judge is known, read from vocabulary/judge_cues.txt.

A cue that weighs enough counts alone; lighter ones count together where they stand close to one another. All
are fixed patterns with bounded gaps, so the time taken is linear.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from pathlib import Path
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from .judge_literals import required_words

FILE = Path(__file__).parents[1] / "vocabulary" / "judge_cues.txt"
PAIR = 0
"""The number of the cue that is a trait with an end of its scale. Each counts by itself: two are enough."""
PAIR_WEIGHT = 0.75
MOST_SETS = 3
"""Sets of words by which a cue is looked for; more tell little and cost time."""


class Weighed(NamedTuple):
    """A pattern, what it weighs, and whether it counts without another; see the file."""

    weight: float
    form: re.Pattern[str]
    counts_alone: bool


class Cues(NamedTuple):
    """What is looked for.

    `cues` are for folded text, `other_scripts` for text as it is written. `words` says which cues to try at
    all. `squashed` is for letters that were written apart, and `mention` are words by which one speaks about
    a text: what is quoted beside them is not the author's own.
    """

    cues: tuple[Weighed, ...]
    other_scripts: tuple[Weighed, ...]
    words: Words
    squashed: re.Pattern[str]
    mention: re.Pattern[str]


class Words:
    """Which of some patterns may match a text, by the words that each of them needs, in one pass over it."""

    __slots__ = ("_find", "_marks", "_needs")

    def __init__(self, patterns: Sequence[str]) -> None:
        # Each set of words of which one must be there is one bit.
        marks: dict[bytes, int] = defaultdict(int)
        sets: dict[frozenset[str], int] = {}
        self._needs: list[int] = []
        for pattern in patterns:
            chosen = required_words(pattern)[:MOST_SETS]
            self._needs.append(reduce(or_, (sets.setdefault(words, 1 << len(sets)) for words in chosen), 0))
        for words, bit in sets.items():
            for word in words:
                marks[word.encode()] |= bit
        automaton = BytesAhoCorasick(list(marks), MatchKind.Standard, Implementation.ContiguousNFA)
        self._find = automaton.find_matches_as_indexes
        self._marks = list(marks.values())

    def possible(self, text: bytes) -> list[int]:
        """The numbers of the patterns that may match.

        >>> Words(["score .{0,9}zero", "rate (?:this|it)", "zeros?"]).possible(b"i rate this zero")
        [1, 2]
        """
        there = 0
        for word, _, _ in self._find(text, True):
            there |= self._marks[word]
        return [number for number, needed in enumerate(self._needs) if needed & there == needed]


@lru_cache(maxsize=1)
def load_cues() -> Cues:
    """The cues, compiled when first wanted: there are a hundred of them."""
    sections = _sections(FILE.read_text("utf-8"))
    parts: dict[str, str] = {}
    for name, form in sections["parts"]:
        parts[name] = _whole(form, parts)
    forms = {name: re.compile(_whole(form, parts)) for name, form in sections["forms"]}
    cues, others = (
        tuple(_weighed(weight, _whole(form, parts)) for weight, form in sections[name])
        for name in ("cues", "other scripts")
    )
    cues = (Weighed(PAIR_WEIGHT, forms.pop("trait_pair"), True), *cues)
    return Cues(cues, others, Words([cue.form.pattern for cue in cues]), **forms)


def _weighed(weight: str, form: str) -> Weighed:
    return Weighed(float(weight), re.compile(form), not weight.startswith("+"))


def _sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """The first word and the rest of every line, by the heading in brackets above it."""
    found: dict[str, list[tuple[str, str]]] = {}
    here: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("["):
            here = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            first, _, rest = line.partition(" ")
            here.append((first, rest))
    return found


def _whole(form: str, parts: dict[str, str]) -> str:
    return re.sub(r"<([A-Z]+)>", lambda part: parts[part[1]], form)
