"""The answers of `ethogram why` for a person: the verdict first, then the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .text import clean, plural, stamp, value_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.explain import PartWhy, Why
    from ..app.explain_condition import (
        Comparison,
        Judged,
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
    """Everything to print; nothing of it is cut at the right edge but wrapped."""
    from rich.text import Text

    for index, one in enumerate(answers):
        if index:
            yield ""
        yield Text(heading(one), style="bold")
        yield from (Text("  " + line) for line in lines(one))


def heading(one: Why) -> str:
    """Which pattern, whose history, and the answer in a word or two."""
    whose = ", ".join(f"{clean(name)} {value_text(value)}" for name, value in one.history.items())
    return f"{clean(one.pattern)} ({clean(one.title)}): {whose}: {one.answer}"


def lines(one: Why) -> Iterator[str]:
    """What was found out, line by line."""
    if one.reason:
        yield clean(one.reason)
    if one.fired:
        last = one.fired[-1]
        when = stamp(last.at, timed=one.timed)
        yield (
            f"It fired {plural(len(one.fired), 'time')}, last at event {clean(last.event)} ({when}), "
            f"severity {last.severity}, confidence {last.confidence:.2f}."
        )
    if one.sequence is not None:
        yield from _sequence(one.sequence, one)
    if one.threshold is not None:
        yield from _threshold(one.threshold, one)
    if one.silence is not None:
        yield from _silence(one.silence, one)
    if one.parts:
        yield from _parts(one.parts)
        yield from _limits(one.limits)


def _where(spot: Spot, one: Why) -> str:
    return f"event {clean(spot.event)} ({stamp(spot.at, timed=one.timed)}, {spot.position} of {one.events})"


# --- sequence -------------------------------------------------------------------------------


def _sequence(found: SequenceWhy, one: Why) -> Iterator[str]:
    if not one.fired:
        yield f"Stopped {_stopped(found)}."
    for step in found.steps:
        yield from _step(step, one)
    if found.complete is not None:
        yield f"all steps stood at {_where(found.complete, one)}"
        yield from (f"  {line}" for line in _limits(found.limits))


def _stopped(found: SequenceWhy) -> str:
    """Where it came to an end, and what was lacking there."""
    lacking = next((step for step in found.steps if step.last is None), None)
    if lacking is None:
        failed = [f"{limit.limit}: {clean(limit.said)}" for limit in found.limits if not limit.holds]
        return f"after the last step by {'; '.join(failed)}" if failed else "nowhere at the event asked for"
    place = f"at step {clean(lacking.step)}"
    tried = lacking.tried
    if tried is None:
        reached = sum(count > 0 for count in lacking.stood)
        return f"{place}: {reached} of {lacking.places}, and no event came after"
    failed = [f"{limit.limit}: {clean(limit.said)}" for limit in tried.limits if not limit.holds]
    if tried.condition.truth is not True:
        truth = "could not be judged" if tried.condition.truth is None else "was not met"
        failed.append(f"its condition {truth}")
    where = f"event {clean(tried.spot.event)}"
    return f"{place}, nearest at {where}: {'; '.join(failed)}" if failed else f"{place}, which {where} met"


def _step(step: StepWhy, one: Why) -> Iterator[str]:
    times = f" (needs {step.places} events)" if step.places > 1 else ""
    yield f"step {clean(step.step)}{times}: {clean(step.condition)}"
    met = f"met at {plural(step.met, 'event')} of {one.events}"
    yield f"  {met}{f', unknown at {step.unknown}' if step.unknown else ''}"
    if step.last is not None:
        yield f"  stood last at {_where(step.last, one)}"
    else:
        reached = sum(count > 0 for count in step.stood)
        yield f"  came to {reached} of {step.places}" if reached else "  never stood"
    if step.tried is not None:
        place = f"place {step.tried.place} of {step.places} at " if step.places > 1 else "at "
        yield f"  {'nearest: ' if step.last is None else ''}{place}{_where(step.tried.spot, one)}"
        yield from (f"    {line}" for line in _judged(step.tried.condition))
        yield from (f"    {line}" for line in _limits(step.tried.limits))


# --- threshold, silence -------------------------------------------------------------------------


def _threshold(found: ThresholdWhy, one: Why) -> Iterator[str]:
    yield f"opens when {clean(found.when.text)}"
    counts = f"true at {found.true}, false at {found.false}, unknown at {found.unknown}"
    yield f"  {counts} of {plural(one.events, 'event')}"
    yield f"  at {_where(found.spot, one)}: {TRUTHS[found.when.truth]}"
    yield from (f"    {line}" for line in _judged(found.when))
    if found.stays:
        yield "never closes"
    elif found.clears is not None:
        yield f"closes when {clean(found.clears.text)}"
        yield f"  at the same event: {TRUTHS[found.clears.truth]}"
        yield from (f"    {line}" for line in _judged(found.clears))
    else:
        yield "closes when that is false"


def _silence(found: SilenceWhy, one: Why) -> Iterator[str]:
    after = f" after an event with {clean(found.after)}" if found.after else ""
    yield f"opens{after} when the next is later than {clean(found.longer_than)}"
    enough = f", at least {found.at_least} needed" if found.at_least > 1 else ""
    yield f"  {plural(one.events, 'event')}{enough}; {plural(found.counted, 'deadline')} set"
    for wait in found.waits:
        yield f"  after {_where(wait.spot, one)}"
        yield from (f"    {line}" for line in _wait(wait, found))


def _wait(wait: Wait, found: SilenceWhy) -> Iterator[str]:
    if wait.spot.position < found.at_least:
        yield f"no deadline: it is event {wait.spot.position}, and {found.at_least} are needed"
    elif wait.after is not None and wait.after.truth is not True:
        yield "no deadline: the event is not one to wait after"
        yield from _judged(wait.after)
    elif wait.deadline is None:
        yield f"no deadline: the limit is {value_text(wait.seconds)}"
    else:
        from ..app.explain_condition import how_long

        assert wait.seconds is not None
        limit = how_long(round(wait.seconds * 1e6))
        end = "next event" if wait.ended else "moment of the question"
        passed = "passed" if wait.fired else "not passed"
        yield f"limit {limit}: deadline {stamp(wait.deadline)}, {passed}"
        yield f"{end} {stamp(wait.next_at)}"
    yield from (f"{clean(text)} = {value_text(value)}" for text, value in wait.measures)


# --- combinations ---------------------------------------------------------------------------


def _parts(parts: Iterable[PartWhy]) -> Iterator[str]:
    for part in parts:
        elsewhere = f" ({part.elsewhere} in other histories)" if part.elsewhere else ""
        yield f"part {clean(part.part)}: {plural(len(part.detections), 'detection')}{elsewhere}"
        for one in part.detections[-MOST:]:
            yield f"  {clean(one.subject)} {stamp(one.detected_at)}, {one.severity}, id {one.id}"


# --- what all have --------------------------------------------------------------------------


def _judged(judged: Judged) -> Iterator[str]:
    for one in judged.comparisons:
        values = f"  [{_values(one)}]" if one.values else ""
        yield f"{TRUTHS[one.truth]:<7}  {clean(one.text)}{values}"
    told = {text for one in judged.comparisons for text, _ in one.values}
    for text, value in judged.measures:
        if text not in told:
            yield f"         {clean(text)} = {value_text(value)}"


def _values(one: Comparison) -> str:
    """Both sides as they were, '0.8 > 0.55'; of other questions each value with its name."""
    if one.op is not None:
        return f" {one.op} ".join(value_text(value) for _, value in one.values)
    return ", ".join(f"{clean(text)} = {value_text(value)}" for text, value in one.values)


def _limits(limits: Iterable[Limit]) -> Iterator[str]:
    for one in limits:
        yield f"{TRUTHS[one.holds]:<7}  {one.limit}: {clean(one.said)}"
