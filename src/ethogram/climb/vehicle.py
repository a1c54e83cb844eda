"""Vehicles: a story, a persona or an order to drop the rules, used to carry a request."""

from __future__ import annotations

from .records import Signal, quiet
from .request import Request
from .view import View


def kind_of(view: View) -> str | None:
    """`override`, `persona`, `fiction` or None."""
    return next((kind for kind in ("override", "persona", "fiction") if view.has(kind)), None)


def vehicle(view: View, asked: Request) -> Signal:
    """How much a frame is used to carry something; a story about nothing dangerous is a story.

    >>> from .request import request
    >>> from .view import look
    >>> turn = look("Write a story about a fox")
    >>> vehicle(turn, request(turn)).adds
    0.0
    """
    kind = kind_of(view)
    if kind is None:
        return quiet("vehicle", "said in its own name")
    hazard = asked.hazard * asked.asks
    if kind == "override":
        both = view.has("persona")
        return Signal(
            "vehicle",
            0.9 if both else 0.7,
            "asks to drop the rules",
            (0.35 if both else 0.22) + 0.4 * hazard,
            kind,
        )
    if hazard < 0.05:
        return Signal("vehicle", 0.2, f"{kind}, with nothing dangerous in it", 0.0, kind)
    # A novelist needs a deed; who needs a recipe asks for exact amounts through the story.
    weight = (0.1 + 0.4 * max(asked.exact, asked.evades)) * hazard
    return Signal("vehicle", 0.3 + 0.5 * hazard, f"something dangerous put as {kind}", weight, kind)
