"""The plain runner: every program over every history, event by event, with no tricks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..records import Event, format_time, moment, rank
from .evaluate import NO_CHAIN, Chain, number, reader
from .finding import NO_TIMES, Finding, Insufficient
from .history import CAP, History, histories
from .judge import Judge
from .match import Matcher
from .program import LevelProgram, Program, SequenceProgram, SilenceProgram
from .tree import Difference, Expr
from .truth import above
from .walk import MEASURES, walk


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
        case LevelProgram():
            _run_level(program, program.body, history, cap, outcome)
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
                level=judge.level(history, fired, chain),
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


def _run_level(program: Program, body: LevelProgram, history: History, cap: int, outcome: Outcome) -> None:
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
            level = judge.level(history, at)
            peaks.append((rank(level), judge.confidence(history, at), at, level))
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
    # The highest level and the highest confidence are kept, even where they were not reached together.
    _, _, peak, level = max(peaks)
    return Finding(
        program,
        history,
        fired=opened,
        first=opened,
        last=last,
        peak=peak,
        count=last - opened + 1,
        level=level,
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
                level=judge.level(history, at, chain),
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
    for one in walk(expr):
        if isinstance(one, Difference):
            needs.append(2 * max(2, one.at_least))
        elif isinstance(one, MEASURES):
            needs.append(one.window.at_least)
    return max(needs)
