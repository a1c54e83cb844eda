"""The comparison with the plain runner notices every one of these faults in the live one.

For each fault one case is named that catches it, so that this runs in seconds. To find another case after a
change: `python tests/engine/test_seeded_faults_stream.py`.
"""

from __future__ import annotations

import importlib
import random
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from ethogram.language.ast import (
    Compare,
    Events,
    Measure,
    Number,
    Pattern,
    Sequence,
    Signal,
    Step,
    StepCount,
    Threshold,
    Window,
)
from ethogram.models import Event
from faults import Fault, seeded
from strategies import KINDS, MEASURES, START, Case, random_case

ANEW = (
    "ethogram.engine.live",
    "ethogram.engine.aggregates",
    *(f"ethogram.engine.{name}" for name in ("live_detections", "combination", "contagion", "detections")),
    *(f"ethogram.app.{name}" for name in ("watch", "intake", "subject")),
    "live_cases",
)

FAULTS: dict[str, tuple[Fault, str, int]] = {
    name: (Fault(f"ethogram.{module}", text, replacement), kind, seed)
    for name, (module, text, replacement, kind, seed) in {
        "within one event too long": (
            "engine.live.sequence",
            "self.within.holds(at - first.position + 1,",
            "self.within.holds(at - first.position,",
            "sequence",
            195,
        ),
        "max_gap one too few": (
            "engine.live.sequence",
            "at - start.position - 1 > max_gap) or (",
            "at - start.position > max_gap) or (",
            "sequence",
            1,
        ),
        "also reaches the step before": (
            "engine.live.sequence",
            "item.position > floor])",
            "item.position >= floor - 1])",
            "sequence",
            22,
        ),
        "a limit in events is exclusive": (
            "engine.live.sequence",
            "and events > self.events:",
            "and events >= self.events:",
            "sequence",
            1,
        ),
        "a duration is exclusive": (
            "engine.live.sequence",
            "or us <= self.us or",
            "or us < self.us or",
            "sequence",
            40,
        ),
        "a never is never forgotten": (
            "engine.live.sequence",
            "state.blocked[i + 1] = False",
            "pass",
            "sequence",
            1,
        ),
        "a never is not heeded": (
            "engine.live.sequence",
            "if not state.blocked[i] and self.conditions",
            "if self.conditions",
            "sequence",
            168,
        ),
        "optional steps outlive their gap": (
            "engine.live.sequence",
            "state.fills[i] = unfilled(len(self.optionals[i]))",
            "pass",
            "sequence",
            7,
        ),
        "an optional step takes the earliest": (
            "engine.live.sequence",
            "if ask(rows, self.plan.nothing, self.plan.none):",
            "if old[j][j] is None and ask(rows, self.plan.nothing, self.plan.none):",
            "optional",
            0,
        ),
        "optional steps share an event": (
            "engine.live.sequence",
            "(*(old[j - 1] if j else ())",
            "(*(fills[j - 1] if j else ())",
            "optional",
            0,
        ),
        "chains outlive a firing": (
            "engine.live.sequence",
            "state.standing = [None] * len(state.standing)",
            "state.fired = -1",
            "sequence",
            0,
        ),
        "a step keeps its first capture": (
            "engine.live.sequence",
            "(*behind[:step], captured,",
            "(*behind[:step], behind[step] or captured,",
            "sequence",
            0,
        ),
        "also outside the limits": (
            "engine.live.sequence",
            "for item in link.also if self._inside(item, fired, rows.timed)]",
            "for item in link.also]",
            "sequence",
            88,
        ),
        "also out of reach": (
            "engine.live.sequence",
            "            run = ()\n",
            "            pass\n",
            "sequence",
            40,
        ),
        "places move in the wrong order": (
            "engine.live.sequence",
            "range(self.last, 0, -1)",
            "range(1, self.last + 1)",
            "sequence",
            0,
        ),
        "the earliest of equal peaks": (
            "engine.live.threshold",
            "confidence < now.peak_confidence",
            "confidence <= now.peak_confidence",
            "threshold",
            2,
        ),
        "events of an episode not counted": (
            "engine.live.threshold",
            "now.count += 1",
            "pass",
            "threshold",
            1,
        ),
        "opens where it clears": (
            "engine.live.threshold",
            "if self.clears is None or not self.clears(rows, nothing, none):",
            "if True:",
            "threshold",
            2,
        ),
        "the highest confidence is forgotten": (
            "engine.live.threshold",
            "max(now.confidence, confidence)",
            "confidence",
            "threshold",
            10,
        ),
        "the opening event counts itself": (
            "engine.live.threshold",
            "if mark.order < limit}",
            "if mark.order <= limit}",
            "threshold",
            0,
        ),
        "the first of equally frequent values": (
            "engine.aggregates",
            "most = st.top(values)",
            "most = st.top(values[::-1])",
            "threshold",
            69,
        ),
        "a silence needs one event more": (
            "engine.live.silence",
            "rows.n < self.body.at_least",
            "rows.n <= self.body.at_least",
            "silence",
            3,
        ),
        "a deadline that was moved": (
            "engine.live.engine",
            "            if state.deadline >= us:\n",
            "            if state.deadline >= us + 10**15:\n",
            "silence",
            13,
        ),
        "the cap is ignored": (
            "engine.live.buffer",
            "        start = max(0, rows_now - cap)\n        end = rows_now - skip",
            "        start = 0\n        end = rows_now - skip",
            "threshold",
            2,
        ),
        "a duration includes its start": (
            "engine.live.buffer",
            "bisect_right(times, now - duration, 0, end)",
            "bisect_right(times, now - duration - 1, 0, end)",
            "threshold",
            9,
        ),
        "rows under skip are not kept": (
            "engine.live.buffer",
            "(window.skip.n if window.skip is not None else 0)",
            "0",
            "skip",
            1,
        ),
        "since includes its event": (
            "engine.live.buffer",
            "(end - seen.index(True) if",
            "(end - seen.index(True) - 1 if",
            "threshold",
            3,
        ),
        "keep has one too few": (
            "engine.live.buffer",
            "kept = kept[-most:] if most else []",
            "kept = kept[-most + 1 :] if most else []",
            "threshold",
            41,
        ),
        "keep forgets to skip": (
            "engine.live.buffer",
            "if item.position < rows.n - skip]",
            "if item.position <= rows.n - skip]",
            "threshold",
            24,
        ),
        "gap since the first event": (
            "engine.live.layout",
            "S.gap = (us - S.us) / 1e6",
            "S.gap = (us - S.first) / 1e6",
            "threshold",
            20,
        ),
        "nevers are not loaded": (
            "engine.live.state",
            "            standing, state.blocked, runs, fills, state.fired, state.known = data",
            "            standing, _, runs, fills, state.fired, state.known = data",
            "sequence",
            1,
        ),
        "further evidence is not loaded": (
            "engine.live.state",
            "state.runs = [unpacker.seens(run) for run in runs]",
            "pass",
            "sequence",
            0,
        ),
        "fillings are not loaded": (
            "engine.live.state",
            "state.fills = [[_fill(fill, unpacker) for fill in gap] for gap in fills]",
            "pass",
            "sequence",
            47,
        ),
        "one kept value is not loaded": (
            "engine.live.state",
            "for p, t, value, m in ones] for ones in kept]",
            "for p, t, value, m in ones[1:]] for ones in kept]",
            "threshold",
            1,
        ),
        "the first time is not loaded": (
            "engine.live.state",
            "rows.times = n, us, first, list(times)",
            "rows.times = n, us, us, list(times)",
            "threshold",
            0,
        ),
        "the height of the peak is not loaded": (
            "engine.live.state",
            "                    at_peak,\n                    details,",
            "                    0.0,\n                    details,",
            "threshold",
            1,
        ),
        "an open silence is loaded closed": (
            "engine.live.state",
            "            before, state.deadline, state.is_open, read, state.asked, state.known = data",
            "            before, state.deadline, _, read, state.asked, state.known = data",
            "silence",
            3,
        ),
        "in_order takes equal times": (
            "engine.combination",
            "detection.detected_at > joined.now:",
            "detection.detected_at >= joined.now:",
            "combination",
            24,
        ),
        "all_of fires twice": (
            "engine.combination",
            "        joined.newest = {}\n",
            "        pass\n",
            "combination",
            3,
        ),
        "overlap forgets who has ended": (
            "engine.live_detections",
            "            item.close(closed)\n        if",
            "            pass\n        if",
            "combination",
            11,
        ),
        "spread misses a meeting at once": (
            "engine.contagion",
            "if other is None or us < self.us or",
            "if other is None or us <= self.us or",
            "spread",
            4,
        ),
        "combinations do not wait for their time": (
            "engine.live_detections",
            "        if source.queue and source.queue[0][0] < us:\n",
            "        us += 1\n        if source.queue:\n",
            "combination",
            5,
        ),
        "bits are not moved on": (
            "engine.live.prefilter",
            "(r << 1 | {starts}) & m",
            "(r | {starts}) & m",
            "contiguous",
            0,
        ),
        "bits outlive a firing": (
            "engine.live.engine",
            "kind.clear(cell, number)",
            "pass",
            "contiguous",
            0,
        ),
        "bits are not loaded": (
            "engine.live.groups",
            "cell[self.register] |= bits_of(watched.state, rows) << self.shift[number]",
            "pass",
            "contiguous",
            0,
        ),
        "marks of a chain are not loaded": (
            "engine.live.groups",
            "cell[group.marks] = max(cell[group.marks], marks_of(watched.state, rows), key=len)",
            "pass",
            "contiguous",
            0,
        ),
        "what has left a window still counts": (
            "engine.live.rolling",
            "for line in item.leave(k)]",
            "for line in ['pass']]",
            "threshold",
            68,
        ),
        "an open threshold sleeps": (
            "engine.live.engine",
            "sleeps = state.known and state.open is None",
            "sleeps = state.known",
            "threshold",
            0,
        ),
        "a chain that waits sleeps": (
            "engine.live.engine",
            "not any(state.standing))",
            "True)",
            "waiting",
            0,
        ),
        "an indicator that was not found is absent": (
            "engine.live.prefilter",
            "lacking = Number(0.0) if self.evaluated else ABSENT",
            "lacking = ABSENT",
            "threshold",
            0,
        ),
        "or_else forgets its default": (
            "engine.live.prefilter",
            "return self.reduce(expr.default)",
            "return ABSENT",
            "top_count",
            2,
        ),
        "near ties are not looked at": (
            "engine.live.prefilter",
            'higher = f"{a} > {b + TOLERANCE!r}',
            'higher = f"{a} > {b + 0.05!r}',
            "sequence",
            3,
        ),
        "a deadline is a moment early": (
            "engine.live.silence",
            "max(0, round(seconds * 1e6))",
            "max(0, round(seconds * 1e6) - 1)",
            "silence",
            3,
        ),
    }.items()
}


