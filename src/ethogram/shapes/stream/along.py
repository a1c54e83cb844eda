"""What runs along with a program: one running sum for each measure its conditions compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..program import LevelProgram, Program, SequenceProgram, SilenceProgram
from ..tree import Cover, Expr, Measure, StepValue
from ..walk import children
from .layout import Measures
from .running import Running, running_of


class Along(NamedTuple):
    """The running sums of a program's own rows and of the subject's whole ones; `of`: where each is."""

    own: tuple[Running, ...]
    whole: tuple[Running, ...]
    of: dict[Expr, tuple[bool, int]]
    compared: tuple[Expr, ...] = ()
    """All measures that conditions compare."""


def conditions_of(program: Program) -> list[Expr]:
    """The conditions that are asked at every event."""
    match program.body:
        case SequenceProgram() as body:
            places = [one for place in body.places for one in (place.condition, *place.nevers)]
            return places + [one.condition for one in body.optionals]
        case LevelProgram() as body:
            return [body.when]
        case SilenceProgram(after=after) if after is not None:
            return [after]
    return []


def along(program: Program, measures: Measures) -> Along:
    """What runs along with a program."""
    own: list[Running] = []
    whole: list[Running] = []
    of: dict[Expr, tuple[bool, int]] = {}
    compared = tuple(dict.fromkeys(one for each in conditions_of(program) for one in _measured(each)))
    for expr in compared:
        assert isinstance(expr, (Measure, Cover))
        over_subject = measures.narrow and expr.window.over_subject
        found = running_of(expr, measures.columns_for(expr))
        if found is not None:
            into = whole if over_subject else own
            of[expr] = (over_subject, len(into))
            into.append(found)
    return Along(tuple(own), tuple(whole), of, compared)


def _measured(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, (Measure, Cover)):
        yield expr
    elif not isinstance(expr, StepValue):
        for one in children(expr):
            yield from _measured(one)
