"""Validating on real runs: what each pattern marks, how often that was a run that failed, and how early.

Long runs fail more often, and a longer run has more room for anything; so beside every lift stands the one
within runs of about equal length.

Where people labelled steps as a repetition of the one before, recall on these is measured too.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ethogram.app.analyze import analyze
from ethogram.cli.validate import DATA, digest
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.ingest import read_events
from ethogram.models import Detection, Event, rank
from ethogram.patterns.library import Library, load_patterns, select
from ethogram.risk.discrimination import rate

GOOD = frozenset(("success", "passed", "resolved"))
BAD = frozenset(("failure", "failed", "unresolved"))
ORDINARY = ("claude_code_spotter",)
"""Sets of everyday runs without labels: every one counts as good."""
SEVERITIES = ("any", "medium", "high")
"""What figures are given for: every detection, those at this severity or above, and at that."""
LABEL = "Repetition"
STUCK = ("loop", "repetitive_errors")


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


def folder_of(given: str, kind: str) -> Path:
    """The folder of data of a kind; BadUsage says how to name one."""
    named = os.environ.get(DATA, "")
    folder = Path(given) if given else Path(named) / kind
    if not (given or named):
        raise BadUsage(f"name the folder of data with --data, or set {DATA}")
    if given and not any(folder.glob("*.jsonl*")) and (folder / kind).is_dir():
        folder /= kind
    if not folder.is_dir() or not any(folder.glob("*.jsonl*")):
        raise BadUsage(f"{str(folder)!r:.200} has no files of {kind} (*.jsonl, *.jsonl.gz)")
    return folder


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


def records(found: Mapping[str, Any], files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """One record for each pattern and set, then one for the whole with the digest of the data."""
    for name, one in found["sets"].items():
        for pattern, figures in one["patterns"].items():
            for severity, marked in figures.items():
                about = {"record": "validated", "set": name, "pattern": pattern, "severity": severity}
                yield {**about, "runs": one["runs"], **marked}
        if "repetition" in one:
            yield {"record": "repetition", "set": name, **one["repetition"]}
    sizes = {
        name: {key: one[key] for key in ("runs", "failed", "succeeded", "false_alarms")}
        for name, one in found["sets"].items()
    }
    yield {
        "record": "validate_summary",
        "kind": "runs",
        "false_alarms": found["false_alarms"],
        "sets": sizes,
        "data": digest(files),
    }


def false_alarms(facts: Iterable[RunFacts], found: Sequence[tuple[str, Detection]]) -> dict[str, int]:
    """How many runs went well, and in how many of these something was found, by severity."""
    fine = {one.thread for one in facts if one.failed is False}
    alarms = {
        severity: len({thread for thread, _ in at_severity(found, severity)} & fine)
        for severity in SEVERITIES
    }
    return {"good_runs": len(fine), **alarms}


def all_alarms(sets: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The false alarms of several sets, added up."""
    every = [one["false_alarms"] for one in sets]
    return {key: sum(one[key] for one in every) for key in ("good_runs", *SEVERITIES)}


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
            pattern: {severity: marked(facts, at_severity(every, severity)) for severity in SEVERITIES}
            for pattern, every in sorted(by_pattern.items())
        },
    }
    if (recall := repetition_recall(events, [one for _, one in found])) is not None:
        figures["repetition"] = recall
    return figures, facts, found


def at_severity(found: Iterable[tuple[str, Detection]], severity: str) -> list[tuple[str, Detection]]:
    """The detections at this severity or above; all of them for `any`."""
    return [pair for pair in found if severity == "any" or rank(pair[1].severity) >= rank(severity)]


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