def outcome(case: Case, seed: int) -> Any:
    """What the live runner says: of the whole stream, of one cut in three places, of one that is ticked."""
    live = importlib.import_module("live_cases")
    count = len(case.events)
    cuts = random.Random(seed).sample(range(count + 1), min(3, count))
    try:
        return [live.live_rows(case), live.live_rows(case, cuts=cuts), live.live_rows(case, ticks=True)]
    except Exception as error:
        return repr(error)


def optional_case() -> Case:
    """Two optional steps in a row, with three events that meet both between the steps around them."""
    met = Compare(">", Signal("y"), Number(0.5))
    steps = (
        Step("first", Compare(">", Signal("x"), Number(0.5))),
        Step("one", met, optional=True),
        Step("two", met, optional=True),
        Step("last", Compare("<", Signal("x"), Number(0.1))),
    )
    pattern = Pattern("filled", Sequence(steps), confidence=StepCount("one"))
    values = [(0.9, 0.0), (0.3, 0.9), (0.3, 0.8), (0.3, 0.7), (0.3, 0.0), (0.0, 0.9)]
    events = tuple(
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings={"x": x, "y": y})
        for k, (x, y) in enumerate(values)
    )
    return Case((pattern,), events, kind="sequence")


def skip_case() -> Case:
    """A threshold over the two events before the last four."""
    mean = Measure("mean", Signal("x"), Window(skip=Events(4), last=(Events(2),)))
    pattern = Pattern("skipping", Threshold(Compare(">", mean, Number(0.5))), confidence=mean)
    events = tuple(
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings={"x": x})
        for k, x in enumerate((0.1, 0.9, 0.8, 0.2, 0.1, 0.9, 0.9, 0.7, 0.1, 0.3, 0.9, 0.2))
    )
    return Case((pattern,), events, kind="threshold")


