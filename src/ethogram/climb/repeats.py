"""Resampling: the same request put again and again, in nearly the same words, until an answer comes."""

from __future__ import annotations

from collections.abc import Iterable

from .concepts import near_equal
from .records import Signal, quiet

NEAR = 0.7
FEWEST_WORDS = 3


def resampling(
    about: frozenset[str], earlier: Iterable[tuple[str, ...]], direct: float, refused: bool
) -> Signal:
    """How often a turn nearly repeats earlier ones.

    Repeating what is harmless adds next to nothing to the risk.

    >>> words = frozenset({"open", "blue", "safe"})
    >>> resampling(words, [tuple(sorted(words))] * 3, 0.3, False).value > 0.7
    True
    """
    if len(about) < FEWEST_WORDS:
        return quiet("resampling", "too short to be a repeat")
    times = sum(near_equal(about, words) >= NEAR for words in earlier if len(words) >= FEWEST_WORDS)
    if not times:
        return quiet("resampling", "not asked before")
    value = 1 - 0.6**times
    adds = value * (0.06 + 0.5 * direct + 0.25 * refused)
    return Signal("resampling", value, f"nearly the same as {times} of the last turns", adds)
