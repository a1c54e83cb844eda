"""Families of exemplars: a line with `(a|b)` stands for one text for each choice."""

from __future__ import annotations

import re
from itertools import product
from random import Random

_CHOICE = re.compile(r"\(([^()]*)\)")


def expand(line: str, most: int) -> list[str]:
    """The texts a line stands for; where there are more than `most`, so many of them, drawn the same way
    every time.

    >>> expand("(buy|sell) (bread|)", 9)
    ['buy bread', 'buy', 'sell bread', 'sell']
    """
    parts = _CHOICE.split(line)
    # Between the fixed parts, at odd places, are the choices.
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total <= most:
        return [_tidy(words) for words in product(*choices)]
    rng = Random(f"0 {line}")
    drawn = {_tidy(tuple(rng.choice(choice) for choice in choices)): None for _ in range(most)}
    return list(drawn)


def _tidy(words: tuple[str, ...]) -> str:
    return " ".join("".join(words).split())
