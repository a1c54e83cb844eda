"""Contiguous sequences: no event lies between two places, so one bit per place says all there is to say.

Bit i is set where places 1 to i+1 stand at the newest event. One event moves all bits on at once: shifted by
one, and kept where the event meets the condition of the place. Chains are made of the newest marks only
where somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..program import SequenceProgram
from ..tree import StepValue
from ..walk import MEASURES, walk
from .chain import Link, Seen, SequenceState
from .plan import Plan
from .rows import Mark, Rows

MOST_PLACES = 60


def is_contiguous(plan: Plan) -> bool:
    """Whether a program is a sequence whose places follow each other, each judged by its event alone."""
    body = plan.program.body
    if not isinstance(body, SequenceProgram) or body.optionals or body.collects:
        return False
    if len(body.places) > MOST_PLACES or any(plan.captures.wanted):
        return False
    return all(
        (i == 0 or place.gaps == 0)
        and not place.soon
        and not place.nevers
        and not any(isinstance(one, (*MEASURES, StepValue)) for one in walk(place.condition))
        for i, place in enumerate(body.places)
    )


def chain_of(plan: Plan, steps: Sequence[int], rows: Rows, marks: Sequence[Mark], length: int) -> Link:
    """The chain of so many places that ends at the newest of the marks."""
    link: Link | None = None
    for i in range(length):
        seen = Seen(rows.n - length + i, marks[len(marks) - length + i], ())
        behind = plan.nothing if link is None else link.last
        last = (*behind[: steps[i]], (), *behind[steps[i] + 1 :])
        link = Link(seen, link, seen if link is None else link.first, last, (), ())
    assert link is not None
    return link


def stand_by(
    state: SequenceState, bits: int, plan: Plan, steps: Sequence[int], rows: Rows, marks: Sequence[Mark]
) -> None:
    """Write into the state what the bits say. All that stands starts after the last firing."""
    state.fired = rows.n - len(state.standing) - 1
    state.standing = [
        chain_of(plan, steps, rows, marks, i + 1) if bits >> i & 1 else None
        for i in range(len(state.standing))
    ]


def bits_of(state: SequenceState, rows: Rows) -> int:
    """The bits that say what a state does: a chain that ended earlier cannot go on."""
    return sum(
        1 << i
        for i, link in enumerate(state.standing)
        if link is not None and link.seen.position == rows.n - 1
    )


def marks_of(state: SequenceState, rows: Rows) -> list[Mark]:
    """The newest marks that the chains of a state are made of, oldest first."""
    standing = [link for link in state.standing if link is not None and link.seen.position == rows.n - 1]
    marks: list[Mark] = []
    link = max(standing, key=lambda one: one.seen.position - one.first.position, default=None)
    while link is not None:
        marks.append(link.seen.mark)
        link = link.before
    return marks[::-1]
