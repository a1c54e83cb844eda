"""Resampling and payload splitting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .harm_lexicon import find
from .records import Signal, quiet
from .request import request
from .turn_features import View, look, near_equal

# Resampling: the same request put again and again, in nearly the same words, until an answer comes.

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


# One request split over turns: pieces that say nothing each, and together ask for something dangerous.

KEPT = 5
LONGEST_PIECE = 10
GAIN = 0.1  # so much more risk must the pieces have together than the gravest of them alone


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn that may be a part of a sentence: its stems, and the risk of what it asks alone."""

    stems: tuple[str, ...]
    direct: float


Pieces = tuple[Piece, ...]


def is_piece(view: View) -> bool:
    """Whether a turn may be a part of a sentence: short, and not ended as one."""
    short = 0 < len(view.stems) <= LONGEST_PIECE
    return short and not view.text.rstrip().endswith((".", "?", "!"))


def keep(pieces: Pieces, view: View, direct: float) -> Pieces:
    """The pieces after a turn; a whole sentence that puts nothing together ends them."""
    if is_piece(view):
        return (*pieces, Piece(view.stems, direct))[-KEPT:]
    if view.has("assemble"):
        return (*pieces, Piece(view.stems[: 2 * LONGEST_PIECE], direct))[-KEPT:]
    return ()


def split_request(pieces: Pieces, view: View, direct: float) -> Signal:
    """What the pieces ask for together, beyond what each asks for alone.

    `pieces` are those before this turn.
    """
    assembling = view.has("assemble")
    if not pieces or not (is_piece(view) or assembling):
        return quiet("split_request", "whole sentences")
    stems = [stem for some in (*(piece.stems for piece in pieces), view.stems) for stem in some]
    if not _may_harm(stems):
        return quiet("split_request", "nothing dangerous in the pieces")
    alone = max([direct, *(piece.direct for piece in pieces)])
    whole = request(look(" ".join(stems))).direct
    gain = whole - alone
    if gain < GAIN:
        return quiet("split_request", "the pieces say no more together than alone")
    value = min(1.0, 2 * gain)
    adds = (0.15 + whole) if assembling else 0.8 * whole
    return Signal(
        "split_request",
        value,
        f"{len(pieces) + 1} pieces ask together for what none asks alone",
        min(0.8, adds),
    )


def _may_harm(stems: list[str]) -> bool:
    """Whether a whole look is worth its time: a harmful word, or letters one by one that may spell one."""
    letters = sum(len(stem) == 1 and stem not in "ai" for stem in stems)
    return letters > 2 or any(hit.term.severity is not None for hit in find(stems))
