"""The answers of `ethogram why` as text: the answer first, then the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .wording import clean, plural, stamp, value_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.explain import PartWhy, Why
    from ..app.explain_shapes import (
        Comparison,
        ConditionAt,
        Limit,
        SequenceWhy,
        SilenceWhy,
        Spot,
        StepWhy,
        ThresholdWhy,
        Wait,
    )


TRUTHS = {True: "yes", False: "no", None: "unknown"}
MOST = 5


def why_parts(answers: Sequence[Why]) -> Iterator[RenderableType]:
    """Everything to print; long lines are wrapped, not cut."""
    from rich.text import Text

    for index, answer in enumerate(answers):
        if index:
            yield ""
        yield Text(heading(answer), style="bold")
        yield from (Text("  " + line) for line in why_lines(answer))


def heading(answer: Why) -> str:
    """The pattern, whose history, and the answer in a word or two."""
    whose = ", ".join(f"{clean(name)} {value_text(value)}" for name, value in answer.history.items())
    return f"{clean(answer.pattern)} ({clean(answer.title)}): {whose}: {answer.answer}"


def why_lines(answer: Why) -> Iterator[str]:
    """The explanation, line by line."""
    if answer.reason:
        yield clean(answer.reason)
    if answer.fired:
        last = answer.fired[-1]
        when = f"last at event {clean(last.event)} ({stamp(last.at, timed=answer.timed)})"
        severity = f"severity {last.severity}, confidence {last.confidence:.2f}"
        yield f"Matched {plural(len(answer.fired), 'time')}, {when}, {severity}."
    if answer.sequence is not None:
        yield from _sequence(answer.sequence, answer)
    if answer.threshold is not None:
        yield from _threshold(answer.threshold, answer)
    if answer.silence is not None:
        yield from _silence(answer.silence, answer)
    if answer.parts:
        yield from _parts(answer.parts)
        yield from _limits(answer.limits)


def _where(spot: Spot, answer: Why) -> str:
    when = stamp(spot.at, timed=answer.timed)
    return f"event {clean(spot.event)} ({when}, {spot.position} of {answer.events})"


# --- sequence -------------------------------------------------------------------------------


def _sequence(sequence: SequenceWhy, answer: Why) -> Iterator[str]:
    if not answer.fired:
        yield f"Stopped {_stopped(sequence)}."
    for step in sequence.steps:
        yield from _step(step, answer)
    if sequence.complete is not None:
        yield f"all steps met at {_where(sequence.complete, answer)}"
        yield from (f"  {line}" for line in _limits(sequence.limits))


def _stopped(sequence: SequenceWhy) -> str:
    """Where it stopped, and what was missing there."""
    missing = next((step for step in sequence.steps if step.last is None), None)
    if missing is None:
        failed = [f"{limit.limit}: {clean(limit.said)}" for limit in sequence.limits if not limit.holds]
        return f"after the last step by {'; '.join(failed)}" if failed else "nowhere at the given event"
    place = f"at step {clean(missing.step)}"
    tried = missing.tried
    if tried is None:
        reached = sum(count > 0 for count in missing.stood)
        return f"{place}: {reached} of {missing.places}, and no event followed"
    failed = [f"{limit.limit}: {clean(limit.said)}" for limit in tried.limits if not limit.holds]
    if tried.condition.truth is not True:
        truth = "could not be evaluated" if tried.condition.truth is None else "was not met"
        failed.append(f"its condition {truth}")
    where = f"event {clean(tried.spot.event)}"
    return f"{place}, nearest at {where}: {'; '.join(failed)}" if failed else f"{place}, which {where} met"


def _step(step: StepWhy, answer: Why) -> Iterator[str]:
    times = f" (needs {step.places} events)" if step.places > 1 else ""
    yield f"step {clean(step.step)}{times}: {clean(step.condition)}"
    unknown = f", unknown at {step.unknown}" if step.unknown else ""
    yield f"  condition met at {plural(step.met, 'event')} of {answer.events}{unknown}"
    if step.last is not None:
        yield f"  last reached at {_where(step.last, answer)}"
    else:
        reached = sum(count > 0 for count in step.stood)
        yield f"  reached {reached} of {step.places}" if reached else "  never reached"
    if step.tried is not None:
        place = f"place {step.tried.place} of {step.places} at " if step.places > 1 else "at "
        nearest = "nearest: " if step.last is None else ""
        yield f"  {nearest}{place}{_where(step.tried.spot, answer)}"
        yield from (f"    {line}" for line in _judged(step.tried.condition))
        yield from (f"    {line}" for line in _limits(step.tried.limits))


# --- threshold, silence -------------------------------------------------------------------------


def _threshold(threshold: ThresholdWhy, answer: Why) -> Iterator[str]:
    yield f"opens when {clean(threshold.when.text)}"
    counts = f"true at {threshold.true}, false at {threshold.false}, unknown at {threshold.unknown}"
    yield f"  {counts} of {plural(answer.events, 'event')}"
    yield f"  at {_where(threshold.spot, answer)}: {TRUTHS[threshold.when.truth]}"
    yield from (f"    {line}" for line in _judged(threshold.when))
    if threshold.stays:
        yield "never closes"
    elif threshold.clears is not None:
        yield f"closes when {clean(threshold.clears.text)}"
        yield f"  at the same event: {TRUTHS[threshold.clears.truth]}"
        yield from (f"    {line}" for line in _judged(threshold.clears))
    else:
        yield "closes when that is false"


def _silence(silence: SilenceWhy, answer: Why) -> Iterator[str]:
    after = f" after an event with {clean(silence.after)}" if silence.after else ""
    yield f"opens{after} when the next event is later than {clean(silence.longer_than)}"
    enough = f", at least {silence.at_least} needed" if silence.at_least > 1 else ""
    yield f"  {plural(answer.events, 'event')}{enough}; {plural(silence.counted, 'deadline')} set"
    for wait in silence.waits:
        yield f"  after {_where(wait.spot, answer)}"
        yield from (f"    {line}" for line in _wait(wait, silence))


def _wait(wait: Wait, silence: SilenceWhy) -> Iterator[str]:
    if wait.spot.position < silence.at_least:
        yield f"no deadline: this is event {wait.spot.position}, and {silence.at_least} are needed"
    elif wait.after is not None and wait.after.truth is not True:
        yield "no deadline: the event does not meet the condition"
        yield from _judged(wait.after)
    elif wait.deadline is None:
        yield f"no deadline: the limit is {value_text(wait.seconds)}"
    else:
        from ..app.explain_shapes import how_long

        assert wait.seconds is not None
        limit = how_long(round(wait.seconds * 1e6))
        end = "next event" if wait.ended else "evaluated as of"
        passed = "passed" if wait.fired else "not passed"
        yield f"limit {limit}: deadline {stamp(wait.deadline)}, {passed}"
        yield f"{end} {stamp(wait.next_at)}"
    yield from (f"{clean(text)} = {value_text(value)}" for text, value in wait.measures)


# --- combinations ---------------------------------------------------------------------------


def _parts(parts: Iterable[PartWhy]) -> Iterator[str]:
    for part in parts:
        elsewhere = f" ({part.elsewhere} in other histories)" if part.elsewhere else ""
        yield f"part {clean(part.part)}: {plural(len(part.detections), 'detection')}{elsewhere}"
        for detection in part.detections[-MOST:]:
            who = f"{clean(detection.subject)} {stamp(detection.detected_at)}"
            yield f"  {who}, {detection.severity}, id {detection.id}"


# --- conditions and limits ------------------------------------------------------------------


def _judged(judged: ConditionAt) -> Iterator[str]:
    for comparison in judged.comparisons:
        values = f"  [{_values(comparison)}]" if comparison.values else ""
        yield f"{TRUTHS[comparison.truth]:<7}  {clean(comparison.text)}{values}"
    shown = {text for comparison in judged.comparisons for text, _ in comparison.values}
    for text, value in judged.measures:
        if text not in shown:
            yield f"         {clean(text)} = {value_text(value)}"


def _values(comparison: Comparison) -> str:
    """Both sides of a comparison, '0.8 > 0.55'; otherwise each value with its name."""
    if comparison.op is not None:
        return f" {comparison.op} ".join(value_text(value) for _, value in comparison.values)
    return ", ".join(f"{clean(text)} = {value_text(value)}" for text, value in comparison.values)


def _limits(limits: Iterable[Limit]) -> Iterator[str]:
    for limit in limits:
        yield f"{TRUTHS[limit.holds]:<7}  {limit.limit}: {clean(limit.said)}"
