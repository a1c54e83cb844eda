"""Matching: which phrases stand in a folded text as whole words, all at once and in linear time."""

from __future__ import annotations

from collections.abc import Sequence

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from .variants import Rest

Match = tuple[int, int, int]
"""Which phrase, where it starts, and where it ends (not included)."""

_IN_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_")
_APOSTROPHE = ord("'")


Way = tuple[int, Rest | None]
"""Which phrase a beginning belongs to, and what must follow it; None where nothing must."""


class Matcher:
    """Finds the phrases of a list. Where they overlap, the one that starts first counts, then the longest.

    `ways` says for each of them which phrases it begins; without, each is a phrase.
    """

    __slots__ = ("_find", "_ways")

    def __init__(self, phrases: Sequence[bytes], ways: Sequence[Sequence[Way]] | None = None) -> None:
        # Not the DFA: that is so large for many phrases that it falls out of the processor's cache.
        automaton = BytesAhoCorasick(phrases, MatchKind.Standard, Implementation.ContiguousNFA)
        self._find = automaton.find_matches_as_indexes
        self._ways = [[(number, None)] for number in range(len(phrases))] if ways is None else ways

    def find(self, text: bytes) -> list[Match]:
        """The matches in order of place.

        >>> Matcher([b"coup", b"act now"]).find(b"a couple of us act now")
        [(1, 15, 22)]
        """
        # All that overlap: the longest may turn out to end inside a word.
        raw = self._find(text, True)
        if not raw:
            return []
        size = len(text)
        whole: list[tuple[int, int, int]] = []
        for head, start, end in raw:
            if start and not _ends(text, start - 1, start - 2):
                continue
            for phrase, rest in self._ways[head]:
                if rest is None:
                    if end == size or _ends(text, end, end + 1):
                        whole.append((start, -end, phrase))
                elif (stop := rest.end(text, end)) is not None:
                    whole.append((start, -stop, phrase))
        whole.sort()
        found: list[Match] = []
        free = 0
        for start, minus_end, phrase in whole:
            if start >= free:
                free = -minus_end
                found.append((phrase, start, free))
        return found


def _ends(text: bytes, beside: int, beyond: int) -> bool:
    """Whether a word ends where `beside` is the next character and `beyond` the one after that.

    An apostrophe before a letter goes on with the word: `you can` is not in `you can't`.
    """
    code = text[beside]
    if code in _IN_WORD:
        return False
    return code != _APOSTROPHE or not (0 <= beyond < len(text) and text[beyond] in _IN_WORD)
