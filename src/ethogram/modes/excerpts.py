"""Excerpts: what the events of the evidence say, masked, where somebody asked for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..records import Detection, Event
from ..records.mask import excerpt
from .analysis import Analysis
from .mute import evidence_events


def with_excerpts(analysis: Analysis, events: Iterable[Event]) -> Analysis:
    """The analysis with an excerpt on every piece of evidence whose event says something."""
    every = [*analysis.detections, *(one for one, _ in analysis.muting.muted)]
    said = {key: excerpt(event) for key, event in evidence_events(every, events).items()}

    def told(one: Detection) -> Detection:
        evidence = (replace(each, excerpt=said.get((one.source, each.event))) for each in one.evidence)
        return replace(one, evidence=tuple(evidence))

    muted = tuple((told(one), by) for one, by in analysis.muting.muted)
    return replace(
        analysis,
        detections=tuple(map(told, analysis.detections)),
        muting=replace(analysis.muting, muted=muted),
    )
