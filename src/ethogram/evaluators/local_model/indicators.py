"""Indicators that a phrase of the text shows: never one without words to point at."""

from __future__ import annotations

from collections.abc import Mapping

from ...library.vocabulary import indicator_catalogue
from ...scanner.records import Scan
from ..protocol import Found
from .weights import Weights

SUPPORT = 0.25
"""The trait of an indicator must be subtle at least, or the phrase is taken for a manner of speaking."""


def find_indicators(weights: Weights, scan: Scan, traits: Mapping[str, float]) -> tuple[Found, ...]:
    """Each indicator that the author's own words show, at the first place, by place.

    A phrase that is denied, quoted or mentioned shows none, nor one whose trait was not measured.
    """
    if not scan.flags:
        return ()
    known = {name: number for number, name in enumerate(weights.categories)}
    catalogue = indicator_catalogue()
    found: dict[str, Found] = {}
    for flag in scan.flags:
        number = known.get(flag.category)
        if number is None or not flag.counts:
            continue
        name = weights.indicators[number]
        if name and name not in found and traits.get(catalogue[name].trait, 0.0) >= SUPPORT:
            found[name] = Found(name, float(weights.confidences[number]), flag.start, flag.end)
    return tuple(sorted(found.values(), key=lambda one: (one.start, one.id)))
