"""Effects: what a hook said, what came of it, and how often it helped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

from ..records.times import format_time
from ..risk.intervals import wilson
from .ladder import RUNGS

EFFECTS = ("stopped", "went_on", "allowed", "declined", "ended", "open")


@dataclass(frozen=True, slots=True)
class Effect:
    """What came of all that was said about one pattern on one rung.

    stopped: it did not come again within five steps. went_on: it came again. ended: the session was over
    before that. open: nothing is known yet. The share counts the first two alone.
    """

    pattern: str
    rung: str
    given: int
    counts: Mapping[str, int]
    steps: tuple[int, ...]
    returns: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        settled = self.counts["stopped"] + self.counts["went_on"]
        low, high = wilson(self.counts["stopped"], settled) if settled else (None, None)
        return {
            "pattern": self.pattern,
            "rung": self.rung,
            "given": self.given,
            **{name: self.counts[name] for name in EFFECTS},
            "share_stopped": round(self.counts["stopped"] / settled, 4) if settled else None,
            "low": None if low is None else round(low, 4),
            "high": None if high is None else round(high, 4),
            "median_steps_to_stop": median(self.steps) if self.steps else None,
            "median_steps_to_return": median(self.returns) if self.returns else None,
        }


def effects(said: Sequence[Mapping[str, Any]]) -> list[Effect]:
    """The effects of what was said, by pattern and rung from the mildest."""
    until = steps_until(said)
    rows: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(said):
        rows.setdefault((one["pattern"], one["rung"]), []).append(place)
    ordered = sorted(rows, key=lambda key: (key[0], RUNGS.index(key[1]) if key[1] in RUNGS else 9, key[1]))
    return [_effect(key, rows[key], said, until) for key in ordered]


def _effect(
    key: tuple[str, str], places: Iterable[int], said: Sequence[Mapping[str, Any]], until: Mapping[int, int]
) -> Effect:
    own = list(places)
    known = [said[place]["effect"] for place in own]
    counts = {name: known.count(name) for name in EFFECTS}
    steps = tuple(until[place] for place in own if place in until)
    returns = (said[place]["after"] for place in own if said[place]["effect"] == "went_on")
    return Effect(*key, len(own), counts, steps, tuple(one for one in returns if one is not None))


def steps_until(said: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """For each place where something stopped, the steps since the agent was first spoken to about it.

    What is said of one pattern to one agent counts as one thing until it stops; 0 is: stopped at once.

    >>> told = {"session": "s", "agent": "agent", "pattern": "p"}
    >>> steps_until([{**told, "step": 10, "effect": "went_on"}, {**told, "step": 16, "effect": "stopped"}])
    {1: 6}
    """
    first: dict[tuple[str, str, str], int] = {}
    found = {}
    for place, one in enumerate(said):
        key = (one["session"], one["agent"], one["pattern"])
        begun = first.setdefault(key, one["step"])
        if one["effect"] == "stopped":
            found[place] = one["step"] - begun
        if one["effect"] in ("stopped", "ended"):
            del first[key]
    return found


def chosen(
    said: Iterable[Mapping[str, Any]], session: str = "", since: float | None = None
) -> list[Mapping[str, Any]]:
    """What was said in a session, and from a moment on (that moment included)."""
    return [
        one
        for one in said
        if (not session or one["session"] == session) and (since is None or one["at"] >= since)
    ]


def said_record(one: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON form of one intervention."""
    names = ("session", "agent", "step", "pattern", "level", "rung", "text", "effect")
    facts = {name: one[name] for name in names}
    return {"record": "hook_said", "at": moment(one["at"]), **facts, "effect_after_steps": one["after"]}


def moment(at: float) -> str:
    """A time of the state file as records tell it, in whole seconds."""
    return format_time(datetime.fromtimestamp(int(at), UTC))


def report_record(said: Sequence[Mapping[str, Any]], runs: int) -> dict[str, Any]:
    """The JSON form of all effects."""
    return {
        "record": "hook_report",
        "runs": runs,
        "given": len(said),
        "effects": [one.to_dict() for one in effects(said)],
    }
