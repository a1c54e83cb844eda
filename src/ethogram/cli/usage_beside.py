"""What stands beside the signals of a person: the service's helpline, and scores of what was said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .inputs import load_config

if TYPE_CHECKING:
    from ..usage import Fused, Helpline, UsageSignals


def helpline_for(region: str, config: str) -> Helpline | None:
    """The words that the settings have for a region, or for where people are by default."""
    from ..usage import helpline

    usage = load_config(config).settings.usage
    return helpline(usage["helplines"], region or usage["region"])


def fused_with(
    scores: Sequence[str], crisis: float | None, config: str
) -> Callable[[UsageSignals], Fused] | None:
    """Puts the signals of a person together with scores such as `text=0.4`; None where none is given.

    A bad score is told before anybody is looked at.
    """
    from ..usage import fuse

    if not scores and crisis is None:
        return None
    given, weights = parse_scores(scores), load_config(config).settings.usage["weights"]
    fuse(given, weights=weights, explicit_crisis=crisis)
    return lambda found: fuse(
        {**given, "behaviour": found.for_fusion}, weights=weights, explicit_crisis=crisis
    )


def parse_scores(scores: Sequence[str]) -> dict[str, float]:
    """Scores by name, from texts such as `text=0.4`.

    >>> parse_scores(["text=0.4", "voice=1"])
    {'text': 0.4, 'voice': 1.0}
    """
    from ..errors import BadUsage

    found: dict[str, float] = {}
    for one in scores:
        name, _, number = one.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise BadUsage(f"--score {one!r:.60} is no score; write it like text=0.4") from None
    if "behaviour" in found:
        raise BadUsage("--score behaviour is what is worked out here; give the others")
    return found
