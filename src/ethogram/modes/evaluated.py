"""Evaluated: what an evaluator said of messages, what it cost, and the readings that come of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..config import Settings
from ..errors import EvaluatorStopped
from ..evaluators.dimensions import DIMENSIONS, dimensions
from ..evaluators.protocol import Answer, Evaluation, NotMeasured, Question, Usage
from ..library.vocabulary import indicator_catalogue
from ..records import TRAITS, Event, is_indicator_name
from ..scanner.records import TIERS
from .asking import INTERRUPTED, OVER_BUDGET
from .scanning import Scanned

Key = tuple[str, str]
"""Source and id of an event."""


@dataclass(slots=True)
class Evaluated:
    """What came of an evaluation. `missing` are messages that could not be scored, with the reason.

    `unasked` counts those that were not asked about since it was `stopped` before.
    """

    evaluator: str
    scorer: str
    scanned: Scanned = field(default_factory=Scanned)
    answers: dict[Key, Evaluation] = field(default_factory=dict)
    tiers: dict[Key, str] = field(default_factory=dict)
    missing: dict[Key, NotMeasured] = field(default_factory=dict)
    kept: set[Key] = field(default_factory=set)
    cost: Counter[str] = field(default_factory=Counter)
    usage: dict[str, Usage] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    unpriced: bool = False
    unasked: int = 0
    in_jobs: int = 0
    """Of those, how many are in a batch that goes on and will be billed."""
    stopped: str = ""
    untrusted: int = 0
    """Kept answers that were not believed, since this user's key did not make their tag."""

    def take(self, question: Question, answer: Answer, *, kept: bool = False) -> None:
        """One question more is done with."""
        key, tier = (question.source, question.id), question.tier
        # One that was sampled is looked at like a focused one.
        tier = "focused" if tier == "standard" else tier
        self.tiers[key] = tier
        cost = answer.cost if isinstance(answer, Evaluation) else answer.spent
        self.unpriced |= cost is None
        self.cost[tier] += cost or 0.0  # type: ignore[assignment]
        self.usage[tier] = self.usage.get(tier, Usage()) + answer.usage
        if kept:
            self.kept.add(key)
        if isinstance(answer, NotMeasured):
            self.missing[key] = answer
        else:
            self.answers[key] = answer
            self.dropped.update(answer.dropped)

    @property
    def spent(self) -> float:
        """Dollars, for this run."""
        return float(sum(self.cost.values()))

    def readings_of(self, event: Event) -> Event:
        """The event with what it was scored, instead of readings that came with it."""
        answer = self.answers.get((event.source, event.id))
        return event if answer is None else scored(event, answer)

    def must_not_have_stopped(self) -> None:
        """Raise what stopped it, an interrupt or the evaluator itself; a used up budget is no fault."""
        if self.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        if self.stopped and self.stopped != OVER_BUDGET:
            raise EvaluatorStopped(self.stopped)

    def must_have_scored(self) -> None:
        """Raise where somebody was asked and not a single answer could be used."""
        if not self.answers and any(not one.final for one in self.missing.values()):
            reason, _ = Counter(one.reason for one in self.missing.values()).most_common(1)[0]
            raise EvaluatorStopped(f"nothing could be scored: {reason}")

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON."""
        asked = Counter(self.tiers.values())
        measured = Counter(name for one in self.answers.values() for name in one.traits)
        return {
            "record": "evaluate_summary",
            "evaluator": self.evaluator,
            "scorer": self.scorer,
            "messages": self.scanned.messages,
            "evaluated": len(self.answers),
            "share": round(len(self.answers) / max(1, self.scanned.messages), 6),
            "kept_before": len(self.kept),
            "untrusted": self.untrusted,
            "not_measured": len(self.missing),
            "reasons": dict(Counter(one.reason for one in self.missing.values()).most_common()),
            "not_asked": self.unasked,
            "in_batches": self.in_jobs,
            "stopped": self.stopped or None,
            "spent": None if self.unpriced else round(self.spent, 6),
            "traits": {name: measured[name] for name in TRAITS if measured[name]},
            "not_measured_traits": [name for name in TRAITS if not measured[name]],
            "indicators": sum(len(one.indicators) for one in self.answers.values()),
            "dropped": dict(self.dropped.most_common()),
            "tiers": [
                {
                    "tier": tier,
                    "messages": asked[tier],
                    "cost": None if self.unpriced else round(self.cost[tier], 6),
                    "usage": asdict(self.usage.get(tier, Usage())),
                }
                for tier in TIERS[1:]
            ],
            "copies": self.scanned.copies,
            "unknown_language": self.scanned.unknown_language,
        }


def scored(event: Event, answer: Evaluation) -> Event:
    """An event with the readings of an answer; what else scored its traits and indicators is left out."""
    new: dict[str, float] = {**answer.traits, **dimensions(answer.traits)}
    new |= {one.id: one.confidence for one in answer.indicators}
    old = {name: value for name, value in event.readings.items() if not is_scored(name)}
    return replace(
        event,
        readings={**old, **new},
        scorers={
            **{n: by for n, by in event.scorers.items() if n in old},
            **dict.fromkeys(new, answer.scorer),
        },
        widths={**{n: by for n, by in event.widths.items() if n in old}, **dict.fromkeys(new, answer.width)},
    )


def is_scored(name: str) -> bool:
    """Whether a reading is one that evaluators make."""
    return name in _OURS or is_indicator_name(name)


_OURS = frozenset((*TRAITS, *DIMENSIONS, "balance"))


def settings_for(settings: Settings, scorer: str) -> Settings:
    """The settings with the readings of this scorer counting, wherever they do not say whose do."""
    names = (*TRAITS, *DIMENSIONS, "balance", *indicator_catalogue())
    return replace(settings, scorers={**dict.fromkeys(names, scorer), **settings.scorers})
