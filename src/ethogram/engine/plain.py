"""The plain runner: every program over every history, event by event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..language.ast import Difference, Duration, Events, Expr, Limits
from ..language.compiler import uses_steps
from ..language.history import CAP, History, histories
from ..language.program import Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ..language.three_valued import above
from ..language.visitor import MEASURES, walk
from ..models import Event, format_time, moment, rank
from .evaluate import NO_CHAIN, Chain, number, reader
from .grading import Judge
from .match import NO_TIMES, Finding, Insufficient

# Matching a sequence: which places stand at which event, and where the whole fires.

MOST_ALSO = 50


def holds(history: History, limits: Limits, start: int, end: int, *, both_ends: bool = False) -> bool:
    """Whether all limits hold from one position to another.

    Durations are inclusive; without times only limits in events count. `both_ends`: 3 events are
    three positions, ends included; otherwise three steps from the first.
    """
    for limit in limits:
        if isinstance(limit, Events):
            if end - start + both_ends > limit.n:
                return False
        elif (
            isinstance(limit, Duration)
            and history.timed
            and history.times[end] - history.times[start] > limit.us
        ):
            return False
    return True


class Matcher:
    """Walks one history. `before[i][t]` is the event at which place i-1 stood when place i stood at t."""

    def __init__(self, body: SequenceProgram, history: History, cap: int) -> None:
        self.body = body
        self.history = history
        self.conditions = [reader(place.condition, cap) for place in body.places]
        self.chained = [uses_steps(place.condition) for place in body.places]
        self.nevers = [[reader(never, cap) for never in place.nevers] for place in body.places]
        self.optionals = [reader(optional.condition, cap) for optional in body.optionals]
        self.before: list[dict[int, int]] = [{} for _ in body.places]
        self.latest: list[int | None] = [None] * len(body.places)
        self.last_never: list[int] = [-1] * len(body.places)
        self.last_fired = -1
        self.proof: list[int] = []
        self.first_step_known = False

    def firings(self) -> Iterator[tuple[int, Chain]]:
        """Every event at which it fires, with the positions each step matched."""
        for at in range(len(self.history.events)):
            self._advance(at)
            if at not in self.before[-1]:
                continue
            proof = self.positions(len(self.body.places) - 1, at)
            in_time = holds(self.history, self.body.within, proof[0], at, both_ends=True)
            if proof[0] > self.last_fired and in_time:
                self.proof = proof
                yield at, self._evidence(proof, at)
                self.last_fired = at

    def _advance(self, at: int) -> None:
        # From the last place to the first, so that `latest` still speaks of earlier events.
        standing = [self._stands(i, at) for i in reversed(range(len(self.body.places)))][::-1]
        for i, previous in enumerate(standing):
            if previous is not None:
                self.before[i][at] = previous
                self.latest[i] = at
        for i, nevers in enumerate(self.nevers):
            if any(never(self.history, at, NO_CHAIN) is True for never in nevers):
                self.last_never[i] = at

    def _stands(self, i: int, at: int) -> int | None:
        """The event at which the place before stood, -1 for the first place, None if i does not stand."""
        if i == 0:
            truth = self.conditions[0](self.history, at, NO_CHAIN)
            self.first_step_known = self.first_step_known or truth is not None
            return -1 if truth is True else None
        previous = self.latest[i - 1]
        if previous is None or not self.reaches(i, previous, at) or self.last_never[i] > previous:
            return None
        chain = self.chain(self.positions(i - 1, previous)) if self.chained[i] else NO_CHAIN
        return previous if self.conditions[i](self.history, at, chain) is True else None

    def reaches(self, i: int, start: int, end: int) -> bool:
        """Whether max_gap and within of place i hold from one matched event to the next."""
        place = self.body.places[i]
        if place.max_gap is not None and end - start - 1 > place.max_gap:
            return False
        return holds(self.history, place.within, start, end)

    def positions(self, i: int, at: int) -> list[int]:
        """The chain of place i standing at an event: one position per place."""
        out = [at]
        for place in range(i, 0, -1):
            out.append(self.before[place][out[-1]])
        return out[::-1]

    def chain(self, positions: list[int]) -> dict[str, list[int]]:
        """Positions by step name."""
        out: dict[str, list[int]] = {}
        for place, at in zip(self.body.places, positions, strict=False):
            out.setdefault(place.step, []).append(at)
        return out

    def _evidence(self, proof: list[int], fired: int) -> dict[str, list[int]]:
        chain = self.chain(proof)
        for step in self.body.collects:
            chain[step] = self._also(step, chain[step], proof, fired) + chain[step]
        right: dict[int, int] = {}
        for item, meets in reversed(list(zip(self.body.optionals, self.optionals, strict=True))):
            low, high = proof[item.after], right.get(item.after, proof[item.after + 1])
            filled = next(
                (t for t in range(high - 1, low, -1) if meets(self.history, t, NO_CHAIN) is True), None
            )
            if filled is not None:
                chain[item.step] = [filled]
                right[item.after] = filled
        return chain

    def _also(self, step: str, matched: list[int], proof: list[int], fired: int) -> list[int]:
        first = next(i for i, place in enumerate(self.body.places) if place.step == step)
        floor = max(self.last_fired, proof[first - 1] if first else -1)
        numbers: list[int] = []
        at = matched[0]
        while len(numbers) < MOST_ALSO:
            earlier = next((t for t in range(at - 1, floor, -1) if t in self.before[first]), None)
            if earlier is None or not self.reaches(first, earlier, at):
                break
            if not holds(self.history, self.body.within, earlier, fired, both_ends=True):
                break
            numbers.append(earlier)
            at = earlier
        return numbers[::-1]


# The plain runner: every program over every history, event by event, with no tricks.


@dataclass(slots=True)
class Outcome:
    """What a run over events found. `checked` counts histories by program name."""

    findings: list[Finding] = field(default_factory=list)
    insufficient: list[Insufficient] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)


def run(programs: Iterable[Program], events: Sequence[Event], *, as_of: int, cap: int = CAP) -> Outcome:
    """Findings of all programs over events that are in order and not after `as_of` (microseconds)."""
    outcome = Outcome()
    for program in programs:
        if program.is_combination:
            continue
        found = histories(program, events)
        outcome.checked[program.name] = len(found)
        for history in found:
            run_history(program, history, as_of, cap, outcome)
    return outcome


def run_history(program: Program, history: History, as_of: int, cap: int, outcome: Outcome) -> None:
    """Add to the outcome what one program finds in one history."""
    if program.timed_only and not history.timed:
        _note(outcome, program, history, 0, NO_TIMES)
        return
    match program.body:
        case SequenceProgram():
            _run_sequence(program, program.body, history, cap, outcome)
        case ThresholdProgram():
            _run_threshold(program, program.body, history, cap, outcome)
        case SilenceProgram():
            _run_silence(program, program.body, history, as_of, cap, outcome)


def _note(outcome: Outcome, program: Program, history: History, need: int, reason: str) -> None:
    have = len(history.events)
    outcome.insufficient.append(Insufficient(program, history.source, history.key, have, need, reason))


# --- the three shapes -----------------------------------------------------------------------


def _run_sequence(
    program: Program, body: SequenceProgram, history: History, cap: int, outcome: Outcome
) -> None:
    judge, matcher = Judge(program, cap), Matcher(body, history, cap)
    for fired, chain in matcher.firings():
        first = min(matcher.proof)
        confidence = judge.confidence(history, fired, chain)
        outcome.findings.append(
            Finding(
                program,
                history,
                fired=fired,
                first=first,
                last=fired,
                peak=fired,
                count=sum(len(positions) for positions in chain.values()),
                severity=judge.severity(history, fired, chain),
                confidence=confidence,
                fired_confidence=confidence,
                opened_at=history.times[first],
                detected_at=history.times[fired],
                closed_at=history.times[fired],
                chain=chain,
            )
        )
    if not matcher.first_step_known:
        need = _need(body.places[0].condition)
        _note(outcome, program, history, need, f"step '{body.places[0].step}' could not be judged anywhere")


def _run_threshold(
    program: Program, body: ThresholdProgram, history: History, cap: int, outcome: Outcome
) -> None:
    judge, when = Judge(program, cap), reader(body.when, cap)
    clears = None if body.clears is None else reader(body.clears, cap)
    opened: int | None = None
    peaks: list[tuple[int, float, int, str]] = []
    known = False

    def close(at: int | None, last: int) -> None:
        nonlocal opened
        if opened is not None:
            outcome.findings.append(_episode(program, history, opened, last, at, peaks))
        opened = None

    for at in range(len(history.events)):
        truth = when(history, at, NO_CHAIN)
        known = known or truth is not None
        clear = truth is False if clears is None else clears(history, at, NO_CHAIN) is True
        if opened is None and truth is True and not clear:
            opened, peaks = at, []
        elif opened is not None and clear and not body.stays:
            close(at, at - 1)
        if opened is not None:
            severity = judge.severity(history, at)
            peaks.append((rank(severity), judge.confidence(history, at), at, severity))
    close(None, len(history.events) - 1)
    if not known:
        _note(outcome, program, history, _need(body.when), "its condition could not be judged anywhere")


def _episode(
    program: Program,
    history: History,
    opened: int,
    last: int,
    closed: int | None,
    peaks: list[tuple[int, float, int, str]],
) -> Finding:
    # The highest severity and the highest confidence are kept, even where they were not reached together.
    _, _, peak, severity = max(peaks)
    return Finding(
        program,
        history,
        fired=opened,
        first=opened,
        last=last,
        peak=peak,
        count=last - opened + 1,
        severity=severity,
        confidence=max(confidence for _, confidence, _, _ in peaks),
        fired_confidence=peaks[0][1],
        opened_at=history.times[opened],
        detected_at=history.times[opened],
        closed_at=None if closed is None else history.times[closed],
    )


def _run_silence(
    program: Program, body: SilenceProgram, history: History, as_of: int, cap: int, outcome: Outcome
) -> None:
    judge, longer = Judge(program, cap), reader(body.longer_than, cap)
    after = None if body.after is None else reader(body.after, cap)
    end = len(history.events)
    asked = known = False
    for at in range(body.at_least - 1, end):
        if after is not None and after(history, at, NO_CHAIN) is not True:
            continue
        seconds = number(longer(history, at, NO_CHAIN))
        asked, known = True, known or seconds is not None
        if seconds is None or above(0.0, seconds):
            continue
        deadline = history.times[at] + max(0, round(seconds * 1e6))
        following = history.times[at + 1] if at + 1 < end else None
        if (as_of if following is None else following) <= deadline:
            continue
        confidence = judge.confidence(history, at)
        chain: Chain = {".deadline": format_time(moment(deadline))}
        outcome.findings.append(
            Finding(
                program,
                history,
                fired=at,
                first=at,
                last=at,
                peak=at,
                count=1,
                severity=judge.severity(history, at, chain),
                confidence=confidence,
                fired_confidence=confidence,
                opened_at=deadline,
                detected_at=deadline,
                closed_at=following,
                chain=chain,
            )
        )
    if end < body.at_least or (asked and not known):
        need = max(body.at_least, _need(body.longer_than))
        _note(outcome, program, history, need, "too few events to know what is usual")


def _need(expr: Expr) -> int:
    """How many readings the most demanding measure of a condition asks for."""
    needs = [1]
    for item in walk(expr):
        if isinstance(item, Difference):
            needs.append(2 * max(2, item.at_least))
        elif isinstance(item, MEASURES):
            needs.append(item.window.at_least)
    return max(needs)