def contiguous_case() -> Case:
    """Two high events and a low one, one behind the other; a fourth step would need the same events again."""
    high, low = Compare(">", Signal("x"), Number(0.5)), Compare("<", Signal("x"), Number(0.2))
    rows = Sequence((Step("high", high, times=2), Step("low", low)), max_gap=0)
    overlapping = Sequence((Step("one", high, times=2),), max_gap=0)
    patterns = (
        Pattern("high_then_low", rows, confidence=Number(1.0)),
        Pattern("twice", overlapping, confidence=Number(0.5)),
    )
    values = (0.9, 0.8, 0.3, 0.1, 0.9, 0.7, 0.1, 0.6, 0.9, 0.8, 0.7, 0.1, 0.1)
    events = tuple(
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings={"x": x})
        for k, x in enumerate(values)
    )
    return Case(patterns, events, kind="sequence")


def waiting_case() -> Case:
    """A high event, then a low one with others between them, twice."""
    high, low = Compare(">", Signal("x"), Number(0.5)), Compare("<", Signal("x"), Number(0.2))
    pattern = Pattern(
        "high_then_low", Sequence((Step("high", high), Step("low", low))), confidence=Number(1.0)
    )
    events = tuple(
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings={"x": x})
        for k, x in enumerate((0.3, 0.9, 0.3, 0.3, 0.1, 0.4, 0.8, 0.3, 0.1))
    )
    return Case((pattern,), events, kind="sequence")


