"""What is measured on a text before it is left out of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .. import registry
from ..config import Settings
from ..records import Event, Reading
from ..signals import Options, plan
from ..signals.define import Unmeasured

TextSignals = Callable[[Event], tuple[Reading, ...]]


def text_signals(settings: Settings, *, keep_text: bool) -> TextSignals | None:
    """What measures a text before it is left out; None where texts are kept.

    Only signals of one event by itself: what they say of it with its text and not without.
    """
    if keep_text:
        return None
    signals = [one for one in plan(registry.signals.names()) if one.scope is None and not one.needs]
    options = Options.of(settings)

    def measure(event: Event) -> tuple[Reading, ...]:
        bare = replace(event, text=None)
        found = []
        for one in signals:
            value, _ = one.step(event, None, options)
            if one.name in event.readings or value is None or isinstance(value, Unmeasured):
                continue
            if one.step(bare, None, options)[0] != value:
                found.append(Reading(one.name, value, one.scorer))
        return tuple(found)

    return measure
