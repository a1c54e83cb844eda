"""What is measured on an event before its texts are left out of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .. import registry
from ..config import Settings
from ..records import Event, Reading, stable_hash
from ..signals import Options, plan
from ..signals.define import Unmeasured
from ..stores.bare import bare_attributes
from .measured import without_steps

TextSignals = Callable[[Event], tuple[Reading, ...]]


def text_signals(settings: Settings, *, keep_text: bool) -> TextSignals | None:
    """What measures a text before it is left out; None where texts are kept.

    Only signals of one event by itself: what they say of it with its text and not without. Of a category that
    was read from a text only a mark is kept, which is the same for the same one: it may hold words of it.
    """
    if keep_text:
        return None
    signals = [one for one in plan(registry.signals.names()) if one.scope is None and not one.needs]
    options = Options.of(settings)

    def measure(event: Event) -> tuple[Reading, ...]:
        kept = bare_attributes(event.kind, event.attributes)
        if event.text is None and kept is event.attributes:
            return ()
        bare = without_steps(replace(event, text=None, attributes=kept))
        found = []
        for one in signals:
            value, _ = one.step(event, None, options)
            if one.name in event.readings or value is None or isinstance(value, Unmeasured):
                continue
            if one.step(bare, None, options)[0] != value:
                marked = f"#{stable_hash(value)[:16]}" if isinstance(value, str) else value
                found.append(Reading(one.name, marked, one.scorer))
        return tuple(found)

    return measure
