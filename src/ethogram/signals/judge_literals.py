"""What must stand in a text for a pattern to match: sets of words of which one must be there.

Looking for words is far quicker than trying patterns, so that a pattern is tried only where its words are.
Read are the forms that vocabulary/judge_cues.txt uses: groups, choices, classes, repeats and assertions.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

MOST = 128
"""So many words may stand for one place; where there are more, the parts are looked at one by one."""
LEAST = 3
"""Shorter words are in nearly every text, unless they have a sign that is rare."""
RARE = frozenset("<>[]{}#=_")
MARK = "|"
"""Put at the ends of lines in one form of a text and not in the other, so it is part of no word."""

Words = frozenset[str]


class Needs(NamedTuple):
    """`exact` is all that a part of a pattern matches, None for too much; one of each of `sets` is there."""

    exact: Words | None
    sets: tuple[Words, ...] = ()


_NOTHING = Needs(frozenset([""]))
_ANYTHING = Needs(None)
_TOKEN = re.compile(
    r"(?P<look>\(\?<?[!=])|(?P<open>\((?:\?:)?)"
    r"|(?P<times>(?:[?*+]|\{(?P<low>\d+)(?:,\d*)?\})\??)"
    r"|(?P<nowhere>\^|\$|\\[bB])|(?P<many>\.|\\[wWdDsS]|\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<run>[a-z ]+(?![?*+{]))|\\?(?P<letter>[\s\S])"
)


def required_words(pattern: str) -> tuple[Words, ...]:
    """Sets of words, the longest words first; of each set one is in whatever the pattern matches.

    >>> [sorted(words) for words in required_words(r"\\b(?:rate|mark)s? .{0,9}(?:as )?(?:safe|benign)")]
    [['mark ', 'marks ', 'rate ', 'rates '], ['benign', 'safe']]
    """
    needs, _ = _choice(pattern, 0)
    sets = [_shortest(words) for words in dict.fromkeys(_all_sets(needs)) if _is_telling(words)]
    return tuple(sorted(sets, key=_tells, reverse=True))


def _choice(pattern: str, at: int) -> tuple[Needs, int]:
    """What the choices from here to the end of their group need, and where that is."""
    ways: list[Needs] = []
    while True:
        needs, at = _sequence(pattern, at)
        ways.append(needs)
        if pattern[at : at + 1] != "|":
            return _either(ways), at + 1
        at += 1


def _sequence(pattern: str, at: int) -> tuple[Needs, int]:
    parts: list[Needs] = []
    while at < len(pattern) and pattern[at] not in "|)":
        needs, at = _part(pattern, at)
        times = _TOKEN.match(pattern, at)
        if times and times["times"]:
            needs, at = _repeated(needs, times), times.end()
        parts.append(needs)
    return _one_after_another(parts), at


def _part(pattern: str, at: int) -> tuple[Needs, int]:
    token = _TOKEN.match(pattern, at)
    assert token, pattern
    if token["look"] or token["open"]:
        needs, at = _choice(pattern, token.end())
        return (_NOTHING if token["look"] else needs), at
    if token["nowhere"]:
        return _NOTHING, token.end()
    if token["run"]:
        return Needs(frozenset([token["run"]])), token.end()
    if token["many"]:
        return _class(token["many"]), token.end()
    return (_ANYTHING if token["letter"] == MARK else Needs(frozenset(token["letter"]))), token.end()


def _class(form: str) -> Needs:
    inside = form[1:-1]
    is_plain = form[0] == "[" and not re.search(r"^\^|\\|.-.", inside)
    return Needs(frozenset(inside)) if is_plain and MARK not in inside else _ANYTHING


def _repeated(needs: Needs, times: re.Match[str]) -> Needs:
    low = int(times["low"]) if times["low"] else int(times["times"][0] == "+")
    if low:
        return Needs(None, _all_sets(needs))
    if times["times"][0] == "?" and needs.exact is not None:
        return Needs(needs.exact | {""})
    return _ANYTHING


def _either(ways: list[Needs]) -> Needs:
    """One of the ways: all their words, or of each the set that tells most."""
    if len(ways) == 1:
        return ways[0]
    exact = [way.exact for way in ways if way.exact is not None]
    if len(exact) == len(ways) and len(together := frozenset().union(*exact)) <= MOST:
        return Needs(together)
    best = [max(_all_sets(way), key=_tells, default=frozenset([""])) for way in ways]
    return Needs(None, (frozenset().union(*best),))


def _one_after_another(parts: list[Needs]) -> Needs:
    """Words grow while all that may stand in a place is known, and are put aside where it is not."""
    aside: list[Words] = []
    here = frozenset([""])
    is_exact = True
    for part in parts:
        if part.exact is not None and len(here) * len(part.exact) > MOST:
            is_exact, here = False, _without_beginnings(here)
        if part.exact is not None and len(here) * len(part.exact) <= MOST:
            here = frozenset(map("".join, product(here, part.exact)))
            continue
        is_exact = False
        aside += [here, *part.sets]
        here = frozenset([""]) if part.exact is None else part.exact
    return Needs(here) if is_exact else Needs(None, (*aside, here))


def _all_sets(needs: Needs) -> tuple[Words, ...]:
    return needs.sets if needs.exact is None else (needs.exact,)


def _tells(words: Words) -> tuple[int, int]:
    return min(len(word) + LEAST * bool(RARE.intersection(word)) for word in words), -len(words)


def _is_telling(words: Words) -> bool:
    return _tells(words)[0] >= LEAST


def _without_beginnings(words: Words) -> Words:
    """Without the words that end with another of them: what follows one follows the other."""
    return frozenset(one for one in words if not any(one[cut:] in words for cut in range(1, len(one) + 1)))


def _shortest(words: Words) -> Words:
    """Without the words that hold another of them."""
    return frozenset(one for one in words if not any(two != one and two in one for two in words))