def make(kind: str, seed: int) -> Case:
    crafted = {
        "optional": optional_case,
        "skip": skip_case,
        "contiguous": contiguous_case,
        "waiting": waiting_case,
    }
    if kind in crafted:
        return crafted[kind]()
    return random_case(seed, kind) if kind in KINDS else random_case(seed, measure=kind)


def expected(case: Case) -> Any:
    rows = importlib.import_module("live_cases").plain_rows(case)
    return [rows, rows, rows]


def is_caught(fault: Fault, case: Case, seed: int, right: Any) -> bool:
    with seeded(fault, ANEW):
        return bool(outcome(case, seed) != right)


@pytest.mark.parametrize("name", FAULTS)
def test_a_seeded_fault_is_noticed(name: str):
    fault, kind, seed = FAULTS[name]
    case = make(kind, seed)
    right = expected(case)
    assert outcome(case, seed) == right
    assert is_caught(fault, case, seed, right)


def test_there_are_thirty_of_them():
    assert len(FAULTS) >= 30


def search(fault: Fault) -> tuple[str, int] | None:
    """A case that catches a fault, the kinds of shape before the measures."""
    kinds = [(kind, seed) for seed in range(80) for kind in KINDS]
    measures = [(measure, seed) for seed in range(12) for measure in MEASURES]
    with seeded(fault, ANEW):
        for kind, seed in kinds + measures:
            case = make(kind, seed)
            if outcome(case, seed) != expected(case):
                return kind, seed
    return None


if __name__ == "__main__":
    for name, (fault, kind, seed) in FAULTS.items():
        case = make(kind, seed)
        if not is_caught(fault, case, seed, expected(case)):
            print(name, search(fault), sep=";", flush=True)
