"""Phrases with variants: `(nobody|no one) else can help you` is two phrases in one line.

A line is taken apart once. Its first parts are written out, so that the automaton finds them; the rest, where
writing it out would give too many, is a pattern that is tried only where such a beginning stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

SHORTEST_HEAD = 10
"""A shorter beginning stands in too many texts to be worth looking at."""

Sequence = tuple["str | tuple[Sequence, ...]", ...]
"""Literal text and choices, in turn."""

_WORD = rb"[a-z0-9_]"
END = rb"(?!" + _WORD + rb")(?!'" + _WORD + rb")"
"""What follows ends a word; an apostrophe before a letter does not."""

# Without it these are other words: well, were, hell, shell, ill, id, wed, shed.
_KEEPS_APOSTROPHE = re.compile(r"\b(?:we|he|she|i)'(?:ll|re|d)\b")
_MAY_GO = re.compile(rb"'(?=(?:t|s|m|ve)\b)")


@lru_cache(maxsize=1 << 12)
def parse(line: str) -> Sequence:
    """A line as literal text and choices; ValueError where brackets do not match.

    >>> parse("you('re| are) here")
    ('you', (("'re",), (' are',)), ' here')
    """
    found, end = _choices(line, 0)
    if end != len(line) or len(found) != 1:
        raise ValueError(f"brackets and bars do not match in {line!r}")
    return found[0]


def _choices(line: str, at: int) -> tuple[tuple[Sequence, ...], int]:
    choices: list[Sequence] = []
    parts: list[str | tuple[Sequence, ...]] = []
    literal = at
    while at < len(line) and line[at] != ")":
        if line[at] == "(":
            inner, end = _choices(line, at + 1)
            if end >= len(line):
                raise ValueError(f"a bracket is not closed in {line!r}")
            parts += [line[literal:at], inner]
            at = literal = end + 1
        elif line[at] == "|":
            choices.append(tuple(one for one in (*parts, line[literal:at]) if one))
            parts, at, literal = [], at + 1, at + 1
        else:
            at += 1
    choices.append(tuple(one for one in (*parts, line[literal:at]) if one))
    return tuple(choices), at


def forms(line: str | Sequence) -> Iterator[str]:
    """Every phrase that a line stands for.

    >>> list(forms("(so |)you('re| are) here"))
    ["so you're here", 'so you are here', "you're here", 'you are here']
    """
    sequence = parse(line) if isinstance(line, str) else line
    if not sequence:
        yield ""
        return
    first, rest = sequence[0], sequence[1:]
    for begun in [first] if isinstance(first, str) else (form for one in first for form in forms(one)):
        for ended in forms(rest):
            yield begun + ended


class Rest:
    """What must follow a beginning; made into a pattern when first asked, which for most is never."""

    __slots__ = ("_match", "_sequence")

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence
        self._match: Callable[[bytes, int], re.Match[bytes] | None] | None = None

    def end(self, text: bytes, at: int) -> int | None:
        """Where it ends, if it stands at this place of the text."""
        if self._match is None:
            self._match = re.compile(_pattern(self._sequence) + END).match
        match = self._match(text, at)
        return None if match is None else match.end()


def heads(line: str) -> Iterator[tuple[str, Sequence]]:
    """The beginnings of a line, each long enough to stand in few texts, and what must follow each.

    >>> list(heads("(a|absolutely any) thing (here|there)"))[-1]
    ('absolutely any thing ', ((('here',), ('there',)),))
    """
    return _heads("", parse(line))


def _heads(begun: str, rest: Sequence) -> Iterator[tuple[str, Sequence]]:
    while rest and isinstance(rest[0], str):
        begun, rest = begun + rest[0], rest[1:]
    if not rest or len(begun) >= SHORTEST_HEAD:
        yield begun, rest
    else:
        for choice in rest[0]:
            assert not isinstance(choice, str)
            yield from _heads(begun, choice + rest[1:])


def _pattern(sequence: Sequence) -> bytes:
    """The same as a regular expression; the longest choice is tried first."""
    out = b""
    for part in sequence:
        if isinstance(part, str):
            # An apostrophe may be left out where that gives no other word.
            out += _MAY_GO.sub(b"'?", re.escape(part.encode()).replace(rb"\ ", b" "))
        else:
            choices = sorted(part, key=lambda one: -max(map(len, forms(one))))
            out += b"(?:" + b"|".join(map(_pattern, choices)) + b")"
    return out


def without_apostrophes(form: str) -> str:
    """A phrase as it is also found; itself where its apostrophe keeps words apart."""
    return form if _KEEPS_APOSTROPHE.search(form) else form.replace("'", "")
