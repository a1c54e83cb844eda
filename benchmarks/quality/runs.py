"""Validating on real runs: what each pattern marks, how often that was a run that failed, and how early.

Long runs fail more often, and a longer run has more room for anything; so beside every lift stands the one
within runs of about equal length.

Where people labelled steps, an alarm counts only if at least half of its steps are labelled, and beside the
number of such alarms stands that of alarms of the same lengths at random steps of the same runs. Recall of
steps labelled as a repetition of the one before is measured too.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ethogram.app.analyze import analyze
from ethogram.cli.backtest import DATA, digest
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
STUCK = ("loop", "malformed_output", "message_loop", "repetitive_errors")
DRAWS = 200
"""Times that alarms are put at random steps."""
MIDDLE = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run: whether it failed (None: not told), its steps, and the place of each event among them.

    `labelled` are the steps that people marked as wrong; None where nobody labelled steps of this run.
    """

    thread: str
    failed: bool | None
    steps: int
    places: Mapping[str, int]
    labelled: frozenset[int] | None = None


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
    stable = {item.name for item in select(names) if item.status == "stable"}
    record: dict[str, Any] = {}
    for file in set_files(data_dir, sets):
        name = set_name(file)
        figures, facts, found = validate_set(list(read_events([file]).events), library, settings, name)
        default = [item for item in found if item[1].pattern.partition(".")[0] in stable]
        record[name] = {**figures, "false_alarms": false_alarms(facts, default)}
    return {"false_alarms": all_alarms(record.values()), "sets": record}


def folder_of(text: str, kind: str) -> Path:
    """The folder of data of a kind; BadUsage says how to name one."""
    named = os.environ.get(DATA, "")
    folder = Path(text) if text else Path(named) / kind
    if not (text or named):
        raise BadUsage(f"name the folder of data with --data, or set {DATA}")
    if text and not any(folder.glob("*.jsonl*")) and (folder / kind).is_dir():
        folder /= kind
    if not folder.is_dir() or not any(folder.glob("*.jsonl*")):
        raise BadUsage(f"{str(folder)!r:.200} has no files of {kind} (*.jsonl, *.jsonl.gz)")
    return folder


def set_files(data_dir: str | Path, sets: Collection[str] = ()) -> list[Path]:
    """The files of a folder, or those of the sets named; BadUsage where there is no set of a name."""
    paths = sorted(Path(data_dir).glob("*.jsonl*"))
    known = [set_name(file) for file in paths]
    if missing := sorted(set(sets) - set(known)):
        raise BadUsage(f"there is no set {', '.join(missing)!r:.200}; there are {', '.join(known)}")
    return [file for file in paths if not sets or set_name(file) in sets]


def set_name(file: Path) -> str:
    """The name of the set in a file."""
    return file.name.partition(".")[0]


