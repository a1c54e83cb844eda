"""One scorer per signal and run: readings by others are absent, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from .. import registry
from ..records import GIVEN, Event


def only_scorers(
    events: Iterable[Event], scorers: Mapping[str, str]
) -> tuple[list[Event], Counter[tuple[str, str]]]:
    """Events with the readings that count, and how many of each (signal, scorer) were left out.

    `scorers` names the one for a signal, or under '*' the one for all that come with the events and are
    not named. Without a word from the settings, what was given with no name counts, and what the newest
    version of our own signal measured.
    """
    kept: list[Event] = []
    unused: Counter[tuple[str, str]] = Counter()
    for event in events:
        if not event.scorers and not scorers:
            kept.append(event)
            continue
        dropped = [name for name in event.readings if not _counts(event, name, scorers)]
        unused.update((name, event.scorers.get(name, GIVEN)) for name in dropped)
        left = {name: value for name, value in event.readings.items() if name not in dropped}
        kept.append(replace(event, readings=left) if dropped else event)
    return kept, unused


def _counts(event: Event, name: str, scorers: Mapping[str, str]) -> bool:
    scorer = event.scorers.get(name, GIVEN)
    if name in scorers:
        return scorer == scorers[name]
    if scorer != GIVEN and name in registry.signals:
        return scorer == f"{name}@{registry.signals.get(name).version}"
    return scorer == scorers.get("*", GIVEN)
