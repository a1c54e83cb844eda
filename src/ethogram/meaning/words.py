"""Words of a text as stems: enough to bring forms of one English word together, and no more."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
MOST_CHARACTERS = 4_000
"""What is read of one text. A longer one says what it is about before that, and a turn must stay cheap."""

_ENDINGS = (
    ("iness", "y"), ("ously", "ous"), ("fully", "ful"), ("ation", "ate"), ("ings", ""), ("ing", ""),
    ("ies", "y"), ("ied", "y"),
    ("ers", ""), ("edly", ""), ("ed", ""), ("er", ""), ("ly", ""), ("es", "e"), ("s", ""),
)  # fmt: skip
_KEEP = frozenset(("this", "news", "virus", "class"))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The word without its commonest endings.

    >>> [stem(word) for word in ("killing", "kills", "killed", "killer", "stopped", "making", "gas")]
    ['kil', 'kil', 'kil', 'kil', 'stop', 'mak', 'gas']
    """
    if len(word) <= 3 or word in _KEEP:
        return word.rstrip("e") if len(word) > 3 else word
    for ending, instead in _ENDINGS:
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= 3
            and not (ending == "s" and word.endswith("ss"))
        ):
            word = word[: -len(ending)] + instead
            break
    # A doubled last letter (stopped) and a silent e (make, making) come and go with the ending.
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.rstrip("e") if len(word) > 3 else word


def stems(text: str) -> list[str]:
    """The stems of a text in order, of its first `MOST_CHARACTERS` characters.

    >>> stems("Don't STOP making cakes!")
    ["don't", 'stop', 'mak', 'cak']
    """
    folded = text[:MOST_CHARACTERS].lower().replace("’", "'")
    return [stem(word) for word in _WORD.findall(folded)]
