"""Signals of the turn itself: what it asks for, and what it hides."""

from __future__ import annotations

from .records import Signal, quiet, unmeasured
from .request import Request
from .view import View


def request_signal(view: View, asked: Request) -> Signal:
    """What a turn asks for, in words."""
    if not view.is_english:
        return unmeasured("request", f"the lexicon does not know this language ({view.language})")
    if asked.direct < 0.02:
        return quiet("request", "asks for nothing that could do harm")
    about = f"about {', '.join(asked.words[:3])}" if asked.words else "about what was talked of before"
    how = "how to do it" if asked.asks >= 0.8 else "in general"
    more = "".join((", exactly" if asked.exact else "", ", without being noticed" if asked.evades else ""))
    frame = "" if asked.frame == 1 else ", in an innocent setting"
    return Signal("request", asked.direct, f"asks {about}: {how}{more}{frame}", asked.direct)


def disguise(view: View, asked: Request) -> Signal:
    """Words hidden from whoever reads them; more where what they say is dangerous."""
    hidden = view.disguise
    if not hidden.kinds:
        return quiet("disguise", "plain text")
    adds = 0.04 + 0.5 * min(1.0, asked.hazard * (0.5 + asked.asks))
    return Signal("disguise", hidden.value, f"words hidden by {', '.join(hidden.kinds)}", adds * hidden.value)
