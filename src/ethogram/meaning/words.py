"""Words of a text as stems: enough to bring forms of one English word together, and no more."""

from __future__ import annotations

from functools import lru_cache

from ..climb.words import stem, tokens

__all__ = ["stem", "stems"]

MOST_CHARACTERS = 4_000
"""What is read of one text. A longer one says what it is about before that, and a turn must stay cheap."""


def stems(text: str) -> tuple[str, ...]:
    """The stems of a text in order, of its first `MOST_CHARACTERS` characters.

    >>> stems("Don't STOP making cakes!")
    ("don't", 'stop', 'make', 'cake')
    """
    return _stems(text[:MOST_CHARACTERS])


# Whoever embeds a turn and whoever asks how much it says need them one after the other.
@lru_cache(maxsize=4)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(tokens(text))
