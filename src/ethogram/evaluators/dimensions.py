"""What the twelve traits come to: three dimensions, and how even they are."""

from __future__ import annotations

from collections.abc import Mapping

from ..scanner.records import NEGATIVE

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "ethos": ("virtue", "goodwill", "manipulation", "deception"),
    "logos": ("accuracy", "reasoning", "fabrication", "broken_logic"),
    "pathos": ("recognition", "compassion", "dismissal", "exploitation"),
}
"""Dimension to its traits."""


def dimensions(traits: Mapping[str, float]) -> dict[str, float]:
    """The mean of each dimension's traits, the negative ones turned round, and their balance.

    A dimension with a trait that was not measured is not measured; balance needs all three.

    >>> dimensions({"virtue": 1.0, "goodwill": 0.5, "manipulation": 0.0, "deception": 0.5})
    {'ethos': 0.75}
    """
    out = {
        name: round(sum(1 - traits[one] if one in NEGATIVE else traits[one] for one in parts) / len(parts), 6)
        for name, parts in DIMENSIONS.items()
        if all(one in traits for one in parts)
    }
    if len(out) == len(DIMENSIONS) and (mean := sum(out.values()) / len(out)):
        spread = (sum((one - mean) ** 2 for one in out.values()) / len(out)) ** 0.5
        out["balance"] = round(max(0.0, 1 - spread / mean), 6)
    return out
