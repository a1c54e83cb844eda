"""Signals of the turn itself: what it asks for, and what it hides."""

from __future__ import annotations

from .lexicon import shown
from .records import Signal, quiet, unmeasured
from .request import Request, is_care
from .view import View

SETTINGS = (
    ("play", "in a game"),
    ("defend", "as a question what to do against it"),
    ("protect", "for protection"),
    ("fiction", "in a story"),
    ("learn", "as study"),
    ("profession", "at work"),
)
"""Settings by the class of words that tells of them, the strongest first."""


def request_signal(view: View, asked: Request) -> Signal:
    """What a turn asks for, in words."""
    if not view.is_english:
        return unmeasured("request", f"the lexicon does not know this language ({view.language})")
    if asked.direct < 0.02:
        return quiet("request", "asks for nothing that could do harm")
    about = (
        f"about {', '.join(map(shown, asked.words[:3]))}"
        if asked.words
        else "about what was talked of before"
    )
    how = "how to do it" if asked.asks >= 0.8 else "in general"
    more = "".join((", exactly" if asked.exact else "", ", without being noticed" if asked.evades else ""))
    where = "" if asked.frame == 1 else f"; less grave {_setting(view)}"
    return Signal("request", asked.direct, f"asks {about}: {how}{more}{where}", asked.direct)


def _setting(view: View) -> str:
    """What makes a request less grave, in words; the strongest where there are several."""
    if not view.has("play", "defend") and is_care(view):
        return "as a question whether it is dangerous"
    return next((said for label, said in SETTINGS if view.has(label)), "as a question of fact")


def disguise(view: View, asked: Request) -> Signal:
    """Words hidden from whoever reads them; more where what they say is dangerous."""
    hidden = view.disguise
    if not hidden.kinds:
        return quiet("disguise", "plain text")
    adds = 0.04 + 0.5 * min(1.0, asked.hazard * (0.5 + asked.asks))
    return Signal("disguise", hidden.value, f"words hidden by {', '.join(hidden.kinds)}", adds * hidden.value)
