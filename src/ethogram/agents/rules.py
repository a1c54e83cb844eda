"""The ladder: what is done about a thing that recurs, one rung at a time.

    nudge    a sentence for the agent: what repeats, how often, what has not been tried
    remind   the goal and the scope, in the person's words
    ask      the person is told, and asked before the agent does it again
    stop     the run ends; only where somebody put it on the ladder

Pure: what was given so far comes in and goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..models.constants import RUNGS
from ..models.slotted import dataclass

DEFAULT = ("nudge", "remind", "ask")
MOST_KEYS = 12


@dataclass(frozen=True, slots=True)
class Rules:
    """How the ladder is climbed. `off` are rungs, patterns and tools that somebody turned off.

    `cool_down` is how many steps lie between two rungs about one thing, `most` how many times a run is
    interrupted at all, and `lowest` the severity from which anything is said.
    """

    rungs: tuple[str, ...]
    cool_down: int
    most: int
    lowest: str
    off: tuple[str, ...]
    critical: str

    def has(self, name: str) -> bool:
        """Whether a rung, pattern or tool is on."""
        return name not in self.off

    @property
    def climbed(self) -> tuple[str, ...]:
        """The rungs that are on, from the lowest."""
        return tuple(rung for rung in RUNGS if rung in self.rungs and self.has(rung))


Given = dict[str, Any]
"""One thing that was spoken of: its cause, its keys (what it is known by), its rung (a place on the ladder),
the step at which that was taken, and how many times it was spoken of."""


def climb(
    givens: Sequence[Given], cause: str, keys: Sequence[str], step: int, rules: Rules
) -> tuple[list[Given], str | None]:
    """What has been given by now, and the rung to take at this step about a thing that goes on; or None.

    The same thing is the same cause with one of the same keys: two patterns may speak of one thing. It is
    spoken of again only after the cool-down, and then one rung higher; at the top nothing further is said.
    Nothing at all is said within half the cool-down of anything else.
    """
    rungs, givens, pause = rules.climbed, list(givens), (rules.cool_down + 1) // 2
    if not rungs or is_enough(givens, rules) or any(step - item["step"] < pause for item in givens):
        return givens, None
    # What was two things before may turn out to be one.
    same = [item for item in givens if is_same(item, cause, keys)]
    others = [item for item in givens if item not in same]
    rung = 1 + max((item["rung"] for item in same), default=-1)
    if rung >= len(rungs) or any(step - item["step"] < rules.cool_down for item in same):
        return givens, None
    known = [key for item in same for key in item["keys"]]
    times = 1 + sum(item["times"] for item in same)
    fromkey = list(dict.fromkeys([*keys, *known]))[:MOST_KEYS]
    return [*others, {"cause": cause, "keys": fromkey, "rung": rung, "step": step, "times": times}], rungs[
        rung
    ]


def is_enough(givens: Sequence[Given], rules: Rules) -> bool:
    """Whether a run has been interrupted as often as it may be."""
    return sum(int(item["times"]) for item in givens) >= rules.most


def is_same(item: Given, cause: str, keys: Sequence[str]) -> bool:
    """Whether a thing is the one that was spoken of; without keys on either side the cause alone decides."""
    if item["cause"] != cause:
        return False
    return not keys or not item["keys"] or not set(keys).isdisjoint(item["keys"])


def with_tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data with tuples instead of lists, as records have them."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
