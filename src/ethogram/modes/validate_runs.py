"""Validating on real runs: what each pattern marks, how often that was a run that failed, and how early.

Long runs fail more often, and a longer run has more room for anything; so beside every lift stands the one
within runs of about equal length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ..config import Settings
from ..errors import BadUsage
from ..ingest import read_events
from ..library.load import Library, load_patterns
from ..library.select import select
from ..records import Detection, Event, rank
from ..risk.score import rate
from .analyze import analyze
from .validate_repetition import repetition_recall

GOOD = frozenset(("success", "passed", "resolved"))
BAD = frozenset(("failure", "failed", "unresolved"))
ORDINARY = ("claude_code_spotter",)
"""Sets of everyday runs without labels: every one counts as good."""
LEVELS = ("any", "medium", "high")
"""What figures are given for: every detection, those at this level or above, and at that."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run: whether it failed (None: not told), its steps, and the place of each event among them."""

    thread: str
    failed: bool | None
    steps: int
    places: Mapping[str, int]


def validate_runs(
    data_dir: str | Path,
    patterns: Sequence[str] | None = None,
    settings: Settings | None = None,
    sets: Collection[str] = (),
) -> dict[str, Any]:
    """What patterns (default: those of runs) say about the runs in a folder, as plain data.

    Every file is a set; `sets` names those to look at, where not all. `false_alarms` counts runs that
    succeeded, or are everyday work, in which a pattern that is on by default fired, in all and for each set;
    `sets` has the figures of each pattern on each set.
    """
    names = list(patterns) if patterns else run_patterns()
    library = load_patterns(names)
    stable = {one.name for one in select(names) if one.status == "stable"}
    told: dict[str, Any] = {}
    for file in set_files(data_dir, sets):
        name = set_name(file)
        figures, facts, found = validate_set(list(read_events([file]).events), library, settings, name)
        default = [one for one in found if one[1].pattern.partition(".")[0] in stable]
        told[name] = {**figures, "false_alarms": false_alarms(facts, default)}
    return {"false_alarms": all_alarms(told.values()), "sets": told}


def set_files(data_dir: str | Path, sets: Collection[str] = ()) -> list[Path]:
    """The files of a folder, or those of the sets named; BadUsage where there is no set of a name."""
    found = sorted(Path(data_dir).glob("*.jsonl*"))
    known = [set_name(file) for file in found]
    if missing := sorted(set(sets) - set(known)):
        raise BadUsage(f"there is no set {', '.join(missing)!r:.200}; there are {', '.join(known)}")
    return [file for file in found if not sets or set_name(file) in sets]


def set_name(file: Path) -> str:
    """The name of the set in a file."""
    return file.name.partition(".")[0]


def false_alarms(facts: Iterable[RunFacts], found: Sequence[tuple[str, Detection]]) -> dict[str, int]:
    """How many runs went well, and in how many of these something was found, by level."""
    fine = {one.thread for one in facts if one.failed is False}
    alarms = {level: len({thread for thread, _ in at_level(found, level)} & fine) for level in LEVELS}
    return {"good_runs": len(fine), **alarms}


def all_alarms(sets: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The false alarms of several sets, added up."""
    every = [one["false_alarms"] for one in sets]
    return {key: sum(one[key] for one in every) for key in ("good_runs", *LEVELS)}


def run_patterns() -> list[str]:
    """The library's patterns of runs, whatever their status."""
    return sorted(one.name for one in select() if Path(one.path).parent.name == "run")


def validate_set(
    events: Sequence[Event], library: Library, settings: Settings | None, name: str = ""
) -> tuple[dict[str, Any], list[RunFacts], list[tuple[str, Detection]]]:
    """The figures of each pattern on one set; the runs; and the detections with the run of each."""
    facts = run_facts(events, all_good=name in ORDINARY)
    thread_of = {event.id: event.thread for event in events}
    found = [
        (thread, one)
        for one in analyze(events, patterns=library, settings=settings).detections
        if (thread := thread_of.get(one.first_event)) is not None
    ]
    by_pattern: dict[str, list[tuple[str, Detection]]] = defaultdict(list)
    for thread, one in found:
        by_pattern[one.pattern].append((thread, one))
    figures: dict[str, Any] = {
        "runs": len(facts),
        "failed": sum(one.failed is True for one in facts),
        "succeeded": sum(one.failed is False for one in facts),
        "patterns": {
            pattern: {level: marked(facts, at_level(every, level)) for level in LEVELS}
            for pattern, every in sorted(by_pattern.items())
        },
    }
    if (recall := repetition_recall(events, [one for _, one in found])) is not None:
        figures["repetition"] = recall
    return figures, facts, found


def at_level(found: Iterable[tuple[str, Detection]], level: str) -> list[tuple[str, Detection]]:
    """The detections at this level or above; all of them for `any`."""
    return [pair for pair in found if level == "any" or rank(pair[1].level) >= rank(level)]


def run_facts(events: Iterable[Event], *, all_good: bool = False) -> list[RunFacts]:
    """The runs of a set, in the order they begin."""
    grouped: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.thread is not None:
            grouped[event.thread].append(event)
    return [_facts(thread, own, all_good) for thread, own in grouped.items()]


def _facts(thread: str, events: list[Event], all_good: bool) -> RunFacts:
    label = next((one.attributes["label"] for one in events if "label" in one.attributes), None)
    failed = True if label in BAD else False if label in GOOD or all_good else None
    counted = "action" if any(one.kind == "action" for one in events) else "message"
    places, steps = {}, 0
    for event in events:
        steps += event.kind == counted
        places[event.id] = steps
    return RunFacts(thread, failed, steps, places)


def marked(facts: Sequence[RunFacts], found: Iterable[tuple[str, Detection]]) -> dict[str, Any]:
    """How the runs that were marked went, against all runs and against runs of about equal length."""
    first: dict[str, int] = {}
    known = {one.thread: one for one in facts}
    for thread, one in found:
        place = known[thread].places.get(one.first_event, 0)
        first[thread] = min(place, first.get(thread, place))
    labelled = [one for one in facts if one.failed is not None]
    hits = [one for one in labelled if one.thread in first]
    failed = sum(one.failed is True for one in hits)
    precision = rate([one.failed is True for one in hits], range(len(hits)))
    return {
        "marked": len(first),
        "failed_marked": failed,
        "good_marked": len(hits) - failed,
        "precision": precision.value,
        "precision_interval": precision.interval if hits else None,
        "lift": lift(labelled, hits, 1),
        "lift_equal_length": lift(labelled, hits, 3),
        "horizon": median(known[thread].steps - place for thread, place in first.items()) if first else None,
    }


def lift(runs: Sequence[RunFacts], hits: Sequence[RunFacts], parts: int) -> float | None:
    """Failures among the runs that were hit, over those to expect from runs in the same part by length.

    With one part that is the plain lift. None where nothing was hit or no failure is to be expected.
    """
    expected, seen = 0.0, 0
    chosen = {one.thread for one in hits}
    ordered = sorted(runs, key=lambda one: one.steps)
    for n in range(parts):
        part = ordered[n * len(ordered) // parts : (n + 1) * len(ordered) // parts]
        own = [one for one in part if one.thread in chosen]
        if own:
            expected += len(own) * sum(one.failed is True for one in part) / len(part)
            seen += sum(one.failed is True for one in own)
    return seen / expected if expected else None
