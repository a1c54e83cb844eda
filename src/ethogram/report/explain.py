"""The answers of `ethogram why` as text: the answer first, then the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .rendering import rendered
from .wording import clean, pairs_text, stamp

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.explain import Why
    from ..app.explain_shapes import SequenceWhy, Spot

TRUTHS = {True: "yes", False: "no", None: "unknown"}


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
        yield from (Text("  " + line) for line in why_lines(answer))


def why_lines(answer: Why) -> Iterator[str]:
    """The explanation, line by line."""
    from ..app.explain_shapes import how_long

    def where(spot: Spot) -> str:
        when = stamp(spot.at, timed=answer.timed)
        return f"event {clean(spot.event)} ({when}, {spot.position} of {answer.events})"

    return rendered("why", answer=answer, where=where, stopped=stopped, truths=TRUTHS, how_long=how_long)


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
