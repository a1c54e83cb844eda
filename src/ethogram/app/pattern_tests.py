"""Run every example of a pattern and compare with what its author expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..config import Settings
from ..engine.combination import parts_meant
from ..engine.detect import ENGINES, SearchResult, find
from ..engine.history import History, histories
from ..engine.live.expressions import read_at
from ..engine.live.sequence import Replay
from ..engine.live.sequence import Sequence as SequenceMachine
from ..errors import Conflict, Fault
from ..fields import Count, Name, RecordStruct
from ..ingest import in_order
from ..language import ast
from ..language.program import Program, SequenceProgram, ThresholdProgram
from ..models import EPOCH, Event
from ..models.record import Record
from ..models.slotted import dataclass, replace
from ..patterns.examples import Example
from ..patterns.library import Library
from ..patterns.pattern_file import PatternFile
from .readings import measured_events

Positions = Mapping[tuple[str, str], int]
"""(source, id) of an event to its position in the example, from 1."""
ALL = "all"
FIRES_AT_ITS_LAST = (ast.Sequence, ast.Combination, ast.Spread)
"""The other shapes fire where they open, at their first event."""


def how_far(program: Program, events: Sequence[Event], result: SearchResult, positions: Positions) -> str:
    """What was lacking for the program to fire, in a few words."""
    lacking = [item for item in result.insufficient if item.program.name == program.name]
    checked = result.checked.get(program.name, 0)
    if lacking and len(lacking) >= checked:
        return lacking[0].reason
    if program.is_combination:
        detected = {part for item in result.detections for part in parts_meant(program.parts, item.pattern)}
        missing = [part for part in program.parts if part not in detected]
        if missing:
            return f"nothing was detected of {', '.join(missing)}"
        return "all its parts were detected, but not together as the shape asks"
    if not checked:
        key = ", ".join(program.group_by)
        return f"no event has a reading that its shape names and all of its history: [{key}]"
    match program.body:
        case SequenceProgram() as body:
            return _steps_met(program, body, events, positions)
        case ThresholdProgram() as body:
            return _truth(program, body, events)
        case _:
            return "no pause was longer than longer_than"


def _steps_met(program: Program, body: SequenceProgram, events: Sequence[Event], positions: Positions) -> str:
    machine = SequenceMachine(program, body)
    reached, at = max(_standing(machine, history, positions) for history in histories(program, events))
    if reached < 0:
        return f"step {body.places[0].step!r} was not met at any event"
    if reached == len(body.places) - 1:
        return f"all steps stood at event {at}, but not within its limits"
    step, following = body.places[reached].step, body.places[reached + 1].step
    if step == following:
        done, every = (sum(p.step == step for p in body.places[:n]) for n in (reached + 1, None))
        return f"step {step!r} got to {done} of {every}, at event {at}"
    return f"step {step!r} stood last at event {at}, and step {following!r} did not follow as it must"


def _standing(machine: SequenceMachine, history: History, positions: Positions) -> tuple[int, int]:
    """The last place that ever stood, -1 for none, and the latest event at which it did."""
    links = Replay(machine, history).links
    for place in reversed(range(len(links))):
        if links[place]:
            event = history.events[max(links[place])]
            return place, positions[(event.source, event.id)]
    return -1, 0


def _truth(program: Program, body: ThresholdProgram, events: Sequence[Event]) -> str:
    truths = [
        read_at(body.when, history, at)
        for history in histories(program, events)
        for at in range(len(history.events))
    ]
    if True in truths:
        return "its condition was true, but only where it clears too"
    return f"its condition was never true (false: {truths.count(False)}, unknown: {truths.count(None)})"


@dataclass(frozen=True, slots=True)
class ExampleResult(Record):
    """One example of a pattern: what it states, what came, and whether the two agree.

    `engine` is "all" where both engines agree, as they should; else there is a result for each.
    """

    RECORD = "example"

    pattern: Name
    engine: str
    path: str
    line: Count
    column: Count
    story: str
    fires: bool
    ok: bool
    expected: str
    came: str

    @property
    def fault(self) -> Fault:
        """The failure as a fault of the file."""
        text = f"{self.pattern}: {self.story!r} should {self.expected}, but {self.came}"
        where = "" if self.engine == ALL else f" ({self.engine} engine)"
        return Fault(self.path, self.line, self.column, text + where)


class ExampleSummary(RecordStruct):
    """How many examples were run: the last line of `patterns test`."""

    RECORD = "summary"

    patterns: Count
    examples: Count
    engines: Count
    failed: Count


def run_examples(library: Library) -> list[ExampleResult]:
    """Every example of every chosen pattern on both engines, in order of patterns, as written.

    A pattern's parts run with it; their own detections, and its early ones as `name@k`, do not matter.
    """
    results = []
    for file in library:
        programs = replace(library, chosen=(file.name,)).programs
        for example in file.examples:
            both = [_run_example(file, programs, example, engine) for engine in ENGINES]
            agree = len({(result.ok, result.came) for result in both}) == 1
            results += [replace(both[0], engine=ALL)] if agree else both
    return results


def summary(results: Sequence[ExampleResult]) -> dict[str, Any]:
    """How many examples were run, and how many failed, over both engines."""
    return ExampleSummary(
        patterns=len({result.pattern for result in results}),
        examples=len({(result.path, result.line, result.column) for result in results}),
        engines=len(ENGINES) if results else 0,
        failed=sum(not result.ok for result in results),
    ).to_dict()


def summary_line(results: Sequence[ExampleResult]) -> str:
    """The same in words: '15 patterns, 52 examples, 2 engines: all passed'.

    >>> summary_line([])
    '0 patterns, 0 examples, 0 engines: all passed'
    """
    record = summary(results)
    counts = [
        f"{record[key]} {key.removesuffix('s') if record[key] == 1 else key}"
        for key in ("patterns", "examples", "engines")
    ]
    failed = record["failed"]
    return f"{', '.join(counts)}: {f'{failed} failed' if failed else 'all passed'}"


def _run_example(
    file: PatternFile, programs: Sequence[Program], example: Example, engine: str
) -> ExampleResult:
    try:
        ok, came = _compare(file, programs, example, engine)
    except Conflict as error:
        ok, came = False, str(error)
    return ExampleResult(
        pattern=file.name,
        engine=engine,
        path=file.path,
        line=example.line,
        column=example.column,
        story=example.story,
        fires=example.fires,
        ok=ok,
        expected=_expected(example),
        came=came,
    )


def _compare(
    file: PatternFile, programs: Sequence[Program], example: Example, engine: str
) -> tuple[bool, str]:
    """Whether an example comes as expected, and what came in words."""
    as_of = example.as_of or max((event.at for event in example.events), default=EPOCH)
    events = [event for event in in_order(example.events) if event.at <= as_of]
    # The default settings: a result is the same on every machine.
    measured, _ = measured_events(events, programs, Settings())
    result = find(programs, measured, as_of=as_of, engine=engine)
    own = {pattern.name for pattern in file.patterns}
    first = next((detection for detection in result.detections if detection.pattern in own), None)
    positions: dict[tuple[str, str], int] = {}
    for position, event in enumerate(example.events, start=1):
        positions.setdefault((event.source, event.id), position)
    if first is not None:
        fires_last = isinstance(file.patterns[0].shape, FIRES_AT_ITS_LAST)
        at = positions.get((first.source, first.last_event if fires_last else first.first_event))
        ok = example.fires and example.at in (None, at) and example.severity in (None, first.severity)
        name = f" as {first.pattern}" if "." in first.pattern else ""
        return ok, f"it fired at event {at} with severity {first.severity}{name}: {first.explanation}"
    if not example.fires:
        return True, "it stayed quiet"
    main = [program for program in programs if program.name in own]
    reasons = dict.fromkeys(how_far(program, measured, result, positions) for program in main)
    return False, f"it stayed quiet: {'; '.join(reasons)}"


def _expected(example: Example) -> str:
    if not example.fires:
        return "stay quiet"
    at = "" if example.at is None else f" at event {example.at}"
    return f"fire{at}" + ("" if example.severity is None else f" with severity {example.severity}")
