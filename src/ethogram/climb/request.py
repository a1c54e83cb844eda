"""What a turn asks for: what could do harm, how much it asks to *do* that, how exactly, in what frame.

A word is never enough: `kill` with a process is nothing, with a person it is grave; `poison` in a question
about
symptoms is care. So severity is read with what stands around it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .sections import alternatives
from .severity import joined, severities
from .view import View

_FRAMES = (
    ("play", 0.25),
    ("defend", 0.3),
    ("protect", 0.4),
    ("learn", 0.55),
    ("profession", 0.7),
    ("fiction", 0.5),
)
_NOT = alternatives("stages", "no fact", before="(?!", after=")").pattern
_THEN = r"^\W*(?:and |so |but |then |ok[.,]? |okay[.,]? )?(?:"
_FACT = alternatives("stages", "fact", before=_THEN, after=f") {_NOT}")
_EVENT = alternatives("stages", "event", before=r"^\W*(?:", after=")")
_MEANING = alternatives("stages", "meaning", before=r"^\W*(?:", after=")")
_CARE = alternatives("stages", "care", before=r"^\W*(?:and |so |but |ok,? )?(?:", after=")")


@dataclass(frozen=True, slots=True)
class Request:
    """A request, its parts from 0 to 1.

    `hazard` is what could do harm, `asks` how much it asks to do it, `frame` what the setting leaves of it,
    `words` are those that made the hazard, `grave` all with their severity, `direct` is the risk of the
    request taken by itself.
    """

    hazard: float
    asks: float
    exact: float
    evades: float
    frame: float
    direct: float
    words: tuple[str, ...]
    grave: tuple[tuple[str, float], ...] = ()


def request(view: View, carried: float = 0.0) -> Request:
    """The request of a turn.

    `carried` is the hazard talked about before, where this turn goes on about it.
    """
    by_word = severities(view)
    hazard = max(joined(by_word), carried)
    # How somebody was caught is a question of fact; not to be caught oneself is a wish, and graver with a
    # deed to hide.
    exact, evades = float(view.has("exact")), float(view.has("evade") and not _is_fact(view))
    asks = _asks(view)
    frame = max(_frame(view), 0.85) if evades else _frame(view)
    direct = (
        hazard * (0.25 + 0.55 * asks)
        + (0.30 if hazard > 0.05 else 0.18) * evades * asks
        + 0.12 * exact * asks * min(1.0, 3 * hazard)
    )
    words = tuple(sorted(by_word, key=lambda word: (-by_word[word], word)))
    return Request(
        hazard, asks, exact, evades, frame, min(1.0, direct * frame), words[:5], tuple(by_word.items())
    )


def _asks(view: View) -> float:
    """How far a turn asks to do something: 1 for a how-to, little for a question of fact."""
    if view.has("exact") and not view.own:
        return 1.0
    if _is_fact(view):
        return 0.3
    if view.has("doing"):
        return 1.0
    if view.has("learn"):
        return 0.3
    if view.is_question:
        return 0.6
    # A statement asks for nothing; one that gives an order does.
    return 0.6 if view.has("make") else 0.35


def _is_fact(view: View) -> bool:
    """Whether the question is about how things are, and not how to do one."""
    return _FACT.match(view.text[:120].lower()) is not None


def _frame(view: View) -> float:
    """What the setting leaves of a hazard, 1 where it says nothing."""
    left = min((keeps for label, keeps in _FRAMES if view.has(label) and _counts(view, label)), default=1.0)
    start = view.text[:80].lower()
    if _EVENT.match(start) and not view.has("doing"):
        left = min(left, 0.35)
    elif _MEANING.match(start) and not view.has("exact"):
        left = min(left, 0.45)
    elif is_care(view):
        left = min(left, 0.4)
    return left


def is_care(view: View) -> bool:
    """Whether the question is whether something is dangerous, rather than which or how."""
    return _CARE.match(view.text[:80].lower()) is not None and not view.has("exact", "evade")


def _counts(view: View, label: str) -> bool:
    """Whether a frame is one here: `what are` before an exact amount, or a how-to, is no study."""
    if label != "learn":
        return True
    return not ((view.has("doing") and not _is_fact(view)) or (view.has("exact") and not view.own))
