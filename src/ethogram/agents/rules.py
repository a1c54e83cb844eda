"""Rules of the interventions in a run."""

from __future__ import annotations

from ..models.constants import RUNGS
from ..models.slotted import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """When to intervene. `off` are rungs, patterns and tools that are turned off.

    `cool_down` is the number of steps between two messages about one thing, `most` the number of
    interruptions of a run, and `lowest` the lowest severity that is mentioned.
    """

    rungs: tuple[str, ...]
    cool_down: int
    most: int
    lowest: str
    off: tuple[str, ...]
    critical: str

    def has(self, name: str) -> bool:
        """Return whether a rung, pattern or tool is on."""
        return name not in self.off

    @property
    def active_rungs(self) -> tuple[str, ...]:
        """The rungs that are on, mildest first."""
        return tuple(rung for rung in RUNGS if rung in self.rungs and self.has(rung))
