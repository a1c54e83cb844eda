"""Match many phrases at once as whole words, in linear time.

A line may have variants: `(nobody|no one) else can help you` is two phrases. ` ... ` is a slot for up to four
words. The starts of a line are written out for an automaton; the rest, from a slot on or where that would be
too many, is a pattern that is tried after such a start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from functools import lru_cache

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

SHORTEST_HEAD = 10  # characters; shorter starts occur in too many texts

PhraseParts = tuple["str | tuple[PhraseParts, ...]", ...]  # literal text and choices, in turn
SLOT: tuple[PhraseParts, ...] = ((),)  # a choice of nothing stands for any words
_ANY_WORDS = rb"(?:[a-z0-9'$%]+,? ){0,4}"

_WORD = rb"[a-z0-9_]"
END = rb"(?!" + _WORD + rb")(?!'" + _WORD + rb")"  # the end of a word; an apostrophe before a letter is none

# Without it these are other words: well, were, hell, shell, ill, id, wed, shed.
_KEEPS_APOSTROPHE = re.compile(r"\b(?:we|he|she|i)'(?:ll|re|d)\b")
_MAY_GO = re.compile(rb"'(?=(?:t|s|m|ve)\b)")


@lru_cache(maxsize=1 << 12)
def parse(line: str) -> PhraseParts:
    """A line as literal text, choices and slots; ValueError where brackets do not match.

    >>> parse("you('re| are) here"), parse("you see ... better")
    (('you', (("'re",), (' are',)), ' here'), ('you see ', ((),), 'better'))
    """
    choices, end = _choices(line, 0)
    if end != len(line) or len(choices) != 1:
        raise ValueError(f"brackets and bars do not match in {line!r}")
    return _with_slots(choices[0])


def _with_slots(parts: PhraseParts) -> PhraseParts:
    out: list[str | tuple[PhraseParts, ...]] = []
    for part in parts:
        if not isinstance(part, str):
            out.append(tuple(map(_with_slots, part)))
            continue
        first, *others = part.split(" ... ")
        out.append(first + " " if others else first)
        for number, other in enumerate(others, start=1):
            out += [SLOT, other + " " if number < len(others) else other]
    return tuple(part for part in out if part)


def _choices(line: str, at: int) -> tuple[tuple[PhraseParts, ...], int]:
    choices: list[PhraseParts] = []
    parts: list[str | tuple[PhraseParts, ...]] = []
    literal = at
    while at < len(line) and line[at] != ")":
        if line[at] == "(":
            inner, end = _choices(line, at + 1)
            if end >= len(line):
                raise ValueError(f"a bracket is not closed in {line!r}")
            parts += [line[literal:at], inner]
            at = literal = end + 1
        elif line[at] == "|":
            choices.append(tuple(part for part in (*parts, line[literal:at]) if part))
            parts, at, literal = [], at + 1, at + 1
        else:
            at += 1
    choices.append(tuple(part for part in (*parts, line[literal:at]) if part))
    return tuple(choices), at


def forms(line: str | PhraseParts) -> Iterator[str]:
    """Every phrase that a line stands for.

    >>> list(forms("(so |)you('re| are) here"))
    ["so you're here", 'so you are here', "you're here", 'you are here']
    """
    sequence = parse(line) if isinstance(line, str) else line
    if not sequence:
        yield ""
        return
    first, rest = sequence[0], sequence[1:]
    for begun in [first] if isinstance(first, str) else (form for item in first for form in forms(item)):
        for ended in forms(rest):
            yield begun + ended


class Rest:
    """What must follow a start; compiled when first needed, which for most is never."""

    __slots__ = ("_match", "_sequence")

    def __init__(self, sequence: PhraseParts) -> None:
        self._sequence = sequence
        self._match: Callable[[bytes, int], re.Match[bytes] | None] | None = None

    def end(self, text: bytes, at: int) -> int | None:
        """Its end, if it occurs at this offset of the text."""
        if self._match is None:
            self._match = re.compile(_pattern(self._sequence) + END).match
        match = self._match(text, at)
        return None if match is None else match.end()


def heads(rest: PhraseParts, begun: str = "") -> Iterator[tuple[str, PhraseParts]]:
    """The starts of a line, each long enough to occur in few texts, and what must follow each.

    >>> list(heads(parse("(a|absolutely any) thing (here|there)")))[-1]
    ('absolutely any thing ', ((('here',), ('there',)),))
    """
    while rest and isinstance(rest[0], str):
        begun, rest = begun + rest[0], rest[1:]
    if not rest or len(begun) >= SHORTEST_HEAD or rest[0] == SLOT:
        yield begun, rest
    else:
        for choice in rest[0]:
            assert not isinstance(choice, str)
            yield from heads(choice + rest[1:], begun)


def _pattern(sequence: PhraseParts) -> bytes:
    """The parts as a regular expression that tries the longest choice first."""
    out = b""
    for part in sequence:
        if isinstance(part, str):
            # An apostrophe is optional where the word without it is no other word.
            out += _MAY_GO.sub(b"'?", re.escape(part.encode()).replace(rb"\ ", b" "))
        elif part == SLOT:
            out += _ANY_WORDS
        else:
            choices = sorted(part, key=lambda item: -max(map(len, forms(item))))
            out += b"(?:" + b"|".join(map(_pattern, choices)) + b")"
    return out


def without_apostrophes(form: str) -> str:
    """A phrase without apostrophes; itself where that gives another word."""
    return form if _KEEPS_APOSTROPHE.search(form) else form.replace("'", "")


Match = tuple[int, int, int]  # number of the phrase, start and end
Way = tuple[int, Rest | None]  # number of the phrase that a start belongs to, and what must follow
_IN_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_")
_APOSTROPHE = ord("'")


class Matcher:
    """Finds phrases; of overlapping ones the first, then the longest.

    `ways` are the phrases that each start belongs to; without, each start is a phrase. `kinds` are the
    trait and category of each phrase: the same words may be one of two categories of a trait.
    """

    __slots__ = ("_find", "_kinds", "_ways")

    def __init__(
        self,
        phrases: Sequence[bytes],
        ways: Sequence[Sequence[Way]] | None = None,
        kinds: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self._kinds = kinds
        # A DFA of so many phrases does not fit the processor's cache.
        automaton = BytesAhoCorasick(phrases, MatchKind.Standard, Implementation.ContiguousNFA)
        self._find = automaton.find_matches_as_indexes
        self._ways = [[(number, None)] for number in range(len(phrases))] if ways is None else ways

    def only(self, phrases: Collection[int]) -> Matcher:
        """A matcher of some of the phrases, whatever others they overlap with."""
        matcher = copy(self)
        matcher._ways = [[way for way in ways if way[0] in phrases] for ways in self._ways]
        return matcher

    def find(self, text: bytes) -> list[Match]:
        """The matches in order.

        >>> Matcher([b"coup", b"act now"]).find(b"a couple of us act now")
        [(1, 15, 22)]
        """
        # With overlaps, since the longest may end inside a word.
        raw = self._find(text, True)
        size = len(text)
        whole: list[tuple[int, int, int]] = []
        all_ways = self._ways
        for head, start, end in raw:
            ways = all_ways[head]
            if not ways or (start and not _ends(text, start - 1, start - 2)):
                continue
            for phrase, rest in ways:
                if rest is None:
                    if end == size or _ends(text, end, end + 1):
                        whole.append((start, -end, phrase))
                elif (stop := rest.end(text, end)) is not None:
                    whole.append((start, -stop, phrase))
        whole.sort()
        matches: list[Match] = []
        free = 0
        for start, minus_end, phrase in whole:
            if start >= free:
                free = -minus_end
                matches.append((phrase, start, free))
            elif matches[-1][1:] == (start, -minus_end) and self._is_other(phrase, matches[-1][0]):
                matches.append((phrase, start, free))
        return matches

    def _is_other(self, phrase: int, before: int) -> bool:
        """Whether a phrase is of another category than one with the same words, and of the same trait."""
        if self._kinds is None:
            return False
        (trait, category), (other, known) = self._kinds[phrase], self._kinds[before]
        return trait == other and category != known


def _ends(text: bytes, beside: int, beyond: int) -> bool:
    """Whether a word ends before the character at `beside`; `beyond` is the one after that.

    An apostrophe before a letter continues the word: `you can` is not in `you can't`.
    """
    code = text[beside]
    if code in _IN_WORD:
        return False
    return code != _APOSTROPHE or not (0 <= beyond < len(text) and text[beyond] in _IN_WORD)
