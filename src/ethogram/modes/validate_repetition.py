"""Recall on steps that people labelled as a repetition of the one before."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from ..records import Detection, Event

LABEL = "Repetition"
STUCK = ("loop", "repetitive_errors")


def repetition_recall(events: Sequence[Event], found: Iterable[Detection]) -> dict[str, Any] | None:
    """How many pairs of steps with that label lie in a detection; None where there are no such labels.

    Of all pairs, and of those whose calls are equal once white space, digits, hex and temporary names are
    taken out. A pair lies in a detection that reaches from its first step to its second, evidence included.
    """
    pairs = labelled_pairs(events)
    if not pairs:
        return None
    place = {event.id: n for n, event in enumerate(events)}
    spans = [_span(one, place) for one in found if one.pattern in STUCK]
    in_all = [_is_inside(pair, spans, place) for pair in pairs]
    equal = [inside for pair, inside in zip(pairs, in_all, strict=True) if fixed(pair[0]) == fixed(pair[1])]
    return {"pairs": len(pairs), "found": sum(in_all), "equal_pairs": len(equal), "equal_found": sum(equal)}


def labelled_pairs(events: Iterable[Event]) -> list[tuple[Event, Event]]:
    """Neighbouring calls of a run of which the first says that the next one repeats it."""
    runs: dict[str | None, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind == "action":
            runs[event.thread].append(event)
    return [(one, other) for calls in runs.values() for one, other in pairwise(calls) if _label(one) == LABEL]


def _label(event: Event) -> str | None:
    labels = event.attributes.get("labels")
    told = labels.get("to_next") if isinstance(labels, dict) else None
    return told.strip() if isinstance(told, str) else None


def fixed(event: Event) -> str:
    """A call without white space, digits, hex and temporary names: a yardstick of its own, not our keys."""
    text = json.dumps([event.attributes.get("tool"), event.attributes.get("arguments")], sort_keys=True)
    text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{7,}\b", "H", text.lower())
    return re.sub(r"\s+", "", re.sub(r"\d+", "N", re.sub(r"/tmp/[\w./-]+", "T", text)))


def _span(one: Detection, place: dict[str, int]) -> tuple[int, int]:
    ids = (one.first_event, one.last_event, *(proof.event for proof in one.evidence))
    known = [place[event] for event in ids if event in place]
    return min(known, default=0), max(known, default=-1)


def _is_inside(pair: tuple[Event, Event], spans: Iterable[tuple[int, int]], place: dict[str, int]) -> bool:
    # A step counts where its result is, which is the event after its call.
    start, end = place[pair[0].id] + 1, place[pair[1].id]
    return any(low <= start and end <= high for low, high in spans)
