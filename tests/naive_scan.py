"""The plain meaning of folding and matching: slow, and obviously right. The scanner is checked against it.

One character after the other, with the place it came from kept beside it all the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from ethogram.lexicon.normalize import fold_character

LEET = dict(zip("013457", "oieast", strict=True))
SIGNS = {"@": "a", "$": "s"}
Place = tuple[str, int]
"""A folded character and where it stood in the original."""


def fold(text: str) -> list[Place]:
    """The folded text, character by character, each with its place in the original."""
    places = [(item, at) for at, character in enumerate(text) for item in _characters(character)]
    places = [(_hyphen(places, i), at) for i, (_, at) in enumerate(places)]
    places = [(_underscore(places, i), at) for i, (_, at) in enumerate(places)]
    places = [(_sign(places, i), at) for i, (_, at) in enumerate(places)]
    places = _leet(places)
    return [place for i, place in enumerate(places) if place[0] != " " or i == 0 or places[i - 1][0] != " "]


def find(text: str, phrases: Iterable[str]) -> list[tuple[str, int, int]]:
    """Every phrase that stands in the text as whole words, with its slice of the original.

    Where phrases overlap, the one that starts first counts, then the longest.
    """
    folded = fold(text)
    plain = "".join(item for item, _ in folded)
    longest_first = sorted(set(phrases), key=len, reverse=True)
    found = []
    at = 0
    while at < len(plain):
        for phrase in longest_first:
            end = at + len(phrase)
            if plain[at:end] == phrase and _free(plain, at - 1, at - 2) and _free(plain, end, end + 1):
                found.append((phrase, folded[at][1], folded[end - 1][1] + 1))
                at = end - 1
                break
        at += 1
    return found


def written_out(line: str) -> list[str]:
    """Every phrase of a line with variants in brackets, the innermost bracket first."""
    if "(" not in line:
        return [line]
    start = line.rindex("(")
    end = line.index(")", start)
    return [
        item
        for choice in line[start + 1 : end].split("|")
        for item in written_out(line[:start] + choice + line[end + 1 :])
    ]


def _characters(character: str) -> str:
    if not character.isascii():
        return fold_character(character)
    if character.isspace() or character in "*~":
        return " "
    return "|" if ord(character) < 32 or ord(character) == 127 else character.lower()


def _is_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _at(places: list[Place], i: int) -> str:
    return places[i][0] if 0 <= i < len(places) else " "


def _hyphen(places: list[Place], i: int) -> str:
    inside = _at(places, i - 1).isalnum() and _at(places, i + 1).isalnum()
    return " " if places[i][0] == "-" and inside else places[i][0]


def _underscore(places: list[Place], i: int) -> str:
    inside = _at(places, i - 1).isalnum() and _at(places, i + 1).isalnum()
    return " " if places[i][0] == "_" and not inside else places[i][0]


def _sign(places: list[Place], i: int) -> str:
    inside = _at(places, i - 1).isalpha() and _at(places, i + 1).isalpha()
    return SIGNS[places[i][0]] if places[i][0] in SIGNS and inside else places[i][0]


def _leet(places: list[Place]) -> list[Place]:
    """Words of letters and digits that are mostly letters have their digits read as letters."""
    out: list[Place] = []
    i = 0
    while i < len(places):
        end = i
        while end < len(places) and places[end][0].isalnum():
            end += 1
        word = places[i:end]
        letters = sum(item.isalpha() for item, _ in word)
        pairs = pairwise(word)
        beside = any(
            {a.isalpha(), b.isalpha()} == {True, False} and (a in LEET or b in LEET)
            for (a, _), (b, _) in pairs
        )
        if beside and letters >= 2 and 2 * letters > len(word):
            word = [(LEET.get(item, item), at) for item, at in word]
        out += word or places[i : i + 1]
        i = max(end, i + 1)
    return out


def _free(plain: str, beside: int, beyond: int) -> bool:
    if not 0 <= beside < len(plain):
        return True
    if plain[beside] == "'":
        return not (0 <= beyond < len(plain) and _is_word(plain[beyond]))
    return not _is_word(plain[beside])
