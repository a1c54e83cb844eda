"""A watch, whole, cut in pieces and ticked, against one run over everything: that notices these faults.

For each fault one case is named that catches it, so that this runs in seconds. To find another case after a
change: `python tests/engine/test_seeded_faults_live.py`.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from ethogram.language.ast import (
    And,
    Compare,
    Contrast,
    Duration,
    Events,
    Expr,
    Indicator,
    Measure,
    Number,
    OrElse,
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
    "ethogram.engine.",
    *(f"ethogram.app.{name}" for name in ("live", "subject")),
    "live_cases",
)

FAULTS: dict[str, tuple[Fault, str, int]] = {
    name: (Fault(f"ethogram.{module}", text, replacement), kind, seed)
    for name, (module, text, replacement, kind, seed) in {
        "within one event too long": (
            "engine.live.sequence",
            "last.position - first.position + 1, last.us",
            "last.position - first.position, last.us",
            "sequence",
            195,
        ),
        "max_gap one too few": (
            "engine.live.sequence",
            "at - start.position - 1 > max_gap",
            "at - start.position > max_gap",
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
            "stands = not state.blocked[i]\n",
            "stands = True\n",
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
            "if holds(optional.condition)(event, at, history):",
            "if old[j][j] is None and holds(optional.condition)(event, at, history):",
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
            "state.standing, state.runs = [None] * len(self.steps), [()] * len(self.steps)",
            "state.fired = -1",
            "sequence",
            0,
        ),
        "a step keeps its first capture": (
            "engine.live.sequence",
            "last = {**before.last, step: (seen,)}",
            "last = {step: (seen,), **before.last}",
            "sequence",
            22,
        ),
        "also outside the limits": (
            "engine.live.sequence",
            "for item in link.also if self.inside(item, fired.seen, history.timed)]",
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
            "range(len(places) - 1, 0, -1)",
            "range(1, len(places))",
            "sequence",
            0,
        ),
        "evidence to come is dropped with the chain": (
            "engine.live.sequence",
            " and not any(state.runs)",
            "",
            "runs",
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
            "return self.clears is None or not self.clears(event, at, history)",
            "return True",
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
            "event.order < limit",
            "event.order <= limit",
            "threshold",
            0,
        ),
        "the first of equally frequent values": (
            "engine.live.aggregates",
            "most = top(values)",
            "most = top(values[::-1])",
            "threshold",
            69,
        ),
        "a silence needs one event more": (
            "engine.live.silence",
            "at + 1 < self.body.at_least",
            "at + 1 <= self.body.at_least",
            "silence",
            3,
        ),
        "a deadline is a moment early": (
            "engine.live.silence",
            "max(0, round(seconds * 1e6))",
            "max(0, round(seconds * 1e6) - 1)",
            "silence",
            3,
        ),
        "a deadline that was moved": (
            "engine.live.silence",
            "if (state.deadline, state.before.order) != (deadline, order):",
            "if state.deadline != state.deadline:",
            "silence",
            13,
        ),
        "an open threshold sleeps": (
            "engine.live.engine",
            "and states[k] is None and (unknown",
            "and (unknown",
            "asleep",
            0,
        ),
        "the cap is ignored": (
            "engine.live.rolling",
            "start = 0 if keep else max(0, at + 1 - history.cap)",
            "start = 0",
            "threshold",
            2,
        ),
        "the cap is ignored where there are times": (
            "engine.live.rolling",
            "start = 0 if keep else max(0, at + 1 - history.cap)",
            "start = 0",
            "cap",
            0,
        ),
        "a duration includes its start": (
            "engine.live.rolling",
            "bisect_right(times, moment - duration, 0",
            "bisect_right(times, moment - duration - 1, 0",
            "threshold",
            9,
        ),
        "events under skip are not kept": (
            "engine.live.rolling",
            "(window.skip.n if window.skip is not None else 0)",
            "0",
            "skip",
            1,
        ),
        "since includes its event": (
            "engine.live.rolling",
            "start = met[newest] + 1",
            "start = met[newest]",
            "threshold",
            3,
        ),
        "keep has one too few": (
            "engine.live.rolling",
            "max(0, hi - keep)",
            "max(0, hi - keep + 1)",
            "threshold",
            41,
        ),
        "keep forgets to skip": (
            "engine.live.rolling",
            "history.base, at + 1 - skip_events",
            "history.base, at + 1",
            "threshold",
            24,
        ),
        "what has left a window still counts": (
            "engine.live.aggregates",
            "column.s[hi] - column.s[lo], 0, 0",
            "column.s[hi], 0, 0",
            "threshold",
            68,
        ),
        "a trend counts from the first event ever": (
            "engine.live.rolling",
            "self.t[hi] - self.t[lo] - (self.started + lo) * s",
            "self.t[hi] - self.t[lo]",
            "rise_of_nothing",
            0,
        ),
        "what has left a contrast still counts": (
            "engine.live.aggregates",
            "for item in column.values[own_lo:lo]:",
            "for item in ():",
            "contrast_left",
            0,
        ),
        "readings that must be kept are not read": (
            "engine.live.rolling",
            "            self.extend(history, history.n)\n",
            "            pass\n",
            "keep",
            0,
        ),
        "one event too many is forgotten": (
            "engine.history",
            "cut = len(self.events) - keep\n",
            "cut = len(self.events) - keep + 1\n",
            "skip",
            0,
        ),
        "a rate forgets what the cap left out": (
            "engine.live.rolling",
            'item.name == "rate")',
            'item.name == "pace")',
            "rate_of_many",
            0,
        ),
        "gap since the first event": (
            "engine.live.expressions",
            "history.times[i] - history.times[i - 1]",
            "history.times[i] - history.first_us",
            "threshold",
            20,
        ),
        "near ties are not looked at": (
            "engine.live.expressions",
            '">": above,',
            '">": lambda a, b: a > b + 0.05,',
            "sequence",
            3,
        ),
        "unknown counts as false": (
            "engine.live.expressions",
            "return None if unknown else not decisive",
            "return not decisive",
            "threshold",
            0,
        ),
        "an indicator that was not found is absent": (
            "engine.live.routing",
            "0.0 if here.own.evaluated else None",
            "None",
            "indicator",
            0,
        ),
        "or_else forgets its default": (
            "engine.live.routing",
            "return value(default, here) if result is None else result",
            "return result",
            "indicator",
            0,
        ),
        "a variance of its own": (
            "engine.aggregates",
            "return n * q - s * s",
            "return n * q - s",
            "std_of_nothing",
            0,
        ),
        "a tie counts as falling": (
            "engine.aggregates",
            "later < earlier for",
            "later <= earlier for",
            "tau_with_ties",
            0,
        ),
        "nevers are not loaded": (
            "engine.live.state",
            "standing, state.blocked, runs, fills, state.fired = data",
            "standing, _, runs, fills, state.fired = data",
            "sequence",
            1,
        ),
        "further evidence is not loaded": (
            "engine.live.state",
            "state.runs = [unpacker.seens(run, machine, machine.steps[i]) for i, run in enumerate(runs)]",
            "pass",
            "sequence",
            0,
        ),
        "fillings are not loaded": (
            "engine.live.state",
            "[[unpacker.fill(fill, machine, i) for fill in gap]",
            "[[unpacker.fill([None] * len(fill), machine, i) for fill in gap]",
            "sequence",
            47,
        ),
        "one kept value is not loaded": (
            "engine.live.state",
            "else columns[place]:",
            "else columns[place][1:]:",
            "threshold",
            1,
        ),
        "the first time is not loaded": (
            "engine.live.state",
            "_, history.n, history.us, history.first_us, events",
            "_, history.n, history.us, _, events",
            "threshold",
            0,
        ),
        "the height of the peak is not loaded": (
            "engine.live.state",
            "                at_peak, details,",
            "                0.0, details,",
            "threshold",
            1,
        ),
        "an open silence is loaded closed": (
            "engine.live.state",
            "Waiting(event, us, deadline, is_open,",
            "Waiting(event, us, deadline, False,",
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
        "combinations do not wait for their time": (
            "engine.live_detections",
            "        if source.queue and source.queue[0][0] < us:\n",
            "        us += 1\n        if source.queue:\n",
            "combination",
            5,
        ),
        "spread misses a meeting at once": (
            "engine.contagion",
            "if other is None or us < self.us or",
            "if other is None or us <= self.us or",
            "spread",
            4,
        ),
    }.items()
}


def outcome(case: Case, seed: int) -> Any:
    """What a watch says: of the whole history, of one cut in three places, of one that is ticked."""
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


X = Signal("x")


def readings_case(pattern: Pattern, readings: Iterable[dict[str, float]], cap: int = 512) -> Case:
    """A pattern over events a minute apart."""
    events = (
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings=reading)
        for k, reading in enumerate(readings)
    )
    return Case((pattern,), tuple(events), cap=cap, kind="crafted")


def xs(*values: float) -> list[dict[str, float]]:
    return [{"x": x} for x in values]


def over(name: str, limit: float, window: Window, of: Expr = X) -> Pattern:
    """A threshold on an aggregate, which is also its confidence."""
    measure = Measure(name, of, window, condition=isinstance(of, Compare))
    return Pattern(name, Threshold(Compare(">", measure, Number(limit))), confidence=measure)


def skip_case() -> Case:
    """A threshold over the two events before the last four."""
    values = (0.1, 0.9, 0.8, 0.2, 0.1, 0.9, 0.9, 0.7, 0.1, 0.3, 0.9, 0.2) * 5
    return readings_case(over("mean", 0.5, Window(skip=Events(4), last=(Events(2),))), xs(*values))


def runs_case() -> Case:
    """A warm event whose chain is given up, another one long after it, then a cold one at once."""
    warm, cold = Compare(">", Signal("x"), Number(0.5)), Compare("<", Signal("x"), Number(0.2))
    steps = (Step("warm", warm, collects=True), Step("cold", cold, within=(Events(1),)))
    return readings_case(Pattern("again", Sequence(steps)), xs(0.9, 0.3, 0.3, 0.3, 0.9, 0.1))


def asleep_case() -> Case:
    """A threshold that stays open over events that could not have opened it."""
    threshold = Threshold(
        Compare(">", Signal("x"), Number(0.5)), clears=Compare(">", Signal("y"), Number(0.5))
    )
    return readings_case(
        Pattern("open", threshold), [{"x": 0.9}, {"y": 0.1}, {"y": 0.2}, {"y": 0.9}, {"x": 0.1}]
    )


def cap_case() -> Case:
    """More events in an hour than the cap lets anybody see."""
    positive = Compare(">", Signal("x"), Number(0.0))
    window = Window(last=(Duration(3_600_000_000),))
    return readings_case(over("count", 4.0, window, positive), xs(*(0.9,) * 10), cap=4)


def rate_case() -> Case:
    """Three events that are seen of many in an hour: the rate is that of two minutes."""
    positive = Compare(">", Signal("x"), Number(0.0))
    window = Window(last=(Duration(3_600_000_000),))
    return readings_case(over("rate", 50.0, window, positive), xs(*(0.9,) * 40), cap=3)


def contrast_case() -> Case:
    """Two sides that differ at first, and no longer once that has left the window."""
    item, other = Compare(">", Signal("y"), Number(0.5)), Compare("<", Signal("y"), Number(0.5))
    contrast = Contrast(Signal("x"), item, other, 0.3, 1.0, Window(last=(Events(6),)))
    first = [{"x": 0.8 + 0.01 * k if k % 2 else 0.1, "y": float(k % 2)} for k in range(6)]
    then = [{"x": 0.4 + 0.01 * (k % 3), "y": float(k % 2)} for k in range(12)]
    return readings_case(Pattern("two_sides", contrast), [*first, *then])


def keep_case() -> Case:
    """A confidence from the three newest high readings, read only where y is high, long after they came."""
    high = Compare(">", Signal("x"), Number(0.5))
    mean = Measure("mean", Signal("x"), Window(keep=3, where=high))
    pattern = Pattern("kept", Threshold(Compare(">", Signal("y"), Number(0.5))), confidence=mean)
    values = [(0.6, 0.1), (0.7, 0.1), (0.9, 0.1), *[(0.1, 0.1)] * 40, (0.1, 0.9), (0.1, 0.1), (0.95, 0.9)]
    return readings_case(pattern, [{"x": x, "y": y} for x, y in values])


def indicator_case() -> Case:
    """An indicator that is not found for once; a reading that has a default where it is absent."""
    absent = Compare("<", Indicator("MAN_GUILT"), Number(0.5))
    default = Compare(">", OrElse(Signal("y"), Number(1.0)), Number(0.5))
    positive = Compare(">", Signal("x"), Number(0.0))
    patterns = (
        Pattern("not_found", Sequence((Step("gone", absent), Step("again", absent)))),
        Pattern("by_default", Sequence((Step("default", And((default, positive))),))),
    )
    values = ({"MAN_GUILT": 0.9}, {"compassion": 0.3, "x": 0.4}, {"compassion": 0.2}, {"x": 0.3})
    events = tuple(
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings=readings)
        for k, readings in enumerate((*values, {"x": 0.4, "y": 0.1}, *values))
    )
    return Case(patterns, events, kind="sequence")


TIED = xs(0.1, 0.1, 0.2, 0.3)
CRAFTED: dict[str, Callable[[], Case]] = {
    "optional": optional_case,
    "skip": skip_case,
    "runs": runs_case,
    "asleep": asleep_case,
    "cap": cap_case,
    "contrast_left": contrast_case,
    "keep": keep_case,
    "indicator": indicator_case,
    "rate_of_many": rate_case,
    "rise_of_nothing": lambda: readings_case(over("rise", 0.15, Window(last=(Events(3),))), xs(*(0.5,) * 8)),
    "std_of_nothing": lambda: readings_case(over("std", 0.2, Window(last=(Events(4),))), xs(*(0.5,) * 8)),
    "tau_with_ties": lambda: readings_case(
        over("tau", 0.9, Window(last=(Events(4),))), xs(0.1, 0.1, 0.2, 0.3)
    ),
}


def make(kind: str, seed: int) -> Case:
    if kind in CRAFTED:
        return CRAFTED[kind]()
    return random_case(seed, kind) if kind in KINDS else random_case(seed, measure=kind)


def expected(case: Case) -> Any:
    rows = importlib.import_module("live_cases").whole_rows(case)
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
    for kind, seed in kinds + measures:
        case = make(kind, seed)
        if is_caught(fault, case, seed, expected(case)):
            return kind, seed
    return None


if __name__ == "__main__":
    for name, (fault, kind, seed) in FAULTS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        case = make(kind, seed)
        if not is_caught(fault, case, seed, expected(case)):
            print(name, search(fault), sep=";", flush=True)