def records(record: Mapping[str, Any], files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """One record for each pattern and set, then one for the whole with the digest of the data."""
    for name, item in record["sets"].items():
        for pattern, figures in item["patterns"].items():
            for severity, marked in figures.items():
                about = {"record": "validated", "set": name, "pattern": pattern, "severity": severity}
                yield {**about, "runs": item["runs"], **marked}
        for pattern, figures in item["located"].items():
            yield {"record": "located", "set": name, "pattern": pattern, **figures}
        if "repetition" in item:
            yield {"record": "repetition", "set": name, **item["repetition"]}
    sizes = {
        name: {key: item[key] for key in ("runs", "failed", "succeeded", "false_alarms")}
        for name, item in record["sets"].items()
    }
    yield {
        "record": "validate_summary",
        "kind": "runs",
        "false_alarms": record["false_alarms"],
        "sets": sizes,
        "data": digest(files),
    }


def false_alarms(facts: Iterable[RunFacts], textses: Sequence[tuple[str, Detection]]) -> dict[str, int]:
    """How many runs went well, and in how many of these something was found, by severity."""
    fine = {fact.thread for fact in facts if fact.failed is False}
    alarms = {
        severity: len({thread for thread, _ in at_severity(textses, severity)} & fine)
        for severity in SEVERITIES
    }
    return {"good_runs": len(fine), **alarms}


def all_alarms(sets: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The false alarms of several sets, added up."""
    every = [item["false_alarms"] for item in sets]
    return {key: sum(item[key] for item in every) for key in ("good_runs", *SEVERITIES)}


def run_patterns() -> list[str]:
    """The library's patterns of runs, whatever their status."""
    return sorted(item.name for item in select() if Path(item.path).parent.name == "run")


def validate_set(
    events: Sequence[Event], library: Library, settings: Settings | None, name: str = ""
) -> tuple[dict[str, Any], list[RunFacts], list[tuple[str, Detection]]]:
    """The figures of each pattern on one set; the runs; and the detections with the run of each."""
    facts = run_facts(events, all_good=name in ORDINARY)
    thread_of = {event.id: event.thread for event in events}
    found = [
        (thread, detection)
        for detection in analyze(events, patterns=library, settings=settings).detections
        if (thread := thread_of.get(detection.first_event)) is not None
    ]
    by_pattern: dict[str, list[tuple[str, Detection]]] = defaultdict(list)
    for thread, item in found:
        by_pattern[item.pattern].append((thread, item))
    figures: dict[str, Any] = {
        "runs": len(facts),
        "failed": sum(fact.failed is True for fact in facts),
        "succeeded": sum(fact.failed is False for fact in facts),
        "patterns": {
            pattern: {severity: marked(facts, at_severity(every, severity)) for severity in SEVERITIES}
            for pattern, every in sorted(by_pattern.items())
        },
        "located": {
            pattern: located
            for pattern, every in sorted(by_pattern.items())
            if (located := locate(facts, every)) is not None
        },
    }
    if (recall := repetition_recall(events, [item for _, item in found])) is not None:
        figures["repetition"] = recall
    return figures, facts, found


def at_severity(textses: Iterable[tuple[str, Detection]], severity: str) -> list[tuple[str, Detection]]:
    """The detections at this severity or above; all of them for `any`."""
    return [pair for pair in textses if severity == "any" or rank(pair[1].severity) >= rank(severity)]


def run_facts(events: Iterable[Event], *, all_good: bool = False) -> list[RunFacts]:
    """The runs of a set, in the order they begin."""
    grouped: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.thread is not None:
            grouped[event.thread].append(event)
    return [_facts(thread, own, all_good) for thread, own in grouped.items()]


def _facts(thread: str, events: list[Event], all_good: bool) -> RunFacts:
    label = next((event.attributes["label"] for event in events if "label" in event.attributes), None)
    failed = True if label in BAD else False if label in GOOD or all_good else None
    counted = "action" if any(event.kind == "action" for event in events) else "message"
    places, steps = {}, 0
    for event in events:
        steps += event.kind == counted
        places[event.id] = steps
    return RunFacts(thread, failed, steps, places, _labelled_steps(events, places))


def _labelled_steps(events: Sequence[Event], places: Mapping[str, int]) -> frozenset[int] | None:
    """Steps with a mistake, an error, or a repetition, whose next step is one too; None without labels."""
    labels = [
        (places[event.id], label)
        for event in events
        for key in ("labels", "thought_labels")
        # The first event has what is said of the run as a whole, unless its own step is labelled.
        if isinstance(label := event.attributes.get(key), list | dict) and not _is_of_run(label)
    ]
    if not labels:
        return None
    steps: set[int] = set()
    for place, label in labels:
        if isinstance(label, list) or label.get("mistake") is True:
            steps.add(max(1, place))
        elif str(label.get("to_next")).strip() == LABEL:
            steps |= {place, place + 1}
    return frozenset(steps)


def _is_of_run(label: Any) -> bool:
    return isinstance(label, dict) and not {"to_next", "category", "mistake"} & label.keys()


def marked(facts: Sequence[RunFacts], textses: Iterable[tuple[str, Detection]]) -> dict[str, Any]:
    """How the runs that were marked went, against all runs and against runs of about equal length."""
    first: dict[str, int] = {}
    known = {fact.thread: fact for fact in facts}
    for thread, item in textses:
        place = known[thread].places.get(item.first_event, 0)
        first[thread] = min(place, first.get(thread, place))
    labelled = [fact for fact in facts if fact.failed is not None]
    hits = [item for item in labelled if item.thread in first]
    failed = sum(hit.failed is True for hit in hits)
    precision = rate([hit.failed is True for hit in hits], range(len(hits)))
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


def locate(facts: Iterable[RunFacts], detections: Iterable[tuple[str, Detection]]) -> dict[str, Any] | None:
    """How many alarms lie in labelled steps, beside alarms of the same lengths at random steps of these runs.

    None where there is no alarm in a run with labelled steps.
    """
    known = {fact.thread: fact for fact in facts if fact.labelled is not None}
    alarms: list[tuple[RunFacts, int, int]] = []
    for thread, item in detections:
        if (fact := known.get(thread)) is not None:
            first, last = (fact.places.get(event, 0) for event in (item.first_event, item.last_event))
            alarms.append((fact, max(1, first), max(1, first, last)))
    if not alarms:
        return None
    rng = random.Random(f"{len(alarms)}")
    hits = sorted(sum(_lies_in_labels(*_moved(rng, *alarm)) for alarm in alarms) for _ in range(DRAWS))
    return {
        "alarms": len(alarms),
        "right": sum(_lies_in_labels(*alarm) for alarm in alarms),
        "random": sum(hits) / DRAWS,
        "random_interval": [hits[min(DRAWS - 1, int(share * DRAWS))] for share in MIDDLE],
    }


def _moved(rng: random.Random, fact: RunFacts, first: int, last: int) -> tuple[RunFacts, int, int]:
    """The same alarm at a random place of its run."""
    start = rng.randint(1, max(1, fact.steps - (last - first)))
    return fact, start, start + last - first


def _lies_in_labels(fact: RunFacts, first: int, last: int) -> bool:
    """Whether at least half of these steps are labelled."""
    return 2 * sum(first <= step <= last for step in fact.labelled or ()) >= last - first + 1


def lift(runs: Sequence[RunFacts], hits: Sequence[RunFacts], parts: int) -> float | None:
    """Failures among the runs that were hit, over those to expect from runs in the same part by length.

    With one part that is the plain lift. None where nothing was hit or no failure is to be expected.
    """
    expected, seen = 0.0, 0
    chosen = {hit.thread for hit in hits}
    ordered = sorted(runs, key=lambda run: run.steps)
    for n in range(parts):
        part = ordered[n * len(ordered) // parts : (n + 1) * len(ordered) // parts]
        own = [item for item in part if item.thread in chosen]
        if own:
            expected += len(own) * sum(item.failed is True for item in part) / len(part)
            seen += sum(item.failed is True for item in own)
    return seen / expected if expected else None


def repetition_recall(events: Sequence[Event], detections: Iterable[Detection]) -> dict[str, Any] | None:
    """How many pairs of steps with that label lie in a detection; None where there are no such labels.

    Of all pairs, and of those whose calls are equal once white space, digits, hex and temporary names are
    taken out. A pair lies in a detection that reaches from its first step to its second, evidence included.
    """
    pairs = labelled_pairs(events)
    if not pairs:
        return None
    place = {event.id: n for n, event in enumerate(events)}
    spans = [_span(item, place) for item in detections if item.pattern in STUCK]
    in_all = [_is_inside(pair, spans, place) for pair in pairs]
    equal = [inside for pair, inside in zip(pairs, in_all, strict=True) if fixed(pair[0]) == fixed(pair[1])]
    return {"pairs": len(pairs), "found": sum(in_all), "equal_pairs": len(equal), "equal_found": sum(equal)}


def labelled_pairs(events: Iterable[Event]) -> list[tuple[Event, Event]]:
    """Neighbouring calls of a run of which the first says that the next one repeats it."""
    runs: dict[str | None, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind == "action":
            runs[event.thread].append(event)
    return [
        (item, other) for calls in runs.values() for item, other in pairwise(calls) if _label(item) == LABEL
    ]


def _label(event: Event) -> str | None:
    labels = event.attributes.get("labels")
    told = labels.get("to_next") if isinstance(labels, dict) else None
    return told.strip() if isinstance(told, str) else None


def fixed(event: Event) -> str:
    """A call without white space, digits, hex and temporary names: a yardstick of its own, not our keys."""
    text = json.dumps([event.attributes.get("tool"), event.attributes.get("arguments")], sort_keys=True)
    text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{7,}\b", "H", text.lower())
    return re.sub(r"\s+", "", re.sub(r"\d+", "N", re.sub(r"/tmp/[\w./-]+", "T", text)))


def _span(detection: Detection, place: dict[str, int]) -> tuple[int, int]:
    ids = (detection.first_event, detection.last_event, *(proof.event for proof in detection.evidence))
    known = [place[event] for event in ids if event in place]
    return min(known, default=0), max(known, default=-1)


def _is_inside(pair: tuple[Event, Event], spans: Iterable[tuple[int, int]], place: dict[str, int]) -> bool:
    # A step counts where its result is, which is the event after its call.
    start, end = place[pair[0].id] + 1, place[pair[1].id]
    return any(low <= start and end <= high for low, high in spans)
