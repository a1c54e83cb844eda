"""Resampling and payload splitting."""

from __future__ import annotations

from collections.abc import Iterable

from ..models.slotted import dataclass
from .harm_lexicon import find
from .records import Signal, quiet
from .request import request
from .turn_features import View, look, near_equal

NEAR = 0.7
FEWEST_WORDS = 3
MOST_PIECES = 5
LONGEST_PIECE = 10
GAIN = 0.1  # how much riskier the pieces must be together than the riskiest alone


def resampling(
    about: frozenset[str], earlier: Iterable[tuple[str, ...]], direct: float, refused: bool
) -> Signal:
    """The signal of a turn that nearly repeats earlier ones; for a harmless one it adds almost nothing.

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


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn that may be a part of a sentence: its stems, and the risk of what it asks alone."""

    stems: tuple[str, ...]
    direct: float


def is_piece(view: View) -> bool:
    """Whether a turn may be a part of a sentence: short, and not ended as one."""
    short = 0 < len(view.stems) <= LONGEST_PIECE
    return short and not view.text.rstrip().endswith((".", "?", "!"))


def keep(pieces: tuple[Piece, ...], view: View, direct: float) -> tuple[Piece, ...]:
    """The pieces after a turn; a whole sentence that assembles nothing ends them."""
    if is_piece(view) or view.has("assemble"):
        return (*pieces, Piece(view.stems[: 2 * LONGEST_PIECE], direct))[-MOST_PIECES:]
    return ()


def split_request(pieces: tuple[Piece, ...], view: View, direct: float) -> Signal:
    """The signal of pieces (those before this turn) that ask together for more than each alone."""
    assembling = view.has("assemble")
    if not pieces or not (is_piece(view) or assembling):
        return quiet("split_request", "whole sentences")
    stems = [stem for some in (*(piece.stems for piece in pieces), view.stems) for stem in some]
    if not _may_harm(stems):
        return quiet("split_request", "nothing dangerous in the pieces")
    alone = max([direct, *(piece.direct for piece in pieces)])
    whole = request(look(" ".join(stems))).direct
    if whole - alone < GAIN:
        return quiet("split_request", "the pieces say no more together than alone")
    adds = (0.15 + whole) if assembling else 0.8 * whole
    text = f"{len(pieces) + 1} pieces ask together for what none asks alone"
    return Signal("split_request", min(1.0, 2 * (whole - alone)), text, min(0.8, adds))


def _may_harm(stems: list[str]) -> bool:
    """Whether the pieces are worth a full look: a harmful word, or single letters that may spell one."""
    letters = sum(len(stem) == 1 and stem not in "ai" for stem in stems)
    return letters > 2 or any(hit.term.severity is not None for hit in find(stems))
