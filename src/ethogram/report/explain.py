"""The answers of `ethogram why` line by line: the answer first, then the numbers behind it.

The terminal and the dashboard show the same lines, each in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from .rendering import LONGEST
from .wording import clean, pairs_text, plural, stamp, value_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.explain import PartWhy, Why
    from ..app.explain_shapes import (
        Comparison,
        ConditionAt,
        Limit,
        Measured,
        SequenceWhy,
        SilenceWhy,
        Spot,
        StepWhy,
        ThresholdWhy,
        Wait,
    )

TRUTHS = {True: "yes", False: "no", None: "unknown"}
NEWEST_DETECTIONS = 5
"""Detections shown of each part of a combination."""
shown = partial(clean, most=LONGEST)


class WhyLine(NamedTuple):
    """A line of an explanation, and how deep it stands.

    `truth` is that of a condition or limit; '' for a value that belongs to one, None for other lines.
    """

    depth: int
    text: str
    truth: str | None = None
    is_known: bool = True
    """False for a value that was not measured."""


def why_parts(answers: Sequence[Why]) -> Iterator[RenderableType]:
    """Everything to print; long lines are wrapped, not cut."""
    from rich.text import Text

    for index, answer in enumerate(answers):
        if index:
            yield ""
        head = (
            f"{clean(answer.pattern)} ({clean(answer.title)}): {pairs_text(answer.history)}: {answer.answer}"
        )
        yield Text(head, style="bold")
        for line in why_lines(answer):
            column = "" if line.truth is None else f"{line.truth:<7}  "
            yield Text(f"{'  ' * (line.depth + 1)}{column}{line.text}")


def why_lines(answer: Why, expression: Callable[[str], str] = str) -> Iterator[WhyLine]:
    """The explanation, line by line; `expression` rewrites the text of conditions and values."""
    return _Lines(answer, expression).all()


class _Lines:
    """Makes the lines of one answer."""

    def __init__(self, answer: Why, expression: Callable[[str], str]) -> None:
        self.answer, self._expression = answer, expression

    def all(self) -> Iterator[WhyLine]:
        answer = self.answer
        if answer.reason:
            yield WhyLine(0, shown(answer.reason))
        if answer.fired:
            last = answer.fired[-1]
            when = stamp(last.at, timed=answer.timed)
            times, how = plural(len(answer.fired), "time"), f"severity {last.severity}"
            at = f"event {shown(last.event)} ({when})"
            yield WhyLine(0, f"Matched {times}, last at {at}, {how}, confidence {last.confidence:.2f}.")
        if answer.sequence is not None:
            yield from self._sequence(answer.sequence)
        if answer.threshold is not None:
            yield from self._threshold(answer.threshold)
        if answer.silence is not None:
            yield from self._silence(answer.silence)
        for part in answer.parts:
            yield from self._part(part)
        if answer.parts:
            yield from self._limits(answer.limits, 0)

    def _sequence(self, sequence: SequenceWhy) -> Iterator[WhyLine]:
        if not self.answer.fired:
            yield WhyLine(0, shown(f"Stopped {stopped(sequence)}."))
        for step in sequence.steps:
            yield from self._step(step)
        if sequence.complete is not None:
            yield WhyLine(0, f"all steps met at {self._where(sequence.complete)}")
            yield from self._limits(sequence.limits, 1)

    def _step(self, step: StepWhy) -> Iterator[WhyLine]:
        needs = f" (needs {step.places} events)" if step.places > 1 else ""
        yield WhyLine(0, f"step {shown(step.step)}{needs}: {self._written(step.condition)}")
        unknown = f", unknown at {step.unknown}" if step.unknown else ""
        yield WhyLine(1, f"condition met at {plural(step.met, 'event')} of {self.answer.events}{unknown}")
        reached = sum(count > 0 for count in step.stood)
        if step.last is not None:
            yield WhyLine(1, f"last reached at {self._where(step.last)}")
        else:
            yield WhyLine(1, f"reached {reached} of {step.places}" if reached else "never reached")
        if step.tried is not None:
            nearest = "nearest: " if step.last is None else ""
            place = f"place {step.tried.place} of {step.places} " if step.places > 1 else ""
            yield WhyLine(1, f"{nearest}{place}at {self._where(step.tried.spot)}")
            yield from self._condition(step.tried.condition, 2)
            yield from self._limits(step.tried.limits, 2)

    def _threshold(self, threshold: ThresholdWhy) -> Iterator[WhyLine]:
        when, clears = threshold.when, threshold.clears
        yield WhyLine(0, f"opens when {self._written(when.text)}")
        counts = f"true at {threshold.true}, false at {threshold.false}, unknown at {threshold.unknown}"
        yield WhyLine(1, f"{counts} of {plural(self.answer.events, 'event')}")
        yield WhyLine(1, f"at {self._where(threshold.spot)}: {TRUTHS[when.truth]}")
        yield from self._condition(when, 2)
        if threshold.stays:
            yield WhyLine(0, "never closes")
        elif clears is None:
            yield WhyLine(0, "closes when that is false")
        else:
            yield WhyLine(0, f"closes when {self._written(clears.text)}")
            yield WhyLine(1, f"at the same event: {TRUTHS[clears.truth]}")
            yield from self._condition(clears, 2)

    def _silence(self, silence: SilenceWhy) -> Iterator[WhyLine]:
        after = f" after an event with {self._written(silence.after)}" if silence.after else ""
        limit = self._written(silence.longer_than)
        yield WhyLine(0, f"opens{after} when the next event is later than {limit}")
        least = f", at least {silence.at_least} needed" if silence.at_least > 1 else ""
        events, deadlines = plural(self.answer.events, "event"), plural(silence.counted, "deadline")
        yield WhyLine(1, f"{events}{least}; {deadlines} set")
        for wait in silence.waits:
            yield from self._wait(wait, silence.at_least)

    def _wait(self, wait: Wait, at_least: int) -> Iterator[WhyLine]:
        from ..app.explain_shapes import how_long

        yield WhyLine(1, f"after {self._where(wait.spot)}")
        if wait.spot.position < at_least:
            needed = f"this is event {wait.spot.position}, and {at_least} are needed"
            yield WhyLine(2, f"no deadline: {needed}")
        elif wait.after is not None and wait.after.truth is not True:
            yield WhyLine(2, "no deadline: the event does not meet the condition")
            yield from self._condition(wait.after, 2)
        elif wait.deadline is None or wait.seconds is None:
            yield WhyLine(2, f"no deadline: the limit is {value_text(wait.seconds)}")
        else:
            passed = "passed" if wait.fired else "not passed"
            limit = how_long(round(wait.seconds * 1e6))
            yield WhyLine(2, f"limit {limit}: deadline {stamp(wait.deadline)}, {passed}")
            until = "next event" if wait.ended else "evaluated as of"
            yield WhyLine(2, f"{until} {stamp(wait.next_at)}")
        for measure in wait.measures:
            yield self._measure(measure, 2, None)

    def _part(self, part: PartWhy) -> Iterator[WhyLine]:
        others = f" ({part.elsewhere} in other histories)" if part.elsewhere else ""
        yield WhyLine(0, f"part {shown(part.part)}: {plural(len(part.detections), 'detection')}{others}")
        for item in part.detections[-NEWEST_DETECTIONS:]:
            when = stamp(item.detected_at)
            yield WhyLine(1, f"{shown(item.subject)} {when}, {item.severity}, id {shown(item.id)}")

    def _condition(self, condition: ConditionAt, depth: int) -> Iterator[WhyLine]:
        for item in condition.comparisons:
            values = self._values(item)
            text = self._written(item.text) + (f"  [{values}]" if values else "")
            yield WhyLine(depth, text, TRUTHS[item.truth])
        compared = {measure.text for item in condition.comparisons for measure in item.values}
        for measure in condition.measures:
            if measure.text not in compared:
                yield self._measure(measure, depth, "")

    def _values(self, item: Comparison) -> str:
        """The values of a comparison, as it compares them."""
        if item.op is not None:
            return f" {item.op} ".join(shown(value_text(value)) for _, value in item.values)
        return ", ".join(f"{self._written(text)} = {shown(value_text(value))}" for text, value in item.values)

    def _measure(self, measure: Measured, depth: int, truth: str | None) -> WhyLine:
        text = f"{self._written(measure.text)} = {shown(value_text(measure.value))}"
        return WhyLine(depth, text, truth, measure.value is not None)

    def _limits(self, limits: Sequence[Limit], depth: int) -> Iterator[WhyLine]:
        for item in limits:
            yield WhyLine(depth, f"{shown(item.limit)}: {shown(item.said)}", TRUTHS[item.holds])

    def _where(self, spot: Spot) -> str:
        when = stamp(spot.at, timed=self.answer.timed)
        return f"event {clean(spot.event)} ({when}, {spot.position} of {self.answer.events})"

    def _written(self, text: str) -> str:
        return shown(self._expression(text))


def stopped(sequence: SequenceWhy) -> str:
    """Where a sequence stopped, and what was missing there."""
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
