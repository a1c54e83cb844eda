"""Phrases with variants: `(nobody|no one) else can help you` is two phrases in one line.

A line is taken apart once. Its first parts are written out, so that the automaton finds them; the rest, where
writing it out would give too many, is a pattern that is tried only where such a beginning stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MOST_HEADS = 48
"""A line is written out up to so many beginnings."""

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


def count(line: str | Sequence) -> int:
    """How many phrases a line stands for."""
    total = 1
    for part in parse(line) if isinstance(line, str) else line:
        total *= 1 if isinstance(part, str) else sum(map(count, part))
    return total


def split(line: str) -> tuple[list[str], re.Pattern[bytes] | None]:
    """The beginnings of a line written out, and what must follow one of them; None where nothing must."""
    sequence = parse(line)
    taken = 1
    while taken < len(sequence) and count(sequence[: taken + 1]) <= MOST_HEADS:
        taken += 1
    heads = list(dict.fromkeys(forms(sequence[:taken])))
    rest = sequence[taken:]
    return heads, re.compile(_pattern(rest) + END) if rest else None


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
